#include "runtime/overlap.h"

#include <cstdlib>
#include <vector>

#include "base/dtype.h"

namespace tenon {
namespace {

// Bytes [begin, begin + length), once for each sum of multiples of the strides up to (count - 1) times each.
struct Pieces {
  struct Axis {
    std::int64_t count, stride;  // more than one, positive
  };
  std::int64_t begin = 0, length = 0;
  std::vector<Axis> axes;

  explicit Pieces(const Strided& t) {
    const auto element = static_cast<std::int64_t>(size_of(t.dtype()));
    begin = t.offset() * element;
    length = element;
    for (std::size_t i = 0; i < t.rank(); ++i) {
      const std::int64_t count = t.shape()[i], stride = t.strides()[i] * element;
      if (count <= 1 || stride == 0) continue;
      if (stride < 0) begin += (count - 1) * stride;
      axes.push_back({count, std::abs(stride)});
    }
  }

  std::int64_t span() const { return length_without_multiples_of(0); }
  // Of the bytes from `begin` on in which a piece lies, but for multiples of `period` (0: no multiples).
  std::int64_t length_without_multiples_of(std::int64_t period) const {
    std::int64_t sum = length;
    for (const Axis& axis : axes)
      if (period == 0 || axis.stride % period != 0) sum += (axis.count - 1) * axis.stride;
    return sum;
  }
};

// Slices of one array lie apart in each period of it.
bool apart_in_period(const Pieces& a, const Pieces& b, std::int64_t period) {
  const std::int64_t behind = ((b.begin - a.begin) % period + period) % period;
  return behind >= a.length_without_multiples_of(period) &&
         period - behind >= b.length_without_multiples_of(period);
}

}  // namespace

bool may_overlap(const Strided& a, const Strided& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const Pieces left(a), right(b);
  if (left.begin + left.span() <= right.begin || right.begin + right.span() <= left.begin) return false;
  for (const Pieces* pieces : {&left, &right})
    for (const Pieces::Axis& axis : pieces->axes)
      if (apart_in_period(left, right, axis.stride)) return false;
  return true;
}

}  // namespace tenon
