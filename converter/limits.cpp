#include "converter/limits.h"

namespace tenon::converter {

const Builder::Limit* missing_limit(const Error& e, std::span<const Builder::Limit> limits) {
  if (!e.unless_equal()) return nullptr;
  const auto& [a, b] = *e.unless_equal();
  for (const Builder::Limit& limit : limits)
    if (a.find(limit.text) != std::string::npos || b.find(limit.text) != std::string::npos) return &limit;
  return nullptr;
}

ConvertNote assumption_of(const Builder::Limit& limit) {
  return {ConvertNote::Kind::assumption,
          fmt::format("{} is at most {} ({})", limit.symbol, limit.max, limit.where)};
}

}  // namespace tenon::converter
