#include "base/shell.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"

namespace tenon {
namespace {

// Between single quotes, with backslashes before these and themselves.
std::string with_backslashes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) (out += c == '\'' || c == '\\' ? "\\" : "") += c;
  return printable(out + "'");
}

}  // namespace

std::string in_shell(std::string_view text) {
  if (printable(text) != text) return "$" + with_backslashes(text);
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

std::string in_python(std::string_view text) { return with_backslashes(text); }

}  // namespace tenon
