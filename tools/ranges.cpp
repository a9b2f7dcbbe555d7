#include "tools/ranges.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/memory_limit.h"

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

CLI::Validator amount_of_memory() {
  const auto check = [](const std::string& text) -> std::string {
    return parse_bytes(text).value_or(0) > 0
               ? std::string()
               : fmt::format("'{}' is no amount of memory: write 512MiB or 2GiB", text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "is empty" : std::string(); },
                        "");
}

}  // namespace tenon::tools
