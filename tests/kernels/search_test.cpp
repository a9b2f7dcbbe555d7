// Places in sorted rows equal those that PyTorch finds by halving the row.
#include "kernels/cpu/search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Search : public OnEveryIsa {};
TENON_EVERY_ISA(Search);

template <class T>
bool is_nan(T x) {
  return x != x;
}

template <class T>
void check(DType dtype, long rows, long length, long count, bool right) {
  std::vector<T> row, values;
  for (long i = 0; i < rows * length; ++i) row.push_back(static_cast<T>((i * 37 + i / 11) % 29 - 14));
  for (long i = 0; i < rows * count; ++i) values.push_back(static_cast<T>((i * 13) % 35 - 17));
  if constexpr (std::is_floating_point_v<T>) {
    if (length > 2) row[0] = row[1] = std::numeric_limits<T>::quiet_NaN();
    values[0] = std::numeric_limits<T>::quiet_NaN();
    values.back() = -std::numeric_limits<T>::infinity();
  }
  const auto less = [](T a, T b) { return a < b || (is_nan(b) && !is_nan(a)); };
  for (long r = 0; r < rows; ++r) std::sort(row.begin() + r * length, row.begin() + (r + 1) * length, less);
  std::vector<std::int64_t> places(values.size() + 1, 99);
  ThreadPool pool(2);
  search_rows({.dtype = dtype,
               .right = right,
               .row = row.data(),
               .length = length,
               .values = values.data(),
               .count = count,
               .places = places.data()},
              rows, pool);
  ASSERT_EQ(places.back(), 99);
  for (long i = 0; i < rows * count; ++i) {
    const auto first = row.begin() + i / count * length;
    const T value = values[static_cast<std::size_t>(i)];
    long low = 0, high = length;
    while (low < high) {
      const long middle = low + (high - low) / 2;
      const bool is_behind = right ? first[middle] > value : first[middle] >= value;
      (is_behind ? high : low) = is_behind ? middle : middle + 1;
    }
    ASSERT_EQ(places[static_cast<std::size_t>(i)], low) << "length " << length << ", value " << value;
  }
}

TEST_P(Search, EveryLengthAndType) {
  for (const bool right : {false, true})
    for (const long rows : {1, 3})
      for (const long length : {1, 2, 3, 16, 64, 65, 100, 1000})
        for (const long count : {1, 7, 64, 5000}) {
          check<float>(DType::f32, rows, length, count, right);
          check<double>(DType::f64, rows, length, count, right);
          check<std::int32_t>(DType::i32, rows, length, count, right);
          check<std::int64_t>(DType::i64, rows, length, count, right);
        }
}

}  // namespace
}  // namespace tenon::cpu
