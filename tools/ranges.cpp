#include "tools/ranges.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tenon::tools {
namespace {

template <class Number>
CLI::Validator from(Number least, std::string wanted) {
  const auto check = [=](const std::string& text) -> std::string {
    Number value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = failed == std::errc() && end == text.data() + text.size();
    if (whole && std::isfinite(static_cast<double>(value)) && value >= least) return {};
    return fmt::format("'{}' is not {}", text, wanted);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator number_from(double least) { return from(least, fmt::format("a number from {:g} on", least)); }

CLI::Validator integer_from(long least) {
  return from(least, fmt::format("a whole number from {} on", least));
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "is empty" : std::string(); },
                        "");
}

}  // namespace tenon::tools
