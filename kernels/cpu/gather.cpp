// Gathers: plain copies around a bounds check.
#include "kernels/cpu/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernels/cpu/first_bad.h"

namespace tenon::cpu {
namespace {

constexpr long bytes_per_chunk = 1 << 15;
constexpr long columns_at_once = 1024, piece_columns = 64;
constexpr long line_size = 64;

/// An index of [-extent, extent) counted from the start, where negative ones count from the end.
template <bool Wraps>
std::int64_t from_start(std::int64_t index, long extent) {
  return Wraps && index < 0 ? index + extent : index;
}
bool is_inside(std::int64_t index, long extent) {
  return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
}

/// The first of n indices, `step` elements apart, that is out of range.
template <bool Wraps, class Index>
long first_outside(const Index* indices, long step, long n, long extent) {
  long i = 0;
  while (i < n && is_inside(from_start<Wraps>(indices[i * step], extent), extent)) ++i;
  return i;
}

/// out[i] = table[indices[i]] of single elements. Returns -1, or the first index out of range; what out holds
/// then is not said. Checks while it reads, without a branch.
template <class T, class Index, bool Wraps>
long gather_elements_as(const T* table, const Index* indices, T* out, long n, long extent) {
  if (n == 0) return -1;
  if (extent == 0) return 0;
  bool is_wrong = false;
  for (long i = 0; i < n; ++i) {
    const std::int64_t index = from_start<Wraps>(indices[i], extent);
    const bool fits = is_inside(index, extent);
    is_wrong |= !fits;
    out[i] = table[fits ? index : 0];
  }
  return is_wrong ? first_outside<Wraps>(indices, 1, n, extent) : -1;
}
template <class T, class Index>
long gather_elements(const T* table, const Index* indices, T* out, long n, long extent, bool wraps) {
  return wraps ? gather_elements_as<T, Index, true>(table, indices, out, n, extent)
               : gather_elements_as<T, Index, false>(table, indices, out, n, extent);
}

/// The pieces that rows are copied in: glibc copies more from their ends where they begin at the same place
/// of a page, which takes up to 1.5 times as long.
long piece_of_row(long bytes) {
  constexpr long most = 512, many_bytes = 8192;
  return bytes <= most || bytes > many_bytes ? bytes : most;
}

/// Rows of the table with these numbers: of one outer place, those of the indices [first, last). Returns -1,
/// or the first index out of range. Bytes: of a row, where they are a few.
template <class Index, bool Wraps, long Bytes>
long copy_rows_as(const GatherRows& g, long outer, long first, long last) {
  const auto* const indices = static_cast<const Index*>(g.indices);
  const auto* const table = static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride;
  auto* to = static_cast<std::byte*>(g.out) + outer * g.out_outer_stride + first * g.out_stride;
  const long piece = piece_of_row(g.row_bytes);
  long wrong = -1;
  for (long i = first; i < last; ++i, to += g.out_stride) {
    const std::int64_t index = from_start<Wraps>(indices[i], g.table_rows);
    if (Bytes > 0 && is_inside(index, g.table_rows))
      std::memcpy(to, table + index * g.table_stride, Bytes);
    else if (is_inside(index, g.table_rows))
      for (long at = 0; at < g.row_bytes; at += piece)
        std::memcpy(to + at, table + index * g.table_stride + at,
                    static_cast<std::size_t>(std::min(piece, g.row_bytes - at)));
    else if (wrong < 0)
      wrong = i;
  }
  return wrong;
}
template <class Index, long Bytes = 0>
long copy_rows(const GatherRows& g, long outer, long first, long last) {
  return g.wrap_negative ? copy_rows_as<Index, true, Bytes>(g, outer, first, last)
                         : copy_rows_as<Index, false, Bytes>(g, outer, first, last);
}
/// The same of rows of one element that lie side by side.
template <class T, class Index>
long copy_elements(const GatherRows& g, long outer, long first, long last) {
  const auto* const table = static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride;
  auto* const out = static_cast<std::byte*>(g.out) + outer * g.out_outer_stride;
  const long wrong =
      gather_elements(reinterpret_cast<const T*>(table), static_cast<const Index*>(g.indices) + first,
                      reinterpret_cast<T*>(out) + first, last - first, g.table_rows, g.wrap_negative);
  return wrong < 0 ? -1 : first + wrong;
}

using CopyRows = long (*)(const GatherRows&, long outer, long first, long last);
template <class Index>
CopyRows copy_rows_of(const GatherRows& g) {
  if (g.table_stride != g.row_bytes || g.out_stride != g.row_bytes) {
    switch (g.row_bytes) {
      case 4: return copy_rows<Index, 4>;
      case 8: return copy_rows<Index, 8>;
      default: return copy_rows<Index>;
    }
  }
  switch (g.row_bytes) {
    case 1: return copy_elements<std::uint8_t, Index>;
    case 2: return copy_elements<std::uint16_t, Index>;
    case 4: return copy_elements<std::uint32_t, Index>;
    case 8: return copy_elements<std::uint64_t, Index>;
    default: return copy_rows<Index>;
  }
}

/// Elements with the numbers [first, last) of the outer places [outer, end): the indices are checked once for
/// all of them.
template <class T, class Index, bool Wraps>
long copy_columns_as(const GatherRows& g, long outer, long end, long first, long last) {
  std::uint32_t places[columns_at_once];
  const auto* const indices = static_cast<const Index*>(g.indices) + first;
  const long wrong = first_outside<Wraps>(indices, 1, last - first, g.table_rows);
  if (wrong < last - first) return first + wrong;
  for (long i = 0; i < last - first; ++i)
    places[i] = static_cast<std::uint32_t>(from_start<Wraps>(indices[i], g.table_rows));
  // Where most lines of a table are read, those of the next one are asked for meanwhile: hardware does not
  // foresee them.
  const long count = last - first, lines = g.table_rows * static_cast<long>(sizeof(T)) / line_size;
  const long ahead = lines <= count ? (lines * piece_columns + count - 1) / count : 0;
  for (; outer < end; ++outer) {
    const auto* const memory = static_cast<const std::byte*>(g.table) + outer * g.table_outer_stride;
    const auto* const table = reinterpret_cast<const T*>(memory);
    const auto* const next = memory + (outer + 1 < end ? g.table_outer_stride : 0);
    auto* const out =
        reinterpret_cast<T*>(static_cast<std::byte*>(g.out) + outer * g.out_outer_stride) + first;
    for (long piece = 0, line = 0; piece < count; piece += piece_columns) {
      for (const long until = std::min(lines, line + ahead); line < until; ++line)
        __builtin_prefetch(next + line * line_size);
      const long stop = std::min(count, piece + piece_columns);
      for (long i = piece; i < stop; ++i) out[i] = table[places[i]];
    }
  }
  return -1;
}
template <class T, class Index>
long copy_columns(const GatherRows& g, long outer, long end, long first, long last) {
  return g.wrap_negative ? copy_columns_as<T, Index, true>(g, outer, end, first, last)
                         : copy_columns_as<T, Index, false>(g, outer, end, first, last);
}

using CopyColumns = long (*)(const GatherRows&, long outer, long end, long first, long last);
/// None where rows are no single elements, or lie at one outer place.
template <class Index>
CopyColumns copy_columns_of(const GatherRows& g) {
  const bool lie_dense = g.table_stride == g.row_bytes && g.out_stride == g.row_bytes;
  if (g.outer == 1 || !lie_dense || g.table_rows > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  switch (g.row_bytes) {
    case 1: return copy_columns<std::uint8_t, Index>;
    case 2: return copy_columns<std::uint16_t, Index>;
    case 4: return copy_columns<std::uint32_t, Index>;
    case 8: return copy_columns<std::uint64_t, Index>;
    default: return nullptr;
  }
}

long gather_columns(const GatherRows& g, CopyColumns copy, ThreadPool& pool) {
  const long parts = (g.count + columns_at_once - 1) / columns_at_once;
  const long outer_at_once = std::max(1L, bytes_per_chunk / 2 / std::min(g.count, columns_at_once));
  FirstBad bad;
  pool.parallel_for((g.outer + outer_at_once - 1) / outer_at_once * parts, [&](long chunk, int) {
    const long outer = chunk / parts * outer_at_once, first = chunk % parts * columns_at_once;
    const long wrong = copy(g, outer, std::min(g.outer, outer + outer_at_once), first,
                            std::min(g.count, first + columns_at_once));
    if (wrong >= 0) bad.report(wrong);
  });
  return bad.result();
}

}  // namespace

long gather_rows(const GatherRows& g, ThreadPool& pool) {
  TENON_CHECK(g.index_dtype == DType::i32 || g.index_dtype == DType::i64);
  const CopyColumns columns =
      g.index_dtype == DType::i32 ? copy_columns_of<std::int32_t>(g) : copy_columns_of<std::int64_t>(g);
  if (columns && g.count > 0) return gather_columns(g, columns, pool);
  const CopyRows copy =
      g.index_dtype == DType::i32 ? copy_rows_of<std::int32_t>(g) : copy_rows_of<std::int64_t>(g);
  const long rows = g.outer * g.count;
  const long per_chunk = std::max(1L, bytes_per_chunk / std::max(16L, g.row_bytes));
  FirstBad bad;
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    const long end = std::min(rows, (chunk + 1) * per_chunk);
    for (long row = chunk * per_chunk; row < end;) {
      const long first = row % g.count, last = std::min(g.count, first + end - row);
      const long wrong = copy(g, row / g.count, first, last);
      if (wrong >= 0) bad.report(wrong);
      row += last - first;
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

/// Returns -1, or the first point whose index is out of range.
template <class Index, class T, bool Wraps>
long gather_line_as(const Line& line) {
  const auto* const indices = static_cast<const Index*>(line.indices);
  const auto* const table = static_cast<const T*>(line.table);
  auto* const out = static_cast<T*>(line.out);
  if (line.extent_stride == 1 && line.table_step == 0 && line.index_step == 1 && line.out_step == 1)
    return gather_elements_as<T, Index, Wraps>(table, indices, out, line.count, line.extent);
  for (long c = 0; c < line.count; ++c) {
    const std::int64_t index = from_start<Wraps>(indices[c * line.index_step], line.extent);
    if (!is_inside(index, line.extent)) return c;
    out[c * line.out_step] = table[c * line.table_step + index * line.extent_stride];
  }
  return -1;
}
template <class Index, class T>
long gather_line(const Line& line) {
  return line.wrap_negative ? gather_line_as<Index, T, true>(line) : gather_line_as<Index, T, false>(line);
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
