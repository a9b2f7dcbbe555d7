// Attention for some query rows of one head: a few rows times all keys at a time, which stay in L1 and L2.
// Built once per ISA.
#include "kernels/cpu/attention_rows.h"

#include "kernels/cpu/math.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {
namespace {

long round_up(long n, long step) { return (n + step - 1) / step * step; }

struct Head {
  const float* q;
  const float* k;
  const float* v;
  float* out;
  long mask_offset;
};
Head head_of(const Attention& a, const AttentionRows& rows) {
  const long kv = rows.head / (a.heads / a.kv_heads);
  return {a.q + rows.batch * a.q_strides.batch + rows.head * a.q_strides.head,
          a.k + rows.batch * a.k_strides.batch + kv * a.k_strides.head,
          a.v + rows.batch * a.v_strides.batch + kv * a.v_strides.head,
          a.out + rows.batch * a.out_strides.batch + rows.head * a.out_strides.head,
          rows.batch * a.mask_strides.batch + rows.head * a.mask_strides.head};
}

/// packed[panel][d][c] = k[panel * panel_cols + c][d]; columns beyond the keys are zero in the last vector.
void pack_keys(const Attention& a, const float* k, long keys, float* packed) {
  for (long key = 0; key < keys; key += VL) {
    float* const panel = packed + key / panel_cols * panel_cols * a.size + key % panel_cols;
    for (long d = 0; d < a.size; d += VL) {
      const int count = static_cast<int>(a.size - d < VL ? a.size - d : VL);
      vf rows[VL];
      TENON_UNROLL
      for (int i = 0; i < VL; i++) {
        const float* const from = k + (key + i) * a.k_strides.row + d;
        rows[i] = key + i >= keys ? vf{} : count == VL ? load(from) : load_partial(from, count);
      }
      transpose(rows);
      TENON_UNROLL
      for (int i = 0; i < VL; i++) {
        if (i < count) store(panel + (d + i) * panel_cols, rows[i]);
      }
    }
  }
}

/// packed[panel][key][c] = v[key][panel * panel_cols + c]; columns beyond the values are zero.
void pack_values(const Attention& a, const float* v, long keys, float* packed) {
  const long whole = a.value_size / VL * VL;
  const int last = static_cast<int>(a.value_size - whole);
  for (long key = 0; key < keys; key++) {
    const float* const from = v + key * a.v_strides.row;
    const auto to = [&](long c) {
      return packed + (c / panel_cols * keys + key) * panel_cols + c % panel_cols;
    };
    long c = 0;
    for (; c < whole; c += VL) store(to(c), load(from + c));
    if (last > 0) {
      store(to(c), load_partial(from + c, last));
      c += VL;
    }
    for (; c % panel_cols != 0; c += VL) store(to(c), vf{});
  }
}

long pairs(long n) { return (n + 1) / 2; }

/// pack_keys of pairs: two elements of bfloat16 of a key are a word. Panels have `depth` words, zero behind
/// the key.
void pack_key_pairs(const Attention& a, const float* k, long keys, long depth, float* packed) {
  for (long key = 0; key < keys; key += VL) {
    float* const panel = packed + key / panel_cols * panel_cols * depth + key % panel_cols;
    for (long d = 0; d < a.size; d += 2 * VL) {
      const long count = a.size - d < 2 * VL ? a.size - d : 2 * VL;
      alignas(64) std::uint16_t halves[VL][2 * VL] = {};
      for (long i = 0; i < VL && key + i < keys; i++)
        narrow_row(k + (key + i) * a.k_strides.row + d, count, halves[i]);
      vf rows[VL];
      TENON_UNROLL
      for (int i = 0; i < VL; i++) rows[i] = load(reinterpret_cast<const float*>(halves[i]));
      transpose(rows);
      TENON_UNROLL
      for (int i = 0; i < VL; i++) {
        if (d / 2 + i < depth) store(panel + (d / 2 + i) * panel_cols, rows[i]);
      }
    }
  }
}

/// pack_values of pairs: two values that follow each other are a word. Panels have `depth` words, zero behind
/// them.
void pack_value_pairs(const Attention& a, const float* v, long keys, long depth, float* packed) {
  for (long key = 0; key < 2 * depth; key += 2) {
    const float* const from = v + key * a.v_strides.row;
    for (long c = 0; c < attention_padded(a.value_size); c += VL) {
      const long rest = a.value_size - c;
      const int count = static_cast<int>(rest < 0 || key >= keys ? 0 : rest < VL ? rest : VL);
      const vi low = widen(BF16::narrow(load_partial(from + c, count)));
      const vi high =
          key + 1 < keys ? widen(BF16::narrow(load_partial(from + a.v_strides.row + c, count))) : vi{};
      store(packed + (c / panel_cols * depth + key / 2) * panel_cols + c % panel_cols,
            from_bits(low | high << 16));
    }
  }
}

/// The row as `words` pairs of bfloat16 in its own place, zero behind its end.
void narrow_in_place(float* row, long n, long words) {
  auto* const halves = reinterpret_cast<std::uint16_t*>(row);
  narrow_row(row, n, halves);
  for (long i = n; i < 2 * words; i++) halves[i] = 0;
}

/// Scores in whole vectors become softcap * tanh(score / softcap).
void cap(float* scores, long keys, float softcap) {
  for (long j = 0; j < keys; j += VL) store(scores + j, vtanh(load(scores + j) / softcap) * softcap);
}

/// scores += the mask of query i, for the first `keys` keys.
void add_mask(const Attention& a, const Head& head, long i, long keys, float* scores) {
  const long offset = head.mask_offset + i * a.mask_strides.row;
  const long step = a.mask_key_stride;
  if (a.float_mask && step == 1) {
    for (long j = 0; j < keys; j++) scores[j] += a.float_mask[offset + j];
  } else if (a.float_mask) {
    for (long j = 0; j < keys; j++) scores[j] += a.float_mask[offset + j * step];
  } else if (a.bool_mask) {
    for (long j = 0; j < keys; j++) scores[j] = a.bool_mask[offset + j * step] ? scores[j] : -infinity;
  }
}

/// 1 / the sum of weights, which are relative to the highest score.
struct InverseSum {
  bool has_sink;
  float sink = 0;   // an infinite one leaves no share that is a number
  float if_masked;  // all scores are -inf

  InverseSum(const Attention& a, long head)
      : has_sink(a.sink),
        if_masked((a.float_mask || a.bool_mask) && !a.nan_rows ? 0.0f : __builtin_nanf("")) {
    if (has_sink) sink = a.sink[head] == infinity ? __builtin_nanf("") : a.sink[head];
  }
  TENON_INLINE vf operator()(vf sum, vf top) const {
    if (has_sink) return 1.0f / (sum + vexp(sink - top));
    return top == -infinity ? broadcast(if_masked) : 1.0f / sum;
  }
};

/// The lanes of the largest of the first `keys` scores; those up to a multiple of VL become -inf.
TENON_INLINE vf largest_lanes(float* scores, long keys) {
  const long padded = round_up(keys, VL);
  for (long j = keys; j < padded; j++) scores[j] = -infinity;
  vf largest[2] = {broadcast(-infinity), broadcast(-infinity)};
  long j = 0;
  for (; j + 2 * VL <= padded; j += 2 * VL) {
    largest[0] = max(largest[0], load(scores + j));
    largest[1] = max(largest[1], load(scores + j + VL));
  }
  if (j < padded) largest[0] = max(largest[0], load(scores + j));
  return max(largest[0], largest[1]);
}

/// Turns the first `keys` scores into exp(score - top), zeroes what follows up to `depth`, and returns the
/// lanes of their sum. All become zero where the top is -inf.
TENON_INLINE vf exponentials(float* scores, long keys, long depth, float top) {
  if (top == -infinity) {
    for (long i = 0; i < depth; i++) scores[i] = 0;
    return vf{};
  }
  const long padded = round_up(keys, VL);
  const vf shift = broadcast(top);
  vf sum[2] = {};
  long j = 0;
  for (; j + 2 * VL <= padded; j += 2 * VL) {
    const vf e0 = vexp_nonpositive(load(scores + j) - shift);
    const vf e1 = vexp_nonpositive(load(scores + j + VL) - shift);
    store(scores + j, e0);
    store(scores + j + VL, e1);
    sum[0] += e0;
    sum[1] += e1;
  }
  if (j < padded) {
    const vf e = vexp_nonpositive(load(scores + j) - shift);
    store(scores + j, e);
    sum[0] += e;
  }
  for (long i = padded; i < depth; i++) scores[i] = 0;
  return sum[0] + sum[1];
}

/// Softmax without its division: returns what to multiply by.
float softmax_row(float* scores, long keys, long depth, const InverseSum& inverse) {
  const float top = hmax(largest_lanes(scores, keys));
  const float sum = hsum(exponentials(scores, keys, depth, top));
  return inverse(broadcast(sum), broadcast(top))[0];
}

/// The same of up to VL rows, whose lanes are folded together. Row i has keys(i) scores.
template <class Keys>
void softmax_rows(float* scores, long stride, int rows, Keys keys, long depth, const InverseSum& inverse,
                  float* factors) {
  vf lanes[VL];
  const auto fold = [&](auto f) __attribute__((always_inline)) {
    transpose(lanes);
    vf all = lanes[0];
    TENON_UNROLL
    for (int i = 1; i < VL; i++) all = f(all, lanes[i]);
    return all;
  };
  TENON_UNROLL
  for (int i = 0; i < VL; i++) lanes[i] = vf{};
  for (int i = 0; i < rows; i++) lanes[i] = largest_lanes(scores + i * stride, keys(i));
  const vf tops = fold([](vf a, vf b) __attribute__((always_inline)) { return max(a, b); });
  float top[VL];
  store(top, tops);
  for (int i = 0; i < rows; i++) lanes[i] = exponentials(scores + i * stride, keys(i), depth, top[i]);
  const vf sums = fold([](vf a, vf b) __attribute__((always_inline)) { return a + b; });
  store_partial(factors, inverse(sums, tops), rows);
}

/// c[rows x cols] = a[rows x depth] * b (packed panels of `b_depth` rows), in whole vectors. Depths and
/// strides count words: floats, or pairs of bfloat16.
void multiply(TileForm form, bool on_unit, int rows, const float* a, long a_stride, long depth,
              const float* b, long b_depth, long cols, float* c, long c_stride) {
  long a_row[attention_tile_rows];
  long c_row[attention_tile_rows];
  for (int i = 0; i < rows; i++) {
    a_row[i] = i * a_stride;
    c_row[i] = i * c_stride;
  }
  Tile tile = {};
  tile.a = a;
  tile.a_row = a_row;
  tile.a_stride = a_stride;
  tile.runs = 1;
  tile.run_length = depth;
  tile.b = b;
  tile.b_row_stride = panel_cols;
  tile.b_panel_stride = b_depth * panel_cols;
  tile.c = c;
  tile.c_row = c_row;
  tile.height = rows;
  const auto run = [&](long panels, int vectors) {
    if (panels == 0) return;
    tile.panels = panels;
    const TileKernel kernel = on_unit ? unit_tile(form, vectors, /*has_last_step=*/false)
                                      : tile_kernel(form, {rows, vectors, /*is_uniform=*/true});
    kernel(tile);
    tile.b += panels * tile.b_panel_stride;
    tile.c += panels * panel_cols;
  };
  const bool ends_with_one = cols % panel_cols != 0 && cols % panel_cols <= VL;
  run(cols / panel_cols + (cols % panel_cols > VL), panel_vectors);
  run(ends_with_one, 1);
}

void scale_row(const float* from, long n, float factor, float* to) {
  long c = 0;
  for (; c + VL <= n; c += VL) store(to + c, load(from + c) * factor);
  const int rest = static_cast<int>(n - c);
  if (rest > 0) store_partial(to + c, load_partial(from + c, rest) * factor, rest);
}

long keys_of_query(const Attention& a, long i) { return a.causal && i + 1 < a.keys ? i + 1 : a.keys; }

/// Does the scale multiply scores, not queries? Those of bfloat16 stay so by a power of two alone.
bool scales_scores(const Attention& a) {
  int exponent;
  return a.of_bf16 && __builtin_frexpf(a.scale, &exponent) != 0.5f;
}

/// Many rows: K and V are packed once, rows go through the register tile.
template <bool OfBf16>
void tiled(const Attention& a, const Head& head, const AttentionRows& rows, float* scratch) {
  constexpr TileForm form = OfBf16 ? TileForm::bf16_dot : TileForm::f32;
  const bool on_unit = OfBf16 && has_matrix_unit();
  if (on_unit) configure_unit(0);
  const long step = on_unit ? unit_words : 1;
  const auto words = [&](long n) { return OfBf16 ? round_up(pairs(n), step) : n; };
  const long padded_keys = attention_padded(a.keys);
  const long query_stride = attention_padded(a.size);
  const long score_stride = padded_keys + 16;
  const long out_stride = attention_padded(a.value_size);
  float* const scores = scratch;
  float* const queries = scores + attention_tile_rows * score_stride;
  float* const result = queries + attention_tile_rows * query_stride;
  float* const k = result + attention_tile_rows * out_stride;
  float* const v = k + padded_keys * query_stride;
  const long all_keys = keys_of_query(a, rows.end - 1);
  if constexpr (OfBf16) {
    pack_key_pairs(a, head.k, all_keys, words(a.size), k);
    pack_value_pairs(a, head.v, all_keys, words(all_keys), v);
  } else {
    pack_keys(a, head.k, all_keys, k);
    pack_values(a, head.v, all_keys, v);
  }
  const bool scales_behind = scales_scores(a);
  const InverseSum inverse(a, rows.head);
  const long count = rows.end - rows.begin;
  const RowTiles tiles =
      on_unit ? RowTiles::in_lines(count, count, unit_tile_rows) : RowTiles(count, tile_rows);
  for (long t = 0; t < tiles.count; t++) {
    const long first = rows.begin + tiles.first(t);
    const int height = static_cast<int>(tiles.rows_of(t));
    const long keys = keys_of_query(a, first + height - 1);
    for (int i = 0; i < height; i++) {
      float* const query = queries + i * query_stride;
      scale_row(head.q + (first + i) * a.q_strides.row, a.size, scales_behind ? 1.0f : a.scale, query);
      if constexpr (OfBf16) narrow_in_place(query, a.size, words(a.size));
    }
    multiply(form, on_unit, height, queries, query_stride, words(a.size), k, words(a.size), keys, scores,
             score_stride);
    for (int i = 0; i < height; i++) {
      const long visible = keys_of_query(a, first + i);
      float* const row = scores + i * score_stride;
      if (scales_behind) scale_row(row, visible, a.scale, row);
      if (a.softcap > 0) cap(row, visible, a.softcap);
      add_mask(a, head, first + i, visible, row);
    }
    float factors[attention_tile_rows];
    for (int i = 0; i < height; i += VL) {
      const auto visible = [&](int row) { return keys_of_query(a, first + i + row); };
      softmax_rows(scores + i * score_stride, score_stride, height - i < VL ? height - i : VL, visible, keys,
                   inverse, factors + i);
    }
    if constexpr (OfBf16)
      for (int i = 0; i < height; i++) narrow_in_place(scores + i * score_stride, keys, words(keys));
    multiply(form, on_unit, height, scores, score_stride, words(keys), v, words(all_keys), a.value_size,
             result, out_stride);
    for (int i = 0; i < height; i++) {
      scale_row(result + i * out_stride, a.value_size, factors[i],
                head.out + (first + i) * a.out_strides.row);
    }
  }
  if (on_unit) release_unit();
}

/// The lanes of <q, k>.
TENON_INLINE vf dot_lanes(const float* q, const float* k, long size) {
  vf sum[2] = {};
  long d = 0;
  for (; d + 2 * VL <= size; d += 2 * VL) {
    sum[0] += load(q + d) * load(k + d);
    sum[1] += load(q + d + VL) * load(k + d + VL);
  }
  for (; d < size; d += VL) {
    const int count = static_cast<int>(size - d < VL ? size - d : VL);
    sum[0] += load_partial(q + d, count) * load_partial(k + d, count);
  }
  return sum[0] + sum[1];
}

/// <q, k> for up to VL rows of K at once.
vf dot_rows(const float* q, const float* k, long k_stride, long count, long size) {
  vf rows[VL];
  TENON_UNROLL
  for (int i = 0; i < VL; i++) rows[i] = vf{};
  for (long i = 0; i < count; i++) rows[i] = dot_lanes(q, k + i * k_stride, size);
  transpose(rows);
  vf sum{};
  TENON_UNROLL
  for (int i = 0; i < VL; i++) sum += rows[i];
  return sum;
}

/// out[0 .. vectors * VL) = factor * sum over the keys of weights[j] * v[j]; a last vector may be partial.
template <int Vectors>
void weighted_sum(const float* weights, long keys, const float* v, long v_stride, float factor, int last,
                  float* out) {
  vf sum[Vectors] = {};
  for (long j = 0; j < keys; j++) {
    const float* const from = v + j * v_stride;
    const vf weight = broadcast(weights[j]);
    TENON_UNROLL
    for (int u = 0; u + 1 < Vectors; u++) sum[u] += weight * load(from + u * VL);
    constexpr int end = Vectors - 1;
    sum[end] += weight * (last == VL ? load(from + end * VL) : load_partial(from + end * VL, last));
  }
  TENON_UNROLL
  for (int u = 0; u < Vectors; u++) store_partial(out + u * VL, sum[u] * factor, u + 1 < Vectors ? VL : last);
}

/// Few rows (a decoding step): K and V are read where they lie, once each.
void direct(const Attention& a, const Head& head, const AttentionRows& rows, float* scratch) {
  constexpr int vectors = 8;
  for (long i = rows.begin; i < rows.end; i++) {
    const long keys = keys_of_query(a, i);
    float* const q = scratch + a.keys + 2 * VL;
    scale_row(head.q + i * a.q_strides.row, a.size, a.scale, q);
    for (long j = 0; j < keys; j += VL) {
      const long count = keys - j < VL ? keys - j : VL;
      store(scratch + j, dot_rows(q, head.k + j * a.k_strides.row, a.k_strides.row, count, a.size));
    }
    if (a.softcap > 0) cap(scratch, keys, a.softcap);
    add_mask(a, head, i, keys, scratch);
    const float factor = softmax_row(scratch, keys, keys, InverseSum(a, rows.head));
    float* const out = head.out + i * a.out_strides.row;
    for (long c = 0; c < a.value_size;) {
      const long rest = a.value_size - c;
      const bool wide = rest >= vectors * VL;
      const int last = static_cast<int>(rest < VL ? rest : VL);
      const auto sum = wide ? weighted_sum<vectors> : weighted_sum<1>;
      sum(scratch, keys, head.v + c, a.v_strides.row, factor, last, out + c);
      c += wide ? vectors * VL : VL;
    }
  }
}

}  // namespace

void attention_rows(const Attention& a, const AttentionRows& rows, float* scratch) {
  const Head head = head_of(a, rows);
  if (a.keys == 0) {
    for (long i = rows.begin; i < rows.end; i++)
      for (long c = 0; c < a.value_size; c++) head.out[i * a.out_strides.row + c] = 0;
  } else if (rows.end - rows.begin <= 2) {
    direct(a, head, rows, scratch);
  } else {
    (a.of_bf16 ? tiled<true> : tiled<false>)(a, head, rows, scratch);
  }
}

}  // namespace tenon::cpu::TENON_ISA
