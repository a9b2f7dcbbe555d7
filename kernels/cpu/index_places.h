// Where several tensors of indices, one for each axis, point together.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// places[i] = sum over the terms of step * index(i), dense, where a negative index counts from the end.
/// Strides count elements.
struct IndexPlaces {
  static constexpr std::size_t max_rank = 8, max_terms = 8;
  using Dims = std::array<long, max_rank>;
  struct Term {
    const void* indices = nullptr;
    DType dtype = DType::i64;  // or i32
    Dims strides = {};
    long range = 0;  // indices lie in [-range, range)
    long step = 1;
  };
  std::size_t rank = 0;  // the last dim is the innermost; 0: one place
  Dims dims = {};
  std::size_t count = 0;  // of terms
  std::array<Term, max_terms> terms = {};
  std::int64_t* places = nullptr;
};

struct WrongIndex {
  std::size_t term;
  std::int64_t index;
};
/// The first index, in the order of the places, that is out of range. What lies at the places is then not
/// said.
std::optional<WrongIndex> index_places(const IndexPlaces& index, ThreadPool& pool);

/// A term of a row of n places: it is added to them, or the first one.
struct IndexTerm {
  const void* indices;
  bool wide;  // i64, else i32
  long stride, range, step;
  bool first;
};
/// Returns whether all indices are in range.
using AddIndexTerm = bool(const IndexTerm& term, long n, std::int64_t* places);
TENON_PER_ISA(AddIndexTerm, add_index_term, add_index_term)

}  // namespace tenon::cpu
