#include "base/utf8.h"

#include <cstdint>
#include <optional>

#include "base/error.h"

namespace tenon {
namespace {

constexpr bool is_code_point(char32_t c) { return c < 0xd800 || (c >= 0xe000 && c < 0x110000); }

// Takes the first code point off; nullopt when none is there.
std::optional<char32_t> take(std::string_view& rest) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 0 || first >= 0xf8 || length > rest.size()) return std::nullopt;
  char32_t c = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < smallest[length] || !is_code_point(c)) return std::nullopt;
  rest.remove_prefix(length);
  return c;
}

bool is_shown(char32_t c) {
  const auto within = [&](char32_t first, char32_t last) { return c >= first && c <= last; };
  return c >= 0x20 && !within(0x7f, 0x9f) && !within(0x2028, 0x202e) && !within(0x2066, 0x2069) &&
         !within(0xfffe, 0xffff);
}

std::string shown(std::string_view bytes, bool breaks_lines) {
  std::string out;
  while (!bytes.empty()) {
    const std::string_view before = bytes;
    const auto c = take(bytes);
    if (!c) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(before[0])));
      bytes.remove_prefix(1);
    } else if (is_shown(*c) || (breaks_lines && *c == '\n')) {
      out += before.substr(0, before.size() - bytes.size());
    } else {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(*c));
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, false); }
std::string printable_lines(std::string_view text) { return shown(text, true); }

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty())
    if (!take(bytes)) return false;
  return true;
}

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::string_view before = bytes;
    const bool is_valid = take(bytes).has_value();
    if (!is_valid) bytes.remove_prefix(1);
    out += is_valid ? before.substr(0, before.size() - bytes.size()) : "?";
  }
  return out;
}

std::u32string code_points(std::string_view utf8) {
  std::u32string out;
  while (!utf8.empty()) {
    const auto c = take(utf8);
    if (!c) throw error("a string is no UTF-8");
    out += *c;
  }
  return out;
}

std::string utf8_of(std::u32string_view code_points) {
  std::string out;
  for (const char32_t c : code_points) {
    if (!is_code_point(c))
      throw error("a string holds {:#x}, which is no character", static_cast<std::uint32_t>(c));
    const auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
    const auto more = [&](int shift) { put(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6), more(0);
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12), more(6), more(0);
    } else {
      put(0xf0 | c >> 18), more(12), more(6), more(0);
    }
  }
  return out;
}

}  // namespace tenon
