#include "kernels/cpu/index_places.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/first_bad.h"

namespace tenon::cpu {
namespace {

using Term = IndexPlaces::Term;

std::int64_t index_at(const Term& t, long offset) {
  return t.dtype == DType::i64 ? static_cast<const std::int64_t*>(t.indices)[offset]
                               : static_cast<const std::int32_t*>(t.indices)[offset];
}
bool fits(std::int64_t index, long range) { return index >= -range && index < range; }

}  // namespace

std::optional<WrongIndex> index_places(const IndexPlaces& index, ThreadPool& pool) {
  TENON_CHECK(index.rank <= IndexPlaces::max_rank && index.count <= IndexPlaces::max_terms);
  const std::size_t outer = index.rank == 0 ? 0 : index.rank - 1;
  const long n = index.rank == 0 ? 1 : index.dims[outer];
  long rows = 1;
  for (std::size_t d = 0; d < outer; ++d) rows *= index.dims[d];
  if (rows * n == 0) return std::nullopt;
  const auto offset_in = [&](const Term& t, long row) {
    long offset = 0;
    for (std::size_t d = outer; d-- > 0; row /= index.dims[d]) offset += row % index.dims[d] * t.strides[d];
    return offset;
  };
  constexpr long chunk_places = 4096;
  const long parts = (n + chunk_places - 1) / chunk_places;  // of a row
  const long rows_at_once = std::max(1L, chunk_places / n);
  FirstBad bad;
  pool.parallel_for((rows + rows_at_once - 1) / rows_at_once * parts, [&](long chunk, int) {
    const long first_row = chunk / parts * rows_at_once, last_row = std::min(rows, first_row + rows_at_once);
    const long from = n * (chunk % parts) / parts, to = n * (chunk % parts + 1) / parts;
    for (long row = first_row; row < last_row; ++row) {
      std::int64_t* const places = index.places + row * n + from;
      if (index.count == 0) std::fill_n(places, to - from, 0);
      bool all_fit = true;
      for (std::size_t k = 0; k < index.count; ++k) {
        const Term& t = index.terms[k];
        const long stride = t.strides[outer], offset = offset_in(t, row) + from * stride;
        const bool wide = t.dtype == DType::i64;
        all_fit &= add_index_term(
            {.indices = wide ? static_cast<const void*>(static_cast<const std::int64_t*>(t.indices) + offset)
                             : static_cast<const std::int32_t*>(t.indices) + offset,
             .wide = wide,
             .stride = stride,
             .range = t.range,
             .step = t.step,
             .first = k == 0},
            to - from, places);
      }
      if (!all_fit) bad.report(row * n + from);
    }
  });
  if (bad.result() < 0) return std::nullopt;
  for (long place = bad.result();; ++place)
    for (std::size_t k = 0; k < index.count; ++k) {
      const Term& t = index.terms[k];
      const std::int64_t found = index_at(t, offset_in(t, place / n) + place % n * t.strides[outer]);
      if (!fits(found, t.range)) return WrongIndex{k, found};
    }
}

}  // namespace tenon::cpu
