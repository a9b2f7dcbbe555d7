#include "base/shell.h"

#include <algorithm>
#include <cctype>

namespace tenon {

std::string in_shell(std::string_view text) {
  constexpr std::string_view plain = "_@%+=:,./-~";
  const bool needs_quotes =
      text.empty() || std::any_of(text.begin(), text.end(), [&](char c) {
        return !std::isalnum(static_cast<unsigned char>(c)) && plain.find(c) == std::string_view::npos;
      });
  if (!needs_quotes) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace tenon
