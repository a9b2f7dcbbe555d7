#include "base/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"

namespace tenon {

namespace {

// With escapes for what a line cannot hold or a terminal would obey: $'two\nlines'.
std::string with_escapes(std::string_view text) {
  std::string word = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      word += "\\n";
    else if (c == '\t')
      word += "\\t";
    else if (byte < 0x20 || byte >= 0x7f)
      word += fmt::format("\\x{:02x}", byte);
    else
      word += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return word + "'";
}

}  // namespace

std::string in_shell(std::string_view text) {
  if (printable(text) != text) return with_escapes(text);
  constexpr std::string_view plain = "_@%+=:,./-";
  const bool needs_quotes =
      text.empty() || text[0] == '=' || std::any_of(text.begin(), text.end(), [&](char c) {
        return !std::isalnum(static_cast<unsigned char>(c)) && plain.find(c) == std::string_view::npos;
      });
  if (!needs_quotes) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string path_in_shell(std::string_view path) {
  return path.starts_with('-') ? in_shell("./" + std::string(path)) : in_shell(path);
}

std::string in_python(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) (literal += c == '\'' || c == '\\' ? "\\" : "") += c;
  return printable(literal + "'");
}

}  // namespace tenon
