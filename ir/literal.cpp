#include "ir/literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/utf8.h"

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

std::optional<std::string> between_quotes(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  return std::string(text.substr(1, text.size() - 2));
}

std::string quoted_text(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const auto lead = static_cast<unsigned char>(s[0]);
    const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const std::string_view c = s.substr(0, length);
    if (c == "\"" || c == "\\")
      (out += '\\') += c;
    else if (c == "\n")
      out += "\\n";
    else if (c == "\t")
      out += "\\t";
    else if (c == "\r")
      out += "\\r";
    else if (printable(c) == c)
      out += c;
    else
      for (const char byte : c)
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    s.remove_prefix(c.size());
  }
  return out + '"';
}

std::optional<Tensor> number_as(const Tensor& number, DType dtype) {
  Tensor converted = number.to(dtype);
  const bool is_exact = converted.to(number.dtype()).get_double() == number.get_double();
  return is_float(dtype) || is_exact ? std::optional(std::move(converted)) : std::nullopt;
}

std::string literal_key(const Tensor& t) {
  const std::span<const std::byte> element(t.bytes(), size_of(t.dtype()));
  std::string key(name(t.dtype()));
  for (const std::byte b : element) key += fmt::format(":{:02x}", std::to_integer<unsigned>(b));
  return key;
}

}  // namespace tenon
