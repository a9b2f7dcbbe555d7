// Places of values in sorted rows.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// places[v] is how many elements of the sorted row come before values[v], or with `right` do not come behind
/// it. What a row that ends in NaN gives is what PyTorch finds in it by halving.
struct SearchRow {
  DType dtype = DType::f32;  // f32, f64, an integer or bool
  bool right = false;
  const void* row = nullptr;
  long length = 0;
  const void* values = nullptr;
  long count = 0;
  std::int64_t* places = nullptr;
};
using SearchInRow = void(const SearchRow& search);
TENON_PER_ISA(SearchInRow, search_row, search_row)

/// The same of `rows` rows, dense, of which each has its own `count` values; or of one row for all values.
void search_rows(const SearchRow& first, long rows, ThreadPool& pool);

}  // namespace tenon::cpu
