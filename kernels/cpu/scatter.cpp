// Scatters: one element after the other, columns shared out to threads.
#include "kernels/cpu/scatter.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>

#include "base/error.h"
#include "base/fold.h"
#include "kernels/cpu/first_bad.h"
#include "kernels/cpu/scatter_joins.h"

namespace tenon::cpu {
namespace {

/// The columns [first, last) of the inner dim, at the places [outer, end) of the outer one: several where
/// columns are whole. `counts`: room for one of each element of a place, where sums are averaged. `wide`:
/// room for all places, where few of them are widened.
struct Part {
  long outer, end, first, last;
  long* counts;
  float* wide;
};

/// Keeps the last value.
template <class T>
struct Replace {
  static T identity() { return T{}; }
  static T join(T, T b) { return b; }
};

/// Without a branch: which one it is is not to be foreseen.
template <class T>
T chosen(bool first, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;  // of f32 or f64
  const Bits mask = Bits{0} - Bits{first};
  return std::bit_cast<T>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
}

/// Joins as a fold does, one step at a time.
template <class T, Reduce R>
struct Joined {
  static T identity() {
    if constexpr (R == Reduce::sum || R == Reduce::prod) return R == Reduce::prod;
    return R == Reduce::max ? reduce_detail::lowest<T>() : reduce_detail::highest<T>();
  }
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T> && R == Reduce::max) return chosen(a != a, a, a > b ? a : b);
    if constexpr (std::is_floating_point_v<T> && R == Reduce::min) return chosen(a != a, a, a < b ? a : b);
    return joined<R>(a, b);
  }
};

template <class Join, class T>
void join_run(T* __restrict to, const T* __restrict from, long count, long stride) {
  if (stride == 1) {
    for (long i = 0; i < count; ++i) to[i] = Join::join(to[i], from[i]);
  } else {
    for (long i = 0; i < count; ++i) to[i] = Join::join(to[i], from[i * stride]);
  }
}

/// The place that an index names; one that names none is behind the last place.
std::uint64_t place_of(const Scatter& s, std::int64_t index) {
  return static_cast<std::uint64_t>(s.from_end && index < 0 ? index + s.extent : index);
}
constexpr long most_counted = 1024;  // places, whose tables are in L1
bool has_place(const Scatter& s, std::uint64_t place) { return place < static_cast<std::uint64_t>(s.extent); }

template <class T>
void fill(T* to, T number, std::size_t count) {
  constexpr T zero{};
  if (std::memcmp(&number, &zero, sizeof(T)) == 0)
    std::memset(static_cast<void*>(to), 0, count * sizeof(T));
  else
    std::fill_n(to, count, number);
}

/// The columns of a part as they are before anything is written.
template <class T>
void begin_part(const Scatter& s, const Part& part) {
  const auto* const x = static_cast<const T*>(s.x);
  const auto bring = [&](long first, long count) {
    T* const to = static_cast<T*>(s.out) + first;
    const auto elements = static_cast<std::size_t>(count);
    if (s.x_is_one)
      fill(to, *x, elements);
    else
      std::memcpy(to, x + first, elements * sizeof(T));
  };
  const long first_row = part.outer * s.extent, last_row = part.end * s.extent;
  if (part.last - part.first == s.inner) return bring(first_row * s.inner, (last_row - first_row) * s.inner);
  for (long r = first_row; r < last_row; ++r) bring(r * s.inner + part.first, part.last - part.first);
}

/// Adds one integer for each index, which it counts first, in several tables: where indices are often equal,
/// no sum waits for the one before. Returns the first index that names no place, or -1.
template <class T, class Index>
long add_counted(const Scatter& s, const Index* indices, T number, T* out) {
  constexpr long tables = 4;
  std::uint32_t counts[tables][most_counted];
  for (auto& table : counts) std::fill_n(table, s.extent, 0);
  const auto counts_all = [&](long e, auto together) {
    std::uint64_t rows[together];
    bool all_fit = true;
    for (long t = 0; t < together; ++t) all_fit &= has_place(s, rows[t] = place_of(s, indices[e + t]));
    if (!all_fit) [[unlikely]]
      return false;
    for (long t = 0; t < together; ++t) ++counts[t][rows[t]];
    return true;
  };
  const long whole = s.count / tables * tables;
  long e = 0;
  while (e < whole && counts_all(e, std::integral_constant<long, tables>())) e += tables;
  while (e < s.count && counts_all(e, std::integral_constant<long, 1>())) ++e;
  if (e < s.count) return e;
  for (long r = 0; r < s.extent; ++r) {
    std::uint64_t count = 0;
    for (const auto& table : counts) count += table[r];
    out[r] = static_cast<T>(static_cast<std::uint64_t>(out[r]) + count * static_cast<std::uint64_t>(number));
  }
  return -1;
}
bool is_counted(const Scatter& s) {
  return s.extent <= most_counted && s.count >= 4 * s.extent && s.count < std::int64_t{1} << 32 &&
         s.index_strides[1] == 1;
}

/// One column of elements; returns the first index that names no place, or -1.
template <class Join, class T, class Index>
long scatter_elements(const Scatter& s, const Index* indices, auto element, T* out) {
  const long step = s.index_strides[1];
  for (long e = 0; e < s.count; ++e) {
    const std::uint64_t row = place_of(s, indices[e * step]);
    if (!has_place(s, row)) [[unlikely]]
      return e;
    out[row] = Join::join(out[row], element(e));
  }
  return -1;
}
template <class Join, class T, class Index>
long scatter_number(const Scatter& s, const Index* indices, T number, T* out) {
  if constexpr (std::is_integral_v<T> && std::is_same_v<Join, Joined<T, Reduce::sum>>)
    if (is_counted(s)) return add_counted(s, indices, number, out);
  return scatter_elements<Join>(
      s, indices, [=](long) { return number; }, out);
}

/// The slabs of a part that have one column.
template <class T, class Index, class Join>
void scatter_columns(const Scatter& s, const Part& part, FirstBad& bad) {
  const auto* indices = static_cast<const Index*>(s.indices) + part.outer * s.index_strides[0];
  const auto* src = static_cast<const T*>(s.src) + part.outer * s.src_strides[0];
  T* out = static_cast<T*>(s.out) + part.outer * s.extent;
  const long step = s.src_strides[1];
  for (long o = part.outer; o < part.end; ++o) {
    const long wrong = step == 0 && s.count > 0 ? scatter_number<Join>(s, indices, *src, out)
                                                : scatter_elements<Join>(
                                                      s, indices, [=](long e) { return src[e * step]; }, out);
    if (wrong >= 0) [[unlikely]]
      bad.report(o * s.count + wrong);
    indices += s.index_strides[0];
    src += s.src_strides[0];
    out += s.extent;
  }
}

/// Calls visit(to, from, count) for the elements that each index serves: from `to` on in the slab of out,
/// from `from` on in that of src. Where an index names no place, it is reported, and the rest left out.
template <class Index, class Visit>
bool for_each_run(const Scatter& s, const Part& part, long outer, FirstBad& bad, Visit visit) {
  const auto* const indices = static_cast<const Index*>(s.indices) + outer * s.index_strides[0];
  const long run = s.index_strides[2] == 0 ? part.last - part.first : 1;
  for (long e = 0; e < s.count; ++e) {
    for (long i = part.first; i < part.last; i += run) {
      const std::uint64_t row = place_of(s, indices[e * s.index_strides[1] + i * s.index_strides[2]]);
      if (!has_place(s, row)) [[unlikely]] {
        bad.report((outer * s.count + e) * s.inner + i);
        return false;
      }
      visit(static_cast<long>(row) * s.inner + i, e * s.src_strides[1] + i * s.src_strides[2], run);
    }
  }
  return true;
}

template <class T, class Index, class Join>
void scatter_slab(const Scatter& s, const Part& part, long outer, FirstBad& bad) {
  auto* const out = static_cast<T*>(s.out) + outer * s.extent * s.inner;
  const auto* const src = static_cast<const T*>(s.src) + outer * s.src_strides[0];
  const auto* const indices = static_cast<const Index*>(s.indices) + outer * s.index_strides[0];
  const auto inner = static_cast<std::uint64_t>(s.inner);
  const bool whole_rows = s.index_strides[2] == 0;  // one index for all columns
  if (!whole_rows && s.include_self) {
    const auto [outer_step, step, column_step] = s.index_strides;
    const auto [outer_src_step, src_step, src_column_step] = s.src_strides;
    for (long e = 0; e < s.count; ++e)
      for (long i = part.first; i < part.last; ++i) {
        const std::uint64_t row = place_of(s, indices[e * step + i * column_step]);
        if (!has_place(s, row)) [[unlikely]]
          return bad.report((outer * s.count + e) * s.inner + i);
        T& to = out[row * inner + static_cast<std::uint64_t>(i)];
        to = Join::join(to, src[e * src_step + i * src_column_step]);
      }
    return;
  }
  const auto visit_runs = [&](auto visit) { for_each_run<Index>(s, part, outer, bad, visit); };
  if (!s.include_self)
    visit_runs([&](long to, long, long run) { std::fill_n(out + to, run, Join::identity()); });
  constexpr long few = 8;  // joined before a vector's loop would begin
  if (s.join && whole_rows && part.last - part.first > few && s.src_strides[2] == 1) {
    const RowJoin join = row_join(s.dtype, *s.join);
    return visit_runs([&](long to, long from, long run) { join(out + to, src + from, run); });
  }
  visit_runs(
      [&](long to, long from, long run) { join_run<Join>(out + to, src + from, run, s.src_strides[2]); });
}

template <class T, class Index, class Join>
void scatter_part(const Scatter& scatter, const Part& part, FirstBad& bad) {
  const Scatter s = scatter;  // what is written may not lie here
  begin_part<T>(s, part);
  if (s.inner == 1 && s.include_self) return scatter_columns<T, Index, Join>(s, part, bad);
  for (long o = part.outer; o < part.end; ++o) scatter_slab<T, Index, Join>(s, part, o, bad);
}

/// Of 16-bit floats: what indices name is widened, joined, and rounded. The wide places lie as all places do,
/// in memory of which the others are not touched.
template <class T, class Index, class Join>
void scatter_few(const Scatter& scatter, const Part& part, FirstBad& bad) {
  const Scatter s = scatter;  // what is written may not lie here
  begin_part<std::uint16_t>(s, part);
  for (long o = part.outer; o < part.end; ++o) {
    T* const out = static_cast<T*>(s.out) + o * s.extent * s.inner;
    float* const wide = part.wide + o * s.extent * s.inner;
    const T* const src = static_cast<const T*>(s.src) + o * s.src_strides[0];
    const long step = s.src_strides[2];
    const bool all_fit = for_each_run<Index>(s, part, o, bad, [&](long to, long, long run) {
      for (long i = to; i < to + run; ++i) wide[i] = s.include_self ? float{out[i]} : Join::identity();
    });
    if (!all_fit) continue;
    for_each_run<Index>(s, part, o, bad, [&](long to, long from, long run) {
      for (long i = 0; i < run; ++i) wide[to + i] = Join::join(wide[to + i], src[from + i * step]);
    });
    for_each_run<Index>(s, part, o, bad, [&](long to, long, long run) {
      for (long i = to; i < to + run; ++i) out[i] = wide[i];
    });
  }
}

/// Towards minus infinity, of integers. Those that a double holds are divided so, which vectors can.
template <class T>
T mean_of(T total, long count) {
  if constexpr (std::is_floating_point_v<T>) {
    return total / static_cast<T>(count);
  } else if constexpr (sizeof(T) < 4) {
    const int quotient = static_cast<int>(static_cast<double>(total) / static_cast<double>(count));
    return static_cast<T>(quotient - (quotient * count > total));
  } else {
    return static_cast<T>(total / count - (total % count < 0 ? 1 : 0));
  }
}

/// Divides the sums of a slab whose indices are known to be right. Where an index serves whole rows, so does
/// the count of its first column.
template <class T, class Index>
void average_slab(const Scatter& s, const Part& part, long outer) {
  const bool whole_rows = s.index_strides[2] == 0;
  const long width = part.last - part.first, counted = whole_rows ? 1 : width;
  std::fill_n(part.counts, s.extent * counted, s.include_self ? 1 : 0);
  const auto* const indices = static_cast<const Index*>(s.indices) + outer * s.index_strides[0];
  for (long e = 0; e < s.count; ++e)
    for (long i = 0; i < counted; ++i) {
      const Index index = indices[e * s.index_strides[1] + (part.first + i) * s.index_strides[2]];
      ++part.counts[static_cast<long>(place_of(s, index)) * counted + i];
    }
  auto* sums = static_cast<T*>(s.out) + outer * s.extent * s.inner + part.first;
  const long* counts = part.counts;
  for (long r = 0; r < s.extent; ++r, sums += s.inner, counts += counted) {
    if (whole_rows && *counts > 1) {
      const long count = *counts;
      for (long i = 0; i < width; ++i) sums[i] = mean_of(sums[i], count);
    } else if (!whole_rows) {
      for (long i = 0; i < width; ++i)
        if (counts[i] > 1) sums[i] = mean_of(sums[i], counts[i]);
    }
  }
}

bool widens_few(const Scatter& s) { return s.join && !s.averages && can_join_few(s.dtype); }

using ScatterPart = void (*)(const Scatter&, const Part&, FirstBad&);

template <class T, class Index>
ScatterPart joining_part_of_few(Reduce join) {
  return dispatch_join(DType::f32, join, []<class Wide, Reduce R>() -> ScatterPart {
    if constexpr (std::is_same_v<Wide, float>) return scatter_few<T, Index, Joined<Wide, R>>;
    return nullptr;
  });
}
template <class Index>
ScatterPart joining_part(const Scatter& s) {
  if (s.dtype == DType::f16) return joining_part_of_few<Half, Index>(*s.join);
  if (s.dtype == DType::bf16) return joining_part_of_few<BFloat16, Index>(*s.join);
  return dispatch_join(s.dtype, *s.join, []<class T, Reduce R>() -> ScatterPart {
    return scatter_part<T, Index, Joined<T, R>>;
  });
}
template <class Index>
ScatterPart replacing_part(const Scatter& s) {
  switch (size_of(s.dtype)) {
    case 1: return scatter_part<std::uint8_t, Index, Replace<std::uint8_t>>;
    case 2: return scatter_part<std::uint16_t, Index, Replace<std::uint16_t>>;
    case 4: return scatter_part<std::uint32_t, Index, Replace<std::uint32_t>>;
    case 8: return scatter_part<std::uint64_t, Index, Replace<std::uint64_t>>;
    default: return scatter_part<std::complex<double>, Index, Replace<std::complex<double>>>;
  }
}
template <class Index>
void average(const Scatter& s, const Part& part) {
  dispatch_real(s.dtype, [&]<class T>(dtype_tag<T>) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      for (long o = part.outer; o < part.end; ++o) average_slab<T, Index>(s, part, o);
  });
}

/// What works on a part, and what divides its sums then.
struct Parts {
  ScatterPart run;
  void (*divide)(const Scatter&, const Part&);
};
template <class Index>
Parts parts_of(const Scatter& s) {
  return {s.join ? joining_part<Index>(s) : replacing_part<Index>(s), average<Index>};
}
Parts parts_of(const Scatter& s) {
  TENON_CHECK(s.index_dtype == DType::i32 || s.index_dtype == DType::i64);
  TENON_CHECK(s.join ? can_join(s.dtype) || widens_few(s) : can_replace(s.dtype));
  return s.index_dtype == DType::i32 ? parts_of<std::int32_t>(s) : parts_of<std::int64_t>(s);
}

/// Of a row, for so many threads.
long parts_of_row(const Scatter& s, int threads) {
  constexpr long fewest_columns = 16;  // of a part: a line of the cache
  return std::clamp<long>(s.inner / fewest_columns, 1, threads);
}
/// So many that the call of a part is little beside its work.
long slabs_together(const Scatter& s) {
  constexpr long elements = 4096;
  return std::max(1L, elements / std::max(1L, (s.extent + s.count) * s.inner));
}
/// Those of a part.
long most_counts(const Scatter& s, int threads) {
  const long parts = parts_of_row(s, threads);
  return s.averages ? s.extent * ((s.inner + parts - 1) / parts) : 0;
}

}  // namespace

std::size_t scatter_scratch_size(const Scatter& s, int threads) {
  if (widens_few(s)) return static_cast<std::size_t>(s.outer * s.extent * s.inner) * sizeof(float);
  return static_cast<std::size_t>(threads * most_counts(s, threads)) * sizeof(long);
}

long scatter(const Scatter& s, void* scratch, ThreadPool& pool) {
  const long parts = parts_of_row(s, pool.threads()), counts = most_counts(s, pool.threads());
  const long together = parts == 1 ? slabs_together(s) : 1;
  const Parts work = parts_of(s);
  FirstBad bad;
  pool.parallel_for((s.outer + together - 1) / together * parts, [&](long part, int worker) {
    const long column = part % parts, first = part / parts * together;
    const Part columns{.outer = first,
                       .end = std::min(s.outer, first + together),
                       .first = s.inner * column / parts,
                       .last = s.inner * (column + 1) / parts,
                       .counts = static_cast<long*>(scratch) + worker * counts,
                       .wide = static_cast<float*>(scratch)};
    work.run(s, columns, bad);
    if (s.averages && bad.result() < 0) work.divide(s, columns);
  });
  return bad.result();
}

}  // namespace tenon::cpu
