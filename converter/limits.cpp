#include "converter/limits.h"

namespace tenon::converter {

const Builder::Limit* missing_limit(const Error& e, std::span<const Builder::Limit> limits) {
  if (e.message().find("not known to be equal") == std::string::npos) return nullptr;
  for (const Builder::Limit& limit : limits)
    if (e.message().find(limit.text) != std::string::npos) return &limit;
  return nullptr;
}

ConvertNote assumption_of(const Builder::Limit& limit) {
  return {ConvertNote::Kind::assumption,
          fmt::format("{} is at most {} ({})", limit.symbol, limit.max, limit.where)};
}

}  // namespace tenon::converter
