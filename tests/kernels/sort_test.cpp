// Lines in order, their first few and one of them alone, as a stable sort says.
#include "kernels/cpu/sort.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Sort : public OnEveryIsa {};
TENON_EVERY_ISA(Sort);

template <class T>
struct Lines {
  std::vector<T> x;
  long length;
  ThreadPool pool{2};
  static constexpr long lines = 3;

  /// Numbers that are often equal, or that are far apart.
  Lines(long n, bool near) : length(n) {
    std::mt19937_64 random(static_cast<unsigned>(n));
    for (long i = 0; i < lines * n; ++i)
      x.push_back(near ? static_cast<T>(random() % 19) : static_cast<T>(random() >> 1));
    if (!near && std::is_integral_v<T>) x[0] = std::numeric_limits<T>::max(), x.back() = 0;
  }

  std::vector<std::int64_t> order_of(long line, bool descending) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    const T* const from = x.data() + line * length;
    std::ranges::stable_sort(
        order, [&](auto a, auto b) { return descending ? from[a] > from[b] : from[a] < from[b]; });
    return order;
  }

  void check(DType dtype, long k, bool descending, LinePart part) {
    std::vector<T> values(static_cast<std::size_t>(lines * k));
    std::vector<std::int64_t> places(values.size());
    SortLines s{.part = part,
                .x = x.data(),
                .dtype = dtype,
                .lines = lines,
                .length = length,
                .k = k,
                .descending = descending,
                .values = values.data(),
                .places = places.data()};
    std::vector<std::uint64_t> scratch(sort_scratch_size(s, pool.threads()) / 8 + 1);
    sort_lines(s, scratch.data(), pool);
    for (long line = 0; line < lines; ++line) {
      const auto order = order_of(line, descending);
      for (long i = part == LinePart::one ? k - 1 : 0; i < k; ++i) {
        const auto at = static_cast<std::size_t>(line * k + i);
        ASSERT_EQ(places[at], order[static_cast<std::size_t>(i)]) << length << " " << k << " " << i;
        ASSERT_EQ(values[at], x[static_cast<std::size_t>(line * length + places[at])]);
      }
    }
  }
};

template <class T>
void check_all(DType dtype) {
  for (const long length :
       {1, 2, 7, 8, 9, 16, 17, 31, 33, 50, 64, 65, 100, 128, 129, 200, 256, 257, 300, 1100})
    for (const bool near : {false, true}) {
      Lines<T> lines(length, near);
      for (const bool descending : {false, true}) {
        for (const long k : {1L, 2L, 3L, length / 5, length / 2, length})
          if (k > 0 && k <= length) {
            lines.check(dtype, k, descending, LinePart::first);
            lines.check(dtype, k, descending, LinePart::one);
          }
      }
    }
}

TEST_P(Sort, EveryLengthAndCount) {
  check_all<float>(DType::f32);
  check_all<double>(DType::f64);
  check_all<std::int64_t>(DType::i64);
  check_all<std::int32_t>(DType::i32);
  check_all<std::uint8_t>(DType::u8);
}

}  // namespace
}  // namespace tenon::cpu
