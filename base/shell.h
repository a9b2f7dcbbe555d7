// Text as the words of what it is pasted into: a shell, Python.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// The text as one word on one line: in quotes where it needs them, those of $'' where it holds what a
/// terminal would obey.
std::string in_shell(std::string_view text);

/// A path as one word that is no option.
std::string path_in_shell(std::string_view path);

/// The text as a literal of Python: 'it\'s'.
std::string in_python(std::string_view text);

}  // namespace tenon
