// Whether what was typed as a model can be one, before any work is done.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace tenon::tools {

/// Throws Error: nothing, standard input, a URL, no such file, a folder; the hint says what to do. What a
/// file holds is not looked at.
void check_model_path(const std::string& path);

/// check_model_path for an option or argument: runs while the command line is read, so the missing model is
/// named before anything else that is wrong.
CLI::Validator model_path();

}  // namespace tenon::tools
