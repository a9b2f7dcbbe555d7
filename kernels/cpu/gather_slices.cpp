// Slices of any strides, from where offsets say: row by row, each row of several slices.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/gather.h"

namespace tenon::cpu {
namespace {

struct Wide {
  std::uint64_t halves[2];
};

template <class T>
void copy_row(const T* from, long step, T* to, long to_step, long n) {
  constexpr long few = 64;  // bytes, for which a call takes longer than a loop
  if (step == 1 && to_step == 1 && n * static_cast<long>(sizeof(T)) > few) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  for (long i = 0; i < n; ++i) to[i * to_step] = from[i * step];
}

/// The slices [first, last).
template <class T>
void copy_slices(const GatherSlices& g, long first, long last) {
  const auto offset_of = [&](long slice) {
    const std::int64_t offset = g.offsets[slice];
    return offset < g.least || offset > g.largest ? g.least : offset;
  };
  const std::size_t outer = g.rank == 0 ? 0 : g.rank - 1;
  const long n = g.rank == 0 ? 1 : g.dims[outer];
  const long step = g.table_strides[outer], out_step = g.out_strides[outer];
  GatherSlices::Dims at = {};
  const auto* from = static_cast<const T*>(g.table);
  auto* to = static_cast<T*>(g.out);
  while (true) {
    if (n == 1)
      for (long i = first; i < last; ++i) to[i * g.out_stride] = from[offset_of(i)];
    else
      for (long i = first; i < last; ++i)
        copy_row(from + offset_of(i), step, to + i * g.out_stride, out_step, n);
    std::size_t d = outer;
    for (; d-- > 0;) {
      from += g.table_strides[d];
      to += g.out_strides[d];
      if (++at[d] < g.dims[d]) break;
      from -= at[d] * g.table_strides[d];
      to -= at[d] * g.out_strides[d];
      at[d] = 0;
    }
    if (d > outer) return;
  }
}

auto copy_of(std::size_t element_size) {
  switch (element_size) {
    case 1: return copy_slices<std::uint8_t>;
    case 2: return copy_slices<std::uint16_t>;
    case 4: return copy_slices<std::uint32_t>;
    case 8: return copy_slices<std::uint64_t>;
    default: return copy_slices<Wide>;
  }
}

}  // namespace

void gather_slices(const GatherSlices& g, ThreadPool& pool) {
  constexpr long bytes_per_chunk = 1 << 15;
  long slice = static_cast<long>(g.element_size);
  for (std::size_t d = 0; d < g.rank; ++d) slice *= g.dims[d];
  const long together = std::max(1L, bytes_per_chunk / std::max(1L, slice));
  const auto copy = copy_of(g.element_size);
  pool.parallel_for((g.count + together - 1) / together, [&](long chunk, int) {
    copy(g, chunk * together, std::min(g.count, (chunk + 1) * together));
  });
}

}  // namespace tenon::cpu
