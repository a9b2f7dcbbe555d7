// What verbs write: files, or standard output.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace tenon::tools {

/// "-": standard output, behind what was printed before; else a file, whole or not at all. Throws Error.
void write_text(const std::string& path, std::string_view text);

/// To be called before the work. Throws Error when two of these outputs (empty: not asked for) are the same,
/// or the folder of one is not there.
void check_outputs_apart(std::initializer_list<std::string_view> paths);

/// Throws Error for "-": the verb says its text there.
void check_is_file(std::string_view path);

}  // namespace tenon::tools
