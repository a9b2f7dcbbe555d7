// Places that several tensors of indices name together, and the first index that names none.
#include "kernels/cpu/index_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::cpu {
namespace {

// A column of rows, broadcast along the columns, and a number for each place.
struct Grid {
  long rows, columns;
  std::vector<std::int64_t> row;
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> places;

  Grid(long row_count, long column_count) : rows(row_count), columns(column_count) {
    for (long r = 0; r < rows; ++r) row.push_back(r % 7 - 3);
    for (long i = 0; i < rows * columns; ++i) column.push_back(static_cast<std::int32_t>(i % 11 - 5));
    places.resize(column.size() + 1, 99);
  }
  std::optional<WrongIndex> find() {
    IndexPlaces index{.rank = 2, .dims = {rows, columns}, .count = 2, .places = places.data()};
    index.terms[0] = {.indices = row.data(), .strides = {1, 0}, .range = 4, .step = 6};
    index.terms[1] = {.indices = column.data(), .dtype = DType::i32, .strides = {columns, 1}, .range = 6};
    ThreadPool pool(3);
    return index_places(index, pool);
  }
};

TEST(IndexPlaces, OfEverySize) {
  for (const long rows : {1, 3, 5000})
    for (const long columns : {1, 4, 9000}) {
      if (rows * columns > 100000) continue;
      Grid grid(rows, columns);
      ASSERT_FALSE(grid.find());
      for (long i = 0; i < rows * columns; ++i) {
        const long r = grid.row[static_cast<std::size_t>(i / columns)],
                   c = grid.column[static_cast<std::size_t>(i)];
        ASSERT_EQ(grid.places[static_cast<std::size_t>(i)], (r < 0 ? r + 4 : r) * 6 + (c < 0 ? c + 6 : c));
      }
      ASSERT_EQ(grid.places.back(), 99);
    }
}

TEST(IndexPlaces, OfNoAxesAreOne) {
  const std::int64_t index = -1;
  std::int64_t place = 0;
  IndexPlaces one{.count = 1, .places = &place};
  one.terms[0] = {.indices = &index, .range = 5, .step = 3};
  ThreadPool pool(1);
  EXPECT_FALSE(index_places(one, pool));
  EXPECT_EQ(place, 12);
}

TEST(IndexPlaces, TheFirstWrongIndex) {
  Grid grid(5, 9000);
  grid.column[4 * 9000 + 17] = 6;
  grid.column[3 * 9000 + 8000] = -7;
  const auto wrong = grid.find();
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->term, 1u);
  EXPECT_EQ(wrong->index, -7);
  grid.row[3] = 4;
  EXPECT_EQ(grid.find()->index, 4);
}

}  // namespace
}  // namespace tenon::cpu
