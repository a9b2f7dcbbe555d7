// Copies by tables read what each axis names, whatever the pieces that lines fall into.
#include "kernels/cpu/mapped_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class MappedCopies : public OnEveryIsa {};
TENON_EVERY_ISA(MappedCopies);

using Offsets = std::vector<std::vector<long>>;

template <class T>
void check(const Offsets& offsets, long source_size, long gap) {
  std::vector<T> source(static_cast<std::size_t>(source_size));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<T>(i + 1);
  const T fill = static_cast<T>(99);
  std::size_t count = 1;
  for (const auto& axis : offsets) count *= axis.size();
  const std::size_t line = offsets.back().size(), row = line + static_cast<std::size_t>(gap);
  std::vector<T> target(line == 0 ? 1 : count / line * row + 1, static_cast<T>(55));
  static ThreadPool pool(2);
  MappedCopy(sizeof(T), offsets, &fill, static_cast<long>(row)).run(source.data(), target.data(), pool);
  ASSERT_EQ(target.back(), static_cast<T>(55)) << "written behind the target";
  for (std::size_t i = 0; i < count; ++i) {
    long offset = 0;
    bool is_outside = false;
    std::size_t rest = i;
    for (std::size_t d = offsets.size(); d-- > 0; rest /= offsets[d].size()) {
      const long own = offsets[d][rest % offsets[d].size()];
      is_outside |= own == MappedCopy::outside;
      offset += is_outside ? 0 : own;
    }
    T& got = target[i / line * row + i % line];
    ASSERT_EQ(got, is_outside ? fill : source[static_cast<std::size_t>(offset)]) << i;
    got = static_cast<T>(55);
  }
  ASSERT_EQ(std::count(target.begin(), target.end(), static_cast<T>(55)), target.size())
      << "written between the rows";
}

template <class T>
void check(const Offsets& offsets, long source_size) {
  for (const long gap : {0, 5}) check<T>(offsets, source_size, gap);
}

void check_every_size(const Offsets& offsets, long source_size) {
  check<std::uint8_t>(offsets, source_size);
  check<std::uint16_t>(offsets, source_size);
  check<float>(offsets, source_size);
  check<double>(offsets, source_size);
}

constexpr long out = MappedCopy::outside;

TEST_P(MappedCopies, LinesOfEveryKindOfPiece) {
  check_every_size({{0, 10, 20}, {out, out, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, out}}, 30);  // a constant around
  check_every_size({{0, 10}, {3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7}}, 20);      // reflected
  check_every_size({{0, 10}, {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}}, 20);         // replicated
  check_every_size({{0, 0, 5, 5}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4}}, 10);                // doubled
  check_every_size({{0, 5}, {0, 0, 0, 2, 2, 2, 4, 4, 4}}, 10);         // three times, every other
  check_every_size({{0, 0, 8}, {0, 1, 1, 3, 4, 4, 6, 7}}, 16);         // no pieces
  check_every_size({{0, 0, out, 8}, {0, 1, 1, out, 4, 4, 6, 7}}, 16);  // with a fill
  check_every_size({{7}}, 8);
  check_every_size({{3, 2, 1, 0}}, 4);
}

TEST_P(MappedCopies, RunsOfEveryLength) {
  for (const long length : {1, 7, 15, 16, 17, 31, 33, 63, 65, 130, 300, 2100}) {
    std::vector<long> line = {out};
    for (long i = 0; i < length; ++i) line.push_back(i);
    line.push_back(out);
    check_every_size({{out, 0, length, length, 2 * length}, line}, 3 * length);
  }
}

TEST_P(MappedCopies, BlocksThatStayTogether) {
  check_every_size({{out, 0, 6, 12, out}, {0, 1, 2, 3, 4, 5}}, 18);
  check_every_size({{0, 12}, {6, 0, 0}, {0, 1, 2}}, 24);
  check_every_size({{0, 7, 14}, {0, 1, 2}}, 20);  // the rows lie farther apart
  check_every_size({{0}, {0, 1, 2, 3}}, 4);
}

TEST_P(MappedCopies, RandomTables) {
  std::mt19937 generator(1);
  const auto below = [&](unsigned n) { return static_cast<long>(generator() % n); };
  for (int run = 0; run < 200; ++run) {
    Offsets offsets;
    long size = 1;
    for (long axes = 1 + below(4); axes > 0; --axes) {
      const long extent = 1 + below(9);
      std::vector<long> axis;
      for (long i = 1 + below(20); i > 0; --i)
        axis.push_back(below(12) == 0 ? out
                                      : size * (below(3) != 0 && !axis.empty() && axis.back() != out
                                                    ? (axis.back() / size + below(2)) % extent
                                                    : below(static_cast<unsigned>(extent))));
      offsets.insert(offsets.begin(), axis);
      size *= extent;
    }
    check<float>(offsets, size);
  }
}

TEST_P(MappedCopies, OfNothing) {
  check<float>({{}, {0, 1}}, 2);
  check<float>({{0, 1}, {}}, 2);
}

}  // namespace
}  // namespace tenon::cpu
