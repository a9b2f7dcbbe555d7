#include "verify/divergence.h"

#include <algorithm>

namespace tenon {
namespace {
constexpr double more_than_rounding = 10;
}

bool is_error(const Difference& difference, double rounding, const Tolerance& tolerance) {
  return !difference.within(std::max(tolerance.share, more_than_rounding * rounding));
}

void Search::add(Divergence d, const Tolerance& tolerance) {
  if (first) return;
  if (is_error(d.difference, d.rounding, tolerance))
    first = std::move(d);
  else if (!largest || d.difference.relative() > largest->difference.relative())
    largest = std::move(d);
}

std::string_view name(Divergence::Stage stage) {
  switch (stage) {
    case Divergence::Stage::conversion: return "the conversion";
    case Divergence::Stage::fusion: return "fusion";
    default: return "a kernel";
  }
}

std::string Divergence::str() const {
  return fmt::format("error {:.2g} of the largest value, rounding explains {:.2g}: {}", difference.relative(),
                     rounding, difference.str());
}

}  // namespace tenon
