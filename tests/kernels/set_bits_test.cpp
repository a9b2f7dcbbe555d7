// Elements that are not zero are found, listed and filled as one after the other says.
#include "kernels/cpu/set_bits.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class FoundBits : public OnEveryIsa {};
TENON_EVERY_ISA(FoundBits);

constexpr long lengths[] = {0, 1, 15, 16, 17, 63, 64, 65, 1000, 40000};
constexpr int shares[] = {0, 1, 50, 100};  // of elements that are set, in percent

/// Elements by their bytes; the set ones hold what is not zero, the others zero, of floats also -0.
struct Elements {
  DType dtype;
  std::vector<std::byte> bytes;
  std::vector<bool> set;
  std::vector<std::uint64_t> memory;
  SetBits bits;
  ThreadPool pool{3};

  Elements(DType type, std::uint64_t one, std::uint64_t minus_zero, long n, int share) : dtype(type) {
    std::mt19937 random(static_cast<unsigned>(n + share));
    const std::size_t width = size_of(dtype), word = std::min<std::size_t>(width, 8);
    bytes.resize(static_cast<std::size_t>(n) * width);
    for (long i = 0; i < n; ++i) {
      set.push_back(static_cast<int>(random() % 100) < share);
      const std::uint64_t value = set.back() ? one : random() % 2 ? minus_zero : 0;
      const std::size_t second = width == 16 && random() % 2 ? 8 : 0;
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * width + second, &value, word);
    }
    memory.resize(set_bits_bytes(n) / sizeof(std::uint64_t));
    bits = find_set_bits(bytes.data(), dtype, n, memory.data(), pool);
  }
};

TEST_P(FoundBits, OfEveryTypeAndLength) {
  struct Kind {
    DType dtype;
    std::uint64_t one, minus_zero;
  };
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  const Kind kinds[] = {{DType::boolean, 1, 0},
                        {DType::u8, 0x80, 0},
                        {DType::i16, 0x8000, 0},
                        {DType::u32, 1u << 31, 0},
                        {DType::i64, top, 0},
                        {DType::f8e4m3fn, 0x01, 0x80},
                        {DType::f8e5m2, 0xff, 0x80},
                        {DType::f8e4m3fnuz, 0x80, 0},
                        {DType::f16, 0x0001, 0x8000},
                        {DType::bf16, 0xffff, 0x8000},
                        {DType::f32, 0x7fc00000, 0x80000000},
                        {DType::f64, top | 1, top},
                        {DType::c64, std::uint64_t{1} << 32, top | 1u << 31},
                        {DType::c128, 1, top}};
  for (const Kind& k : kinds)
    for (const long n : lengths)
      for (const int share : shares) {
        const Elements e(k.dtype, k.one, k.minus_zero, n, share);
        ASSERT_EQ(e.bits.count(), std::count(e.set.begin(), e.set.end(), true)) << name(k.dtype) << " " << n;
        for (long i = 0; i < n; ++i)
          ASSERT_EQ(e.bits.words[i / 64] >> (i % 64) & 1, e.set[static_cast<std::size_t>(i)])
              << name(k.dtype) << " " << i << " of " << n;
      }
}

TEST_P(FoundBits, AreListedByTheirIndices) {
  const std::vector<std::vector<long>> shapes = {
      {1},          {65},        {40000},      {3, 5},        {40000, 1},        {1, 40000}, {200, 201},
      {20, 30, 63}, {7, 3, 500}, {50, 1, 900}, {5, 6, 7, 50}, {3, 4, 5, 6, 100}, {0, 4}};
  for (const auto& shape : shapes)
    for (const int share : shares) {
      long n = 1;
      for (const long size : shape) n *= size;
      Elements e(DType::u8, 3, 0, n, share);
      std::vector<std::int64_t> expected;
      long count = 0;
      for (long i = 0; i < n; ++i) {
        if (!e.set[static_cast<std::size_t>(i)]) continue;
        ++count;
        std::vector<std::int64_t> row(shape.size());
        long rest = i;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) row[d] = rest % shape[d];
        expected.insert(expected.end(), row.begin(), row.end());
      }
      for (const long most : {count, count / 2, std::min(count, 1L), count + 5}) {
        std::vector<std::int64_t> places(expected.size() + 1, 99), wanted = expected;
        wanted.resize(static_cast<std::size_t>(std::min(most, count)) * shape.size());
        wanted.resize(places.size(), 99);
        list_places(e.bits, shape, most, places.data(), e.pool);
        ASSERT_EQ(places, wanted) << shape.size() << " axes, " << most << " of " << count;
      }
    }
}

template <class T>
void check_fill() {
  for (const long n : lengths)
    for (const int share : shares) {
      Elements e(DType::boolean, 1, 0, n, share);
      std::vector<T> x, source, y(static_cast<std::size_t>(n) + 1, T{}), expected;
      const auto number = [](long i) {
        T value{};
        const auto small = static_cast<std::uint8_t>(i);
        std::memcpy(&value, &small, 1);
        return value;
      };
      for (long i = 0; i < e.bits.count(); ++i) source.push_back(number(3 * i + 1));
      for (long i = 0, next = 0; i < n; ++i) {
        x.push_back(number(i));
        expected.push_back(e.set[static_cast<std::size_t>(i)] ? source[static_cast<std::size_t>(next++)]
                                                              : x.back());
      }
      expected.push_back(T{});
      fill_in_order(e.bits, {.x = x.data(), .source = source.data(), .y = y.data(), .bytes = sizeof(T)},
                    e.pool);
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(T)), 0)
          << n << " elements of " << sizeof(T) << " bytes, " << share << "%";
    }
}

TEST_P(FoundBits, AreFilledInOrder) {
  struct Wide {
    std::uint64_t low, high;
  };
  check_fill<std::uint8_t>();
  check_fill<std::uint16_t>();
  check_fill<std::uint32_t>();
  check_fill<std::uint64_t>();
  check_fill<Wide>();
}

}  // namespace
}  // namespace tenon::cpu
