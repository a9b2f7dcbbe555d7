// Bytes that are split are the sum of both parts, and no two neighbours can overflow 16 bits.
#include "kernels/cpu/split_bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tenon::cpu {
namespace {

constexpr long width = 16, depth = 5, panels = 2;

// `panels` panels of `width` columns: byte b of word k of column n.
std::size_t place(long n, long k, long b) {
  return static_cast<std::size_t>(((n / width * depth + k) * width + n % width) * 4 + b);
}

struct Split {
  std::vector<std::int8_t> bytes;
  std::vector<std::int32_t> memory;
  RestOfBytes rest;

  explicit Split(std::vector<std::int8_t> from)
      : bytes(std::move(from)), memory(static_cast<std::size_t>(RestOfBytes::size(width * panels, depth))) {
    split_bytes(bytes.data(), width, width * panels, depth, memory.data());
    rest = RestOfBytes::at(memory.data(), width * panels, depth);
  }
  long rows() const { return rest.begin[width * panels / RestOfBytes::columns]; }
  // What a row of the rest holds for byte b of word k of column n; 0 where there is none.
  int beyond(long n, long k, long b) const {
    const long strip = n / RestOfBytes::columns;
    for (long row = rest.begin[strip]; row < rest.begin[strip + 1]; row++) {
      if (rest.words[row] != k || b % 2 != 0) continue;
      const std::int32_t both = rest.rows[row * RestOfBytes::columns + n % RestOfBytes::columns];
      return static_cast<std::int16_t>(b == 0 ? both : both >> 16);
    }
    return 0;
  }
};

std::vector<std::int8_t> drawn(int low, int high) {
  std::mt19937 engine(3);
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(width * panels * depth * 4));
  for (auto& byte : bytes)
    byte = static_cast<std::int8_t>(std::uniform_int_distribution<int>(low, high)(engine));
  return bytes;
}

TEST(SplitBytes, AreTheSumOfBothPartsWithoutOverflow) {
  for (const auto& [low, high] : {std::pair{-128, 127}, {100, 127}, {-128, -100}, {-128, -128}, {-90, 40}}) {
    const std::vector<std::int8_t> bytes = drawn(low, high);
    const Split split(bytes);
    for (long n = 0; n < width * panels; n++)
      for (long k = 0; k < depth; k++) {
        for (long b = 0; b < 4; b++)
          ASSERT_EQ(split.bytes[place(n, k, b)] + split.beyond(n, k, b), bytes[place(n, k, b)]);
        for (const long b : {0, 2}) {
          const int first = split.bytes[place(n, k, b)], second = split.bytes[place(n, k, b + 1)];
          ASSERT_LE(255 * (std::max(first, 0) + std::max(second, 0)), 32767);
          ASSERT_GE(255 * (std::min(first, 0) + std::min(second, 0)), -32768);
        }
      }
  }
}

TEST(SplitBytes, HaveNoRestWhereNeighboursAddUpTo128) {
  EXPECT_EQ(Split(drawn(-64, 64)).rows(), 0);
  std::vector<std::int8_t> one(drawn(-64, 64));
  one[place(9, 2, 2)] = one[place(9, 2, 3)] = 70;
  const Split split(one);
  EXPECT_EQ(split.rows(), 1);
  EXPECT_EQ(split.beyond(9, 2, 2), 12);
}

}  // namespace
}  // namespace tenon::cpu
