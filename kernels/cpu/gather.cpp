// Gathers: plain copies around a bounds check.
#include "kernels/cpu/gather.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/first_bad.h"

namespace tenon::cpu {
namespace {

constexpr long bytes_per_chunk = 1 << 15;

/// indices[at] brought into [0, extent), or -1.
long checked_index(const void* indices, DType dtype, long at, long extent, bool wrap_negative) {
  long index = dtype == DType::i32 ? static_cast<const std::int32_t*>(indices)[at]
                                   : static_cast<const std::int64_t*>(indices)[at];
  if (index < 0 && wrap_negative) index += extent;
  return index >= 0 && index < extent ? index : -1;
}

/// Rows of one element T: out[o][i] = table[o][indices[i]]; the indices are right.
template <class T, class Index>
void gather_elements(const GatherRows& g, long outer) {
  const auto* const indices = static_cast<const Index*>(g.indices);
  const auto* const table = static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride;
  auto* const out = static_cast<std::byte*>(g.out) + outer * g.out_outer_stride;
  if (g.table_stride == sizeof(T) && g.out_stride == sizeof(T)) {
    const auto* const from = reinterpret_cast<const T*>(table);
    for (long i = 0; i < g.count; ++i) {
      const long index = indices[i];
      reinterpret_cast<T*>(out)[i] = from[index + (index < 0 ? g.table_rows : 0)];
    }
    return;
  }
  for (long i = 0; i < g.count; ++i) {
    const long index = indices[i];
    T element;
    std::memcpy(&element, table + (index < 0 ? index + g.table_rows : index) * g.table_stride, sizeof(T));
    std::memcpy(out + i * g.out_stride, &element, sizeof(T));
  }
}

using GatherElements = void (*)(const GatherRows&, long outer);
template <class Index>
GatherElements gather_elements_for(long row_bytes) {
  switch (row_bytes) {
    case 1: return gather_elements<std::uint8_t, Index>;
    case 2: return gather_elements<std::uint16_t, Index>;
    case 4: return gather_elements<std::uint32_t, Index>;
    case 8: return gather_elements<std::uint64_t, Index>;
    default: return nullptr;
  }
}

}  // namespace

long gather_rows(const GatherRows& g, ThreadPool& pool) {
  TENON_CHECK(g.index_dtype == DType::i32 || g.index_dtype == DType::i64);
  FirstBad bad;
  const GatherElements elements = g.index_dtype == DType::i32
                                      ? gather_elements_for<std::int32_t>(g.row_bytes)
                                      : gather_elements_for<std::int64_t>(g.row_bytes);
  if (elements && g.outer > 1) {
    for (long i = 0; i < g.count; ++i)
      if (checked_index(g.indices, g.index_dtype, i, g.table_rows, g.wrap_negative) < 0) return i;
    pool.parallel_for(g.outer, [&](long outer, int) { elements(g, outer); });
    return -1;
  }
  const long rows = g.outer * g.count;
  const long per_chunk = std::max(1L, bytes_per_chunk / std::max(16L, g.row_bytes));
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      const long outer = row / g.count;
      const long i = row % g.count;
      const long index = checked_index(g.indices, g.index_dtype, i, g.table_rows, g.wrap_negative);
      if (index < 0) {
        bad.report(i);
        continue;
      }
      const std::byte* const from =
          static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride + index * g.table_stride;
      std::byte* const to = static_cast<std::byte*>(g.out) + outer * g.out_outer_stride + i * g.out_stride;
      std::memcpy(to, from, static_cast<std::size_t>(g.row_bytes));
    }
  });
  return bad.result();
}

namespace {

/// A line of gather_along: the points of its innermost dim. Strides count elements.
struct Line {
  const void* table;
  const void* indices;
  void* out;
  long count;
  long table_step, index_step, out_step;
  long extent;  // of the table along the gathered dim
  long extent_stride;
  bool wrap_negative;
};

/// Returns -1, or the first point whose index is out of range; then nothing is written.
template <class Index, class T>
long gather_line(const Line& line) {
  const auto* const indices = static_cast<const Index*>(line.indices);
  const auto* const table = static_cast<const T*>(line.table);
  auto* const out = static_cast<T*>(line.out);
  const long lowest = line.wrap_negative ? -line.extent : 0;
  const auto is_bad = [&](long c) {
    const long index = indices[c * line.index_step];
    return index < lowest || index >= line.extent;
  };
  // The sign of a number below the lowest one, or above the highest one, without a comparison: vector code.
  std::uint64_t signs = 0;
  const auto highest = static_cast<std::uint64_t>(line.extent - 1);
  for (long c = 0; c < line.count; ++c) {
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[c * line.index_step]));
    signs |= (index - static_cast<std::uint64_t>(lowest)) | (highest - index);
  }
  if (signs >> 63 != 0)
    for (long c = 0; c < line.count; ++c)
      if (is_bad(c)) return c;
  if (line.extent_stride == 1 && line.table_step == 0 && line.index_step == 1 && line.out_step == 1) {
    for (long c = 0; c < line.count; ++c) {
      const long index = indices[c];
      out[c] = table[index + (index < 0 ? line.extent : 0)];
    }
    return -1;
  }
  for (long c = 0; c < line.count; ++c) {
    long index = indices[c * line.index_step];
    if (index < 0) index += line.extent;
    out[c * line.out_step] = table[c * line.table_step + index * line.extent_stride];
  }
  return -1;
}

template <class Index>
auto gather_line_of(std::size_t element_size) {
  struct Wide {
    std::uint64_t halves[2];
  };
  switch (element_size) {
    case 1: return gather_line<Index, std::uint8_t>;
    case 2: return gather_line<Index, std::uint16_t>;
    case 4: return gather_line<Index, std::uint32_t>;
    case 8: return gather_line<Index, std::uint64_t>;
    default: return gather_line<Index, Wide>;
  }
}

}  // namespace

long gather_along(const GatherAlong& g, ThreadPool& pool) {
  TENON_CHECK(g.index_dtype == DType::i32 || g.index_dtype == DType::i64);
  TENON_CHECK(g.rank > 0 && g.rank <= GatherAlong::max_rank && g.dim >= 0 && g.dim < g.rank);
  const auto inner = static_cast<std::size_t>(g.rank - 1), dim = static_cast<std::size_t>(g.dim);
  const bool is_wide = g.index_dtype == DType::i64;
  const auto gather =
      is_wide ? gather_line_of<std::int64_t>(g.element_size) : gather_line_of<std::int32_t>(g.element_size);
  const long index_size = is_wide ? 8 : 4, size = static_cast<long>(g.element_size);
  const Line shape{.count = g.dims[inner],
                   .table_step = dim == inner ? 0 : g.table_strides[inner],
                   .index_step = g.index_strides[inner],
                   .out_step = g.out_strides[inner],
                   .extent = g.table_extent,
                   .extent_stride = g.table_strides[dim],
                   .wrap_negative = g.wrap_negative};
  long rows = 1;
  for (std::size_t d = 0; d < inner; ++d) rows *= g.dims[d];
  if (rows == 0 || shape.count == 0) return -1;
  FirstBad bad;
  const long per_chunk = std::max(1L, bytes_per_chunk / 16 / shape.count);
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      long table = 0, indices = 0, out = 0, rest = row;
      for (std::size_t d = inner; d-- > 0; rest /= g.dims[d]) {
        const long at = rest % g.dims[d];
        if (d != dim) table += at * g.table_strides[d];
        indices += at * g.index_strides[d];
        out += at * g.out_strides[d];
      }
      Line line = shape;
      line.table = static_cast<const std::byte*>(g.table) + table * size;
      line.indices = static_cast<const std::byte*>(g.indices) + indices * index_size;
      line.out = static_cast<std::byte*>(g.out) + out * size;
      const long wrong = gather(line);
      if (wrong >= 0) bad.report(row * shape.count + wrong);
    }
  });
  return bad.result();
}

}  // namespace tenon::cpu
