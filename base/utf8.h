// UTF-8: what is it, and its code points.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// True for well-formed UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view bytes);

/// The text, with '?' for each byte that is no part of a character.
std::string valid_utf8(std::string_view bytes);

/// The text as one line that a terminal, a log or an XML file shows and does not obey: control characters
/// (C0, C1, line breaks), marks that turn the direction of writing, and non-characters become \uXXXX, bytes
/// that are no UTF-8 \xXX. For every name and text that comes from a file.
std::string printable(std::string_view text);
/// The same, with the line breaks.
std::string printable_lines(std::string_view text);

/// The code points of well-formed UTF-8. Throws Error when it is not.
std::u32string code_points(std::string_view utf8);

/// Throws Error for what is no code point.
std::string utf8_of(std::u32string_view code_points);

}  // namespace tenon
