// Text as the words of a shell.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// The text as one word on one line: in quotes where it needs them, those of $'' where it holds what a
/// terminal would obey.
std::string in_shell(std::string_view text);

}  // namespace tenon
