#include "ir/free_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {

std::string free_name(std::span<const std::string> taken, const std::string& name) {
  std::string own = name;
  for (int n = 2; std::ranges::count(taken, own) > 0; ++n) own = fmt::format("{}_{}", name, n);
  return own;
}

}  // namespace tenon
