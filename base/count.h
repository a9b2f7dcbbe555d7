// Counts in sentences: "1 node", "2 nodes".
#pragma once
#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace tenon {

/// The count and the noun; `many` where the plural is not the noun with an s.
inline std::string counted(std::integral auto count, std::string_view noun, std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", noun);
  return many.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, many);
}

}  // namespace tenon
