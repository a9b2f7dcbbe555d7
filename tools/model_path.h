// Whether what was typed as a model can be one, before any work is done.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace tenon::tools {

/// Throws Error: nothing, standard input, a URL, no such file, a folder; the hint says what to do. What a
/// file holds is not looked at.
void check_model_path(const std::string& path);

/// check_model_path for an option or argument: runs while the command line is read, so the missing model is
/// named before anything else that is wrong.
CLI::Validator model_path();

/// The text as one word of a shell: in quotes where it needs them.
std::string in_shell(std::string_view text);

}  // namespace tenon::tools
