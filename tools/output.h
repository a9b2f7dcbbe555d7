// What verbs write: files, or standard output.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tools {

/// The type of every option whose value is a file that the verb writes. check_files() finds them by it.
inline constexpr const char* file_written = "OUTFILE";
/// The same where "name=" may stand before the file.
inline constexpr const char* named_file_written = "[NAME=]OUTFILE";

/// For every verb, between parsing and running: remembers the files that its arguments name as inputs, with
/// the weights beside them, and checks those that it is to write, as below. An input that the verb finds
/// later, and that it would overwrite, is an Error when it is opened or remembered (base/input_guard.h).
void check_files(const CLI::App& verb);

/// To be called before the work. Throws Error when two of these outputs (empty: not asked for) are one file,
/// by whatever names, or when one cannot be written (base/atomic_file.h).
void check_outputs_apart(const std::vector<std::string>& paths);

/// "-": standard output, behind what was printed before; else a file, whole or not at all. Throws Error.
void write_text(const std::string& path, std::string_view text);

/// Throws Error for "-": the verb says its text there.
void check_is_file(std::string_view path);

}  // namespace tenon::tools
