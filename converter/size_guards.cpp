#include "converter/size_guards.h"

namespace tenon::converter {

const Builder::SizeGuard* missing_guard(const Error& e, std::span<const Builder::SizeGuard> size_guards) {
  if (!e.unless_equal()) return nullptr;
  const auto& [a, b] = *e.unless_equal();
  for (const Builder::SizeGuard& guard : size_guards)
    if (a.find(guard.text) != std::string::npos || b.find(guard.text) != std::string::npos) return &guard;
  return nullptr;
}

ConvertNote assumed_guard(const Builder::SizeGuard& guard) {
  return {ConvertNote::Kind::assumption,
          fmt::format("{} is at most {} ({})", guard.symbol, guard.max, guard.where)};
}

}  // namespace tenon::converter
