// Gathers read what the indices name, and report the first index that names nothing.
#include "kernels/cpu/gather.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tenon::cpu {
namespace {

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

GatherRows embedding(const std::vector<float>& table, long width, const std::vector<std::int64_t>& indices,
                     std::vector<float>& out) {
  GatherRows g;
  g.count = static_cast<long>(indices.size());
  g.table_rows = static_cast<long>(table.size()) / width;
  g.row_bytes = width * 4;
  g.table = table.data();
  g.table_stride = width * 4;
  g.out = out.data();
  g.out_stride = width * 4;
  g.indices = indices.data();
  return g;
}

TEST(Gather, EmbeddingRows) {
  ThreadPool pool(3);
  const std::vector<float> table = counted(50 * 33);
  std::vector<std::int64_t> indices(2000);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i * 37 % 50);
  std::vector<float> out(indices.size() * 33);
  ASSERT_EQ(gather_rows(embedding(table, 33, indices, out), pool), -1);
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (std::size_t c = 0; c < 33; ++c)
      ASSERT_EQ(out[i * 33 + c], table[static_cast<std::size_t>(indices[i]) * 33 + c]);
}

TEST(Gather, ReportsTheFirstBadIndex) {
  ThreadPool pool(3);
  const std::vector<float> table = counted(10 * 400);
  std::vector<std::int64_t> indices(5000, 3);
  indices[4000] = 10;
  indices[1234] = -1;
  std::vector<float> out(indices.size() * 400);
  GatherRows g = embedding(table, 400, indices, out);
  EXPECT_EQ(gather_rows(g, pool), 1234);
  g.wrap_negative = true;
  EXPECT_EQ(gather_rows(g, pool), 4000);
  EXPECT_EQ(out[1234 * 400], 9.0f * 400);
}

template <class T>
void check_elements(std::size_t count, bool wraps) {
  ThreadPool pool(2);
  constexpr long size = 300;
  std::vector<T> table(size);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i * 7);
  std::vector<std::int64_t> indices(count);
  for (std::size_t i = 0; i < count; ++i)
    indices[i] = static_cast<std::int64_t>(i * 37 % size) - (wraps ? size / 2 : 0);
  std::vector<T> out(count);
  GatherRows g{.count = static_cast<long>(count),
               .table_rows = size,
               .row_bytes = sizeof(T),
               .table = table.data(),
               .table_stride = sizeof(T),
               .out = out.data(),
               .out_stride = sizeof(T),
               .indices = indices.data(),
               .wrap_negative = wraps};
  ASSERT_EQ(gather_rows(g, pool), -1);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(out[i], table[static_cast<std::size_t>((indices[i] + size) % size)]);
  for (const std::int64_t wrong : {std::int64_t{size}, std::int64_t{-size - 1}, std::int64_t{1} << 62}) {
    indices[count / 2] = wrong;
    ASSERT_EQ(gather_rows(g, pool), static_cast<long>(count / 2));
  }
}

TEST(Gather, RowsOfOneElement) {
  for (const std::size_t count : {1, 17, 9000})
    for (const bool wraps : {false, true}) {
      check_elements<std::uint8_t>(count, wraps);
      check_elements<std::uint16_t>(count, wraps);
      check_elements<float>(count, wraps);
      check_elements<std::int64_t>(count, wraps);
    }
}

TEST(Gather, IndexSelectAlongAMiddleDim) {
  ThreadPool pool(2);
  const std::vector<float> table = counted(4 * 6 * 5);  // [4, 6, 5], selecting along dim 1
  const std::vector<std::int32_t> indices = {5, 0, 0, 3};
  std::vector<float> out(4 * 4 * 5);
  GatherRows g;
  g.outer = 4;
  g.count = 4;
  g.table_rows = 6;
  g.row_bytes = 20;
  g.table = table.data();
  g.table_outer_stride = 120;
  g.table_stride = 20;
  g.out = out.data();
  g.out_outer_stride = 80;
  g.out_stride = 20;
  g.indices = indices.data();
  g.index_dtype = DType::i32;
  ASSERT_EQ(gather_rows(g, pool), -1);
  for (std::size_t o = 0; o < 4; ++o)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t c = 0; c < 5; ++c)
        ASSERT_EQ(out[(o * 4 + i) * 5 + c], table[(o * 6 + static_cast<std::size_t>(indices[i])) * 5 + c]);
}

template <class T, class Index>
void check_columns(std::size_t count) {
  constexpr std::size_t rows = 37, width = 50;
  ThreadPool pool(3);
  std::vector<T> table(rows * width);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i % 251);
  std::vector<Index> indices(count);
  for (std::size_t i = 0; i < count; ++i)
    indices[i] = static_cast<Index>(i * 37 % (2 * width)) - static_cast<Index>(width);
  std::vector<T> out(rows * count);
  GatherRows g{.outer = rows,
               .count = static_cast<long>(count),
               .table_rows = width,
               .row_bytes = sizeof(T),
               .table = table.data(),
               .table_outer_stride = width * sizeof(T),
               .table_stride = sizeof(T),
               .out = out.data(),
               .out_outer_stride = static_cast<long>(count * sizeof(T)),
               .out_stride = sizeof(T),
               .indices = indices.data(),
               .index_dtype = sizeof(Index) == 4 ? DType::i32 : DType::i64,
               .wrap_negative = true};
  ASSERT_EQ(gather_rows(g, pool), -1);
  for (std::size_t o = 0; o < rows; ++o)
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(indices[i] < 0 ? indices[i] + Index{width} : indices[i]);
      ASSERT_EQ(out[o * count + i], table[o * width + place]);
    }
  indices[count - 1] = width;
  EXPECT_EQ(gather_rows(g, pool), static_cast<long>(count) - 1);
  g.wrap_negative = false;
  EXPECT_EQ(gather_rows(g, pool), count > 1 ? 0 : static_cast<long>(count) - 1);
}

TEST(Gather, Columns) {
  for (const std::size_t count : {1, 17, 1024, 3000}) {
    check_columns<std::uint8_t, std::int64_t>(count);
    check_columns<std::uint16_t, std::int32_t>(count);
    check_columns<float, std::int64_t>(count);
    check_columns<double, std::int32_t>(count);
  }
}

TEST(Gather, NoIndices) {
  ThreadPool pool(1);
  const std::vector<float> table = counted(10);
  std::vector<float> out;
  EXPECT_EQ(gather_rows(embedding(table, 5, {}, out), pool), -1);
}

TEST(Gather, AlongEitherDim) {
  ThreadPool pool(2);
  const std::vector<double> table = {10, 11, 12, 20, 21, 22};  // [2, 3]
  const std::vector<std::int64_t> indices = {1, 0, 0, 1};      // [2, 2]
  std::vector<double> out(4);
  GatherAlong g;
  g.rank = 2;
  g.dims = {2, 2};
  g.element_size = 8;
  g.table = table.data();
  g.table_strides = {3, 1};
  g.indices = indices.data();
  g.index_strides = {2, 1};
  g.out = out.data();
  g.out_strides = {2, 1};
  g.dim = 0;
  g.table_extent = 2;
  ASSERT_EQ(gather_along(g, pool), -1);
  EXPECT_EQ(out, (std::vector<double>{20, 11, 10, 21}));
  g.dim = 1;
  g.table_extent = 3;
  ASSERT_EQ(gather_along(g, pool), -1);
  EXPECT_EQ(out, (std::vector<double>{11, 10, 20, 21}));
  g.table_extent = 1;
  EXPECT_EQ(gather_along(g, pool), 0);
}

}  // namespace
}  // namespace tenon::cpu
