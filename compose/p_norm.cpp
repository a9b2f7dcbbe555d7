#include "compose/p_norm.h"

#include <limits>

#include "ir/axis.h"
#include "ir/ops/functions.h"
#include "ir/ops/working_dtype.h"

namespace tenon {

Ref p_norm(const Ref& x, double p, const std::vector<std::int64_t>& axes, bool keepdim) {
  if (p == 2) return sqrt(sum(x * x, axes, keepdim));
  if (p == 1) return sum(abs(x), axes, keepdim);
  if (p == 0) return sum(cast(x.dtype(), not_equal(x, x.literal(0))), axes, keepdim);
  if (p == std::numeric_limits<double>::infinity()) return amax(abs(x), axes, keepdim);
  if (p == -std::numeric_limits<double>::infinity()) return amin(abs(x), axes, keepdim);
  return pow(sum(pow(abs(x), x.literal(p)), axes, keepdim), x.literal(1 / p));
}

Ref distances(const Ref& a, const Ref& b, double p) {
  const auto along = [](const Ref& x, std::size_t from_end) {
    return reshape(working(x), with_axis(x.shape(), static_cast<std::int64_t>(x.rank() - from_end)));
  };
  const Ref d = along(a, 1) - along(b, 2);
  return cast(a.dtype(), p_norm(d, p, {static_cast<std::int64_t>(d.rank()) - 1}, false));
}

Ref distances_by_products(const Ref& a, const Ref& b) {
  const auto turned = [](const Ref& x) {
    const auto rank = static_cast<std::int64_t>(x.rank());
    return transpose(x, rank - 2, rank - 1);
  };
  const auto squares = [](const Ref& x) {
    return sum(x * x, {static_cast<std::int64_t>(x.rank()) - 1}, true);
  };
  const Ref x = working(a), y = working(b);
  const Ref square = matmul(x * -2.0, turned(y)) + squares(x) + turned(squares(y));
  return cast(a.dtype(), sqrt(maximum(square, square.literal(0))));
}

}  // namespace tenon
