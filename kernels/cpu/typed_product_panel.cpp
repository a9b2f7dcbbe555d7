// Columns of products in float64 and integers. Few rows and small products read B as it lies: dot products
// along contiguous columns, sums of contiguous rows. Others take A and B packed, tile by tile in registers.
// Built once per ISA.
#include "kernels/cpu/typed_product_panel.h"

#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp: target[c][r] = source[r][c].
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);
void transpose_block_u64(long rows, long cols, const std::uint64_t* source, long source_stride,
                         std::uint64_t* target, long target_stride);

namespace {

template <class T>
struct Vectors : Lanes<T> {
  static TENON_INLINE T sum(typename Lanes<T>::V v) {
    T total = v[0];
    TENON_UNROLL
    for (int i = 1; i < Lanes<T>::count; i++) total = add(total, v[i]);
    return total;
  }
  /// Integers wrap around.
  static TENON_INLINE T add(T a, T b) {
    T result = a;
    if constexpr (static_cast<T>(0.5) != 0) {
      result = a + b;
    } else {
      __builtin_add_overflow(a, b, &result);
    }
    return result;
  }
  static TENON_INLINE T product(T a, T b) {
    T result = a;
    if constexpr (static_cast<T>(0.5) != 0) {
      result = a * b;
    } else {
      __builtin_mul_overflow(a, b, &result);
    }
    return result;
  }
};

template <long N>
struct Count {
  static constexpr long value = N;
};

constexpr int few_rows = 3;
constexpr int columns_at_once = 4;  // of dot products
constexpr int typed_tile_rows = vector_registers == 32 ? 12 : 6;
static_assert(typed_tile_rows <= typed_most_rows);

/// `Columns` dot products of a row of A with columns of B that are contiguous.
template <class T, int Columns>
static TENON_INLINE void dots(const TypedProduct<T>& p, long m, long n) {
  using W = Vectors<T>;
  typename W::V sum[Columns][2] = {};
  const T* a = p.a + m * p.a_row;
  const T* b = p.b + n * p.b_column;
  long k = 0;
  for (; k + 2 * W::count <= p.K; k += 2 * W::count) {
    const typename W::V x = W::load(a + k), y = W::load(a + k + W::count);
    TENON_UNROLL
    for (int j = 0; j < Columns; j++) {
      sum[j][0] += x * W::load(b + j * p.b_column + k);
      sum[j][1] += y * W::load(b + j * p.b_column + k + W::count);
    }
  }
  TENON_UNROLL
  for (int j = 0; j < Columns; j++) {
    T total = W::sum(sum[j][0] + sum[j][1]);
    for (long rest = k; rest < p.K; rest++)
      total = W::add(total, W::product(a[rest], b[j * p.b_column + rest]));
    p.c[m * p.c_row + n + j] = p.bias ? W::add(total, p.bias[(n + j) * p.bias_step]) : total;
  }
}

/// Columns [first, last) of a row of C: rows of B that are contiguous, several at once, times elements of A.
template <class T>
static void sum_of_rows(const TypedProduct<T>& p, long m, long first, long last) {
  using W = Vectors<T>;
  constexpr long at_once = 8;
  T* const c = p.c + m * p.c_row;
  for (long n = first; n < last; n++) c[n] = p.bias ? p.bias[n * p.bias_step] : T{};
  const auto add_rows = [&](auto count, long k) __attribute__((always_inline)) {
    const T *a = p.a + m * p.a_row + k * p.a_column, *b = p.b + k * p.b_row;
    long n = first;
    for (; n + W::count <= last; n += W::count) {
      typename W::V sum = W::load(c + n);
      TENON_UNROLL
      for (long i = 0; i < count.value; i++) sum += a[i * p.a_column] * W::load(b + i * p.b_row + n);
      W::store(c + n, sum);
    }
    for (; n < last; n++)
      for (long i = 0; i < count.value; i++)
        c[n] = W::add(c[n], W::product(a[i * p.a_column], b[i * p.b_row + n]));
  };
  long k = 0;
  for (; k + at_once <= p.K; k += at_once) add_rows(Count<at_once>{}, k);
  for (; k < p.K; k++) add_rows(Count<1>{}, k);
}

/// target[c][r] = source[r][c]
template <class T>
static TENON_INLINE void transposed(long rows, long cols, const T* source, long source_stride, T* target,
                                    long target_stride) {
  if constexpr (sizeof(T) == 8)
    transpose_block_u64(rows, cols, reinterpret_cast<const std::uint64_t*>(source), source_stride,
                        reinterpret_cast<std::uint64_t*>(target), target_stride);
  else
    transpose_block(rows, cols, reinterpret_cast<const float*>(source), source_stride,
                    reinterpret_cast<float*>(target), target_stride);
}

/// A tile's rows of A, [depth][Rows], or their negatives.
template <class T, int Rows>
static TENON_INLINE void pack_rows(const TypedProduct<T>& p, long m, long k, long depth, bool negative,
                                   T* to) {
  const T* a = p.a + m * p.a_row + k * p.a_column;
  if (p.a_column == 1) {
    transposed(Rows, depth, a, p.a_row, to, Rows);
  } else {
    for (long d = 0; d < depth; d++, a += p.a_column) {
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) to[d * Rows + i] = a[i * p.a_row];
    }
  }
  if (negative)
    for (long i = 0; i < depth * Rows; i++) to[i] = -to[i];
}

/// Rows of B, and where its panels of columns lie.
template <class T>
struct Panels {
  long first, last;  // columns
  long k, depth;
  const T* b;
  long row, next;  // from row to row, from panel to panel
  T* a;            // room for a tile's rows of A
  bool subtracts;
};

/// `Rows` rows of the product, panel by panel of 2 vectors; added to what c holds unless it is the first
/// block of a product that subtracts nothing.
template <class T, int Rows>
static __attribute__((noinline)) void row_tile(const TypedProduct<T>& p, long m, const Panels<T>& panels) {
  using W = Vectors<T>;
  using V = typename W::V;
  constexpr long wide = 2 * W::count;
  pack_rows<T, Rows>(p, m, panels.k, panels.depth, panels.subtracts, panels.a);
  const T* b_panel = panels.b;
  for (long n = panels.first; n < panels.last; n += wide, b_panel += panels.next) {
    const long columns = panels.last - n < wide ? panels.last - n : wide;
    V sum[Rows][2];
    T edge[Rows][wide];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const T* from = panels.k > 0 || panels.subtracts ? p.c + (m + i) * p.c_row + n
                      : p.bias                         ? p.bias + n
                                                       : nullptr;
      if (from && columns < wide) {
        for (long j = 0; j < wide; j++) edge[i][j] = j < columns ? from[j] : T{};
        from = edge[i];
      }
      sum[i][0] = from ? W::load(from) : V{};
      sum[i][1] = from ? W::load(from + W::count) : V{};
    }
    const T *a = panels.a, *b = b_panel;
    for (long d = 0; d < panels.depth; d++, a += Rows, b += panels.row) {
      const V x = W::load(b), y = W::load(b + W::count);
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        const V factor = a[i] - V{};
        sum[i][0] += factor * x;
        sum[i][1] += factor * y;
      }
    }
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      T* c = p.c + (m + i) * p.c_row + n;
      if (columns == wide) {
        W::store(c, sum[i][0]);
        W::store(c + W::count, sum[i][1]);
      } else {
        W::store(edge[i], sum[i][0]);
        W::store(edge[i] + W::count, sum[i][1]);
        for (long j = 0; j < columns; j++) c[j] = edge[i][j];
      }
    }
  }
}

// Of a small product's tile: at least eight sums, since each waits four cycles for the one before.
constexpr int small_rows = vector_registers == 32 ? 8 : 6;
constexpr int small_vectors = vector_registers == 32 ? 3 : 2;

/// Rows and columns of a small product: [m, m + Rows) and [n, n + columns), of at most `Vectors` vectors.
template <class T, int Rows, int Vectors>
static __attribute__((noinline)) void small_tile(const TypedProduct<T>& p, long m, long n, long columns) {
  using W = Lanes<T>;
  using V = typename W::V;
  const long last = columns - (Vectors - 1) * W::count;
  const auto load = [&](const T* from, int v) __attribute__((always_inline)) {
    return v == Vectors - 1 ? W::load_first(from + v * W::count, last) : W::load(from + v * W::count);
  };
  V sum[Rows][Vectors];
  TENON_UNROLL
  for (int v = 0; v < Vectors; v++) {
    const V first = p.bias ? load(p.bias + n, v) : V{};
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) sum[i][v] = first;
  }
  const T *a = p.a + m * p.a_row, *b = p.b + n;
  for (long k = 0; k < p.K; k++, a += p.a_column, b += p.b_row) {
    V row[Vectors];
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) row[v] = load(b, v);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const V factor = a[i * p.a_row] - V{};
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) sum[i][v] += factor * row[v];
    }
  }
  T* c = p.c + m * p.c_row + n;
  TENON_UNROLL
  for (int i = 0; i < Rows; i++, c += p.c_row) {
    TENON_UNROLL
    for (int v = 0; v < Vectors - 1; v++) W::store(c + v * W::count, sum[i][v]);
    W::store_first(c + (Vectors - 1) * W::count, sum[i][Vectors - 1], last);
  }
}

template <class T, int Vectors, int... I>
static TENON_INLINE void run_small_tile(const TypedProduct<T>& p, long m, long rows, long n, long columns,
                                        LaneList<I...>) {
  static constexpr decltype(&small_tile<T, 1, Vectors>) tiles[] = {small_tile<T, I + 1, Vectors>...};
  tiles[rows - 1](p, m, n, columns);
}

/// How many of `rest` rows or vectors the next tile has, so that the last ones have about as many.
static TENON_INLINE long next_part(long rest, long most) {
  return rest <= most ? rest : rest < 2 * most ? (rest + 1) / 2 : most;
}

/// All rows pass by columns of B that stay in the L1 cache.
template <class T>
static __attribute__((noinline)) void small_product(const TypedColumns<T>& call) {
  constexpr long lanes = Vectors<T>::count, cached = (32 << 10) / sizeof(T) / lanes;  // vectors
  const TypedProduct<T>& p = *call.product;
  const auto heights = typename MakeLaneList<small_rows>::type{};
  const long vectors = (call.last - call.first + lanes - 1) / lanes;
  long at_once = vectors;
  if (p.K * vectors > cached) at_once = cached / p.K > small_vectors ? cached / p.K : small_vectors;
  for (long begin = 0; begin < vectors; begin += at_once) {
    const long end = vectors - begin < at_once ? vectors : begin + at_once;
    for (long m = 0, rows = 0; m < p.M; m += rows) {
      rows = next_part(p.M - m, small_rows);
      for (long v = begin, wide = 0; v < end; v += wide) {
        wide = next_part(end - v, small_vectors);
        const long n = call.first + v * lanes, rest = call.last - n;
        const long columns = rest < wide * lanes ? rest : wide * lanes;
        if (wide == 1) {
          run_small_tile<T, 1>(p, m, rows, n, columns, heights);
        } else if (wide == 2) {
          run_small_tile<T, 2>(p, m, rows, n, columns, heights);
        } else if constexpr (small_vectors == 3) {
          run_small_tile<T, 3>(p, m, rows, n, columns, heights);
        }
      }
    }
  }
}

template <class T>
using RowTile = void (*)(const TypedProduct<T>&, long, const Panels<T>&);
template <class T, int... I>
static RowTile<T> row_tile_of(long rows, LaneList<I...>) {
  static constexpr RowTile<T> tiles[] = {row_tile<T, I + 1>...};
  return tiles[rows - 1];
}

/// Panels of B one behind the other, with zeros beyond the last column.
template <class T>
static void pack_columns(const TypedProduct<T>& p, const Panels<T>& panels, T* to) {
  using W = Vectors<T>;
  constexpr long wide = 2 * W::count;
  for (long n = panels.first; n < panels.last; n += wide) {
    const long columns = panels.last - n < wide ? panels.last - n : wide;
    const T* b = p.b + panels.k * p.b_row + n * p.b_column;
    if (p.b_row == 1 && columns == wide) {
      transposed(wide, panels.depth, b, p.b_column, to, wide);
      to += panels.depth * wide;
      continue;
    }
    for (long d = 0; d < panels.depth; d++, b += p.b_row, to += wide) {
      if (p.b_column == 1 && columns == wide) {
        W::store(to, W::load(b));
        W::store(to + W::count, W::load(b + W::count));
      } else {
        for (long j = 0; j < wide; j++) to[j] = j < columns ? b[j * p.b_column] : T{};
      }
    }
  }
}

template <class T>
static void product_columns(const TypedColumns<T>& call) {
  constexpr long wide = 2 * Vectors<T>::count;
  const TypedProduct<T>& p = *call.product;
  if (!call.subtracts && p.M <= few_rows && p.b_row == 1 && p.a_column == 1) {
    long n = call.first;
    for (; n + columns_at_once <= call.last; n += columns_at_once)
      for (long m = 0; m < p.M; m++) dots<T, columns_at_once>(p, m, n);
    for (; n < call.last; n++)
      for (long m = 0; m < p.M; m++) dots<T, 1>(p, m, n);
    return;
  }
  if (!call.subtracts && p.M == 1 && p.b_column == 1) return sum_of_rows(p, 0, call.first, call.last);
  if (!call.subtracts && p.is_small()) return small_product(call);
  const auto rows = typename MakeLaneList<typed_tile_rows>::type{};
  const bool in_place = p.b_column == 1 && p.M <= typed_tile_rows && (call.last - call.first) % wide == 0;
  Panels<T> panels{call.first,    call.last, 0, 0,
                   call.work,     wide,      0, call.work + typed_depth * typed_columns,
                   call.subtracts};
  for (; panels.k == 0 || panels.k < p.K; panels.k += typed_depth) {
    panels.depth = p.K - panels.k < typed_depth ? p.K - panels.k : typed_depth;
    panels.next = in_place ? wide : panels.depth * wide;
    if (in_place) {
      panels.b = p.b + panels.k * p.b_row + call.first;
      panels.row = p.b_row;
    } else {
      pack_columns(p, panels, call.work);
    }
    for (long m = 0; m < p.M; m += typed_tile_rows) {
      const long height = p.M - m < typed_tile_rows ? p.M - m : typed_tile_rows;
      row_tile_of<T>(height, rows)(p, m, panels);
    }
  }
}

}  // namespace

void product_columns_f32(const TypedColumns<float>& call) { product_columns(call); }
void product_columns_f64(const TypedColumns<double>& call) { product_columns(call); }
void product_columns_i32(const TypedColumns<std::int32_t>& call) { product_columns(call); }
void product_columns_i64(const TypedColumns<std::int64_t>& call) { product_columns(call); }

}  // namespace tenon::cpu::TENON_ISA
