#include "kernels/cpu/factor.h"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/typed_product_panel.h"

namespace tenon::cpu {

long matrix_room(long rows, long columns, long others) {
  constexpr long behind = 16;  // a column, and lines that are not full
  const long widest = std::max({rows, columns, others});
  return typed_work_size + (rows + behind) * (2 * columns + others + reflections_at_once) +
         reflections_at_once * (2 * widest + 2 * reflections_at_once) + 8 * behind;
}

template <class P>
long list_pivot_rows(const P* pivots, long count, long size, std::int64_t* rows) {
  std::iota(rows, rows + size, 0);
  for (long i = 0; i < count; ++i) {
    if (i >= size || pivots[i] < 1 || pivots[i] > size) return i;
    std::swap(rows[i], rows[pivots[i] - 1]);
  }
  return -1;
}
template long list_pivot_rows(const std::int32_t*, long, long, std::int64_t*);
template long list_pivot_rows(const std::int64_t*, long, long, std::int64_t*);

}  // namespace tenon::cpu
