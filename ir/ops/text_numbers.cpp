// References of the conversions between strings and numbers.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/ops/text.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

template <class T>
std::string chars(T value, std::chars_format format) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
  return std::string(buffer, end);
}

// The decimal of fewest digits that reads back to the same number.
double shortest_decimal(Half value) {
  const auto wide = static_cast<double>(static_cast<float>(value));
  for (int digits = 0; digits < 5; ++digits) {
    double read = 0;
    const std::string text = fmt::format("{:.{}e}", wide, digits);
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (static_cast<float>(Half(static_cast<float>(read))) == static_cast<float>(value)) return read;
  }
  return wide;
}

// `limit`: from there on with an exponent.
template <class T>
std::string float_text(T value, double limit) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::abs(static_cast<double>(value));
  if (size != 0 && (size < 1e-4 || size >= limit)) return chars(value, std::chars_format::scientific);
  const std::string text = chars(value, std::chars_format::fixed);
  return text.find('.') == text.npos ? text + ".0" : text;
}

template <class T>
std::string number_as_text(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return std::isfinite(static_cast<float>(value)) ? float_text(shortest_decimal(value), 1e3)
                                                    : float_text(static_cast<float>(value), 1e3);
  else if constexpr (std::is_same_v<T, float>)
    return float_text(value, 1e6);
  else if constexpr (std::is_same_v<T, double>)
    return float_text(value, 1e16);
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return std::to_string(value);
  else
    throw InternalError("a dtype without texts");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// A '+' is allowed, before anything but another sign.
std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

template <class T>
T parsed(std::string_view text) {
  const std::string_view digits = without_plus(trimmed(text));
  const char* end = digits.data() + digits.size();
  T value{};
  const auto read = std::from_chars(digits.data(), end, value);
  if (read.ec == std::errc::result_out_of_range && read.ptr == end && !std::is_integral_v<T>) {
    // Beyond the largest or below the smallest: strtod tells which.
    return static_cast<T>(std::strtod(std::string(digits).c_str(), nullptr));
  }
  const bool whole = read.ec == std::errc() && read.ptr == end;
  const bool is_payload = digits.find('(') != digits.npos;  // "nan(0x1)"
  if (!whole || is_payload)
    throw error("{} is no number that fits the type", quoted_text(text))
        .hint(std::is_integral_v<T> ? "write whole numbers: \"42\""
                                    : "write decimals: \"0.5\", \"1e-5\", \"inf\"");
  return value;
}

template <class T>
T number_from(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>)
    throw InternalError("a dtype that texts do not become");
  else if constexpr (is_small_float_element<T>)
    return T(parsed<float>(text));
  else
    return parsed<T>(text);
}

}  // namespace

void ToString::reference(InSpan in, OutSpan out) const {
  const Tensor x = in[0].contiguous();
  const TextUse use;
  Text* to = out[0].mutable_data<Text>();
  dispatch_real(x.dtype(), [&]<class T>(dtype_tag<T>) {
    for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = Text::of(number_as_text(x.data<T>()[i]));
  });
}

void ParseNumber::reference(InSpan in, OutSpan out) const {
  dispatch_real(to, [&]<class T>(dtype_tag<T>) {
    T* number = out[0].mutable_data<T>();
    for (const std::string_view text : texts_of(in[0])) *number++ = number_from<T>(text);
  });
}

}  // namespace tenon
