#include "converter/aten/p_norm.h"

#include <limits>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"

namespace tenon::converter {

Ref p_norm(const Ref& x, double p, const std::vector<std::int64_t>& axes, bool keepdim) {
  if (p == 2) return sqrt(sum(x * x, axes, keepdim));
  if (p == 1) return sum(abs(x), axes, keepdim);
  if (p == 0) return sum(cast(x.dtype(), not_equal(x, x.literal(0))), axes, keepdim);
  if (p == std::numeric_limits<double>::infinity()) return amax(abs(x), axes, keepdim);
  if (p == -std::numeric_limits<double>::infinity()) return amin(abs(x), axes, keepdim);
  return pow(sum(pow(abs(x), x.literal(p)), axes, keepdim), x.literal(1 / p));
}

}  // namespace tenon::converter
