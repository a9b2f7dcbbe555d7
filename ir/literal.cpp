#include "ir/literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tenon {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

double shortest(float value) {
  if (!std::isfinite(value)) return value;
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  double read = 0;
  std::from_chars(buffer, end, read);
  return read;
}

std::string quoted_text(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    else
      out += c;
  }
  return out + '"';
}

std::string literal_key(const Tensor& t) {
  const std::span<const std::byte> element(t.bytes(), size_of(t.dtype()));
  std::string key(name(t.dtype()));
  for (const std::byte b : element) key += fmt::format(":{:02x}", std::to_integer<unsigned>(b));
  return key;
}

}  // namespace tenon
