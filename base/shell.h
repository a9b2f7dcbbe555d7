// Text as the words of a shell.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// The text as one word: in quotes where it needs them.
std::string in_shell(std::string_view text);

}  // namespace tenon
