// Strided copies put every element where its strides say, and nothing else is touched.
#include "kernels/cpu/copy.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class Copy : public OnEveryIsa {};
TENON_EVERY_ISA(Copy);

using Dims = std::vector<std::int64_t>;

/// Copies random bytes and compares with a copy element by element.
void expect_copy(std::size_t size, const Dims& dims, const Dims& source_strides, const Dims& target_strides,
                 std::int64_t source_start = 0, std::int64_t target_start = 0) {
  const auto extent_of = [&](const Dims& strides, std::int64_t start) {
    std::int64_t last = start;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (strides[d] > 0 && dims[d] > 0) last += (dims[d] - 1) * strides[d];
    return static_cast<std::size_t>(last + 1);
  };
  std::vector<std::uint8_t> source(extent_of(source_strides, source_start) * size);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  std::vector<std::uint8_t> target(extent_of(target_strides, target_start) * size, 0xee);
  std::vector<std::uint8_t> expected = target;
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = source_start;
    std::int64_t to = target_start;
    std::int64_t rest = i;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
      from += rest % dims[d] * source_strides[d];
      to += rest % dims[d] * target_strides[d];
    }
    std::memcpy(expected.data() + static_cast<std::size_t>(to) * size,
                source.data() + static_cast<std::size_t>(from) * size, size);
  }
  ThreadPool pool(3);
  const StridedCopy copy(size, dims, source_strides, target_strides);
  copy.run(source.data() + static_cast<std::size_t>(source_start) * size,
           target.data() + static_cast<std::size_t>(target_start) * size, pool);
  EXPECT_TRUE(target == expected) << "elements of " << size << " bytes, rank " << dims.size();
}

TEST_P(Copy, OfEveryElementSizeAndLayout) {
  for (const std::size_t size : {1u, 2u, 4u, 8u, 16u}) {
    expect_copy(size, {}, {}, {});
    expect_copy(size, {100000}, {1}, {1});
    expect_copy(size, {5, 7}, {7, 1}, {7, 1});
    expect_copy(size, {5, 7}, {20, 1}, {9, 1});
    expect_copy(size, {130, 67}, {1, 130}, {67, 1});                                  // transpose
    expect_copy(size, {3, 130, 67}, {130 * 67, -1, 130}, {130 * 67, 67, 1}, 129);     // turned to the left
    expect_copy(size, {130, 67}, {1, -130}, {67, 1}, 66 * 130);                       // and to the right
    expect_copy(size, {2, 33, 9, 8}, {33 * 72, 1, 8 * 33, 33}, {33 * 72, 72, 8, 1});  // NHWC to NCHW
    expect_copy(size, {3, 4, 5}, {1, 3, 12}, {20, 5, 1});                             // reversed dims
    expect_copy(size, {6, 50}, {0, 1}, {50, 1});                                      // broadcast of a row
    expect_copy(size, {3, 900, 2}, {2, 0, 1}, {1800, 2, 1});                          // of several short rows
    expect_copy(size, {70001, 3}, {0, 1}, {3, 1});                                    // in several chunks
    expect_copy(size, {6, 50}, {1, 0}, {50, 1});                                      // and of a column
    expect_copy(size, {6, 50}, {-50, -1}, {50, 1}, 299);                              // flip
    expect_copy(size, {6, 50}, {50, 1}, {-100, 2}, 0, 500);
    expect_copy(size, {37, 41, 50}, {41 * 60 + 7, 60, 1}, {41 * 50, 50, 1});  // several chunks of rows
    expect_copy(size, {37, 41, 51}, {41 * 60 + 7, 60, -1}, {41 * 51, 51, 1}, 50);
    expect_copy(size, {70, 133}, {1, 75}, {133 + 3, 1});
    expect_copy(size, {4, 0, 3}, {3, 3, 1}, {3, 3, 1});
    expect_copy(size, {4, 0, 3}, {3, 3, 9}, {9, 3, 1});
    expect_copy(size, {9, 2, 11, 2, 5}, {11 * 20, 2, 20, 1, 4}, {2 * 110, 110, 10, 5, 1});  // pixel shuffle
    expect_copy(size, {9, 2, 11, 2, 5}, {2 * 110, 110, 10, 5, 1}, {11 * 20, 2, 20, 1, 4});  // and back
    expect_copy(size, {300, 3, 7, 3}, {9, 3, 0, 1}, {63 + 5, 21, 3, 1});                    // tiles of few
    expect_copy(size, {1000, 3}, {5, 1}, {4, 1});                                           // short rows
    expect_copy(size, {90, 4, 6}, {-24, 1, -4}, {24, 6, 1}, 89 * 24 + 20);
    expect_copy(size, {1, 1, 9}, {77, 5, 2}, {1, 1, 1});
  }
}

TEST_P(Copy, OfEveryNthElement) {
  for (const std::size_t size : {1u, 2u, 4u, 8u})
    for (const std::int64_t n : {2, 3, 4, 5})
      for (const std::int64_t count : {1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 200}) {
        SCOPED_TRACE(fmt::format("{} of {} bytes, every {}", count, size, n));
        expect_copy(size, {3, count}, {n * count + 1, n}, {count + 2, 1}, 1);
        expect_copy(size, {3, count}, {count + 2, 1}, {n * count + 1, n}, 0, 1);
        expect_copy(size, {3, count}, {n * count + 1, n}, {n * count + 3, n}, 1, 2);
      }
}

TEST_P(Copy, ReversedRowsOfEveryLength) {
  for (const std::size_t size : {1u, 2u, 4u, 8u})
    for (std::int64_t length = 1; length < 150; length += length < 70 ? 1 : 13)
      expect_copy(size, {5, length}, {length + 2, -1}, {length + 3, 1}, length - 1);
}

TEST_P(Copy, OfTheColoursOfAnImageToTheLastDimAndBack) {
  for (const std::int64_t colours : {1, 2, 3, 4, 5})
    for (const std::int64_t pixels : {1, 15, 37, 3000}) {
      const std::int64_t plane = pixels + 3;
      expect_copy(4, {2, pixels, colours}, {colours * plane, 1, plane}, {colours * pixels, colours, 1});
      expect_copy(4, {2, colours, pixels}, {colours * pixels, 1, colours}, {colours * plane, plane, 1});
      expect_copy(4, {pixels, colours}, {1, plane}, {colours + 2, 1});  // into wider pixels
    }
}

TEST_P(Copy, FillRepeatsAnElement) {
  ThreadPool pool(2);
  std::vector<double> values(30001, 1.0);
  const double seven = 7;
  fill(values.data(), &seven, sizeof seven, 30000, pool);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 7 * 30000 + 1);
}

TEST_P(Copy, ConvertingCopyRoundsAndTransposes) {
  const Dims dims = {20, 30};
  const LoopProgram half = converting_copy(DType::f32, DType::f16, dims, Dims{1, 20}, Dims{30, 1});
  expect_matches_reference(half);
  expect_matches_reference(converting_copy(DType::i64, DType::u8, dims, Dims{30, 1}, Dims{30, 1}));
  expect_matches_reference(converting_copy(DType::bf16, DType::bf16, dims, Dims{1, 20}, Dims{30, 1}));
}

}  // namespace
}  // namespace tenon::cpu
