// The float loops of the loop kernels on vectors. Built once per ISA.
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp.
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);

namespace {

// ---- what one lane computes ----

struct Add {
  static TENON_INLINE vf run(vf a, vf b) { return a + b; }
};
struct Sub {
  static TENON_INLINE vf run(vf a, vf b) { return a - b; }
};
struct Mul {
  static TENON_INLINE vf run(vf a, vf b) { return a * b; }
};
struct Div {
  static TENON_INLINE vf run(vf a, vf b) { return a / b; }
};
struct Min {
  static TENON_INLINE vf run(vf a, vf b) { return min(a, b); }
};
struct Max {
  static TENON_INLINE vf run(vf a, vf b) { return max(a, b); }
};
struct AddRelu {
  static TENON_INLINE vf run(vf a, vf b) { return max_or_b(vf{}, a + b); }
};
struct ExpSub {
  static TENON_INLINE vf run(vf a, vf b) { return vexp(a - b); }
};
struct MulAdd {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a * b + c; }
};
struct MulSub {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a * b - c; }
};
struct SubMul {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return (a - b) * c; }
};
struct Neg {
  static TENON_INLINE vf run(vf x) { return -x; }
};
struct Abs {
  static TENON_INLINE vf run(vf x) { return vabs(x); }
};
struct Recip {
  static TENON_INLINE vf run(vf x) { return 1.0f / x; }
};
struct Sqrt {
  static TENON_INLINE vf run(vf x) { return vsqrt(x); }
};
struct Rsqrt {
  static TENON_INLINE vf run(vf x) { return 1.0f / vsqrt(x); }
};
struct Exp {
  static TENON_INLINE vf run(vf x) { return vexp(x); }
};
struct Exp2 {
  static TENON_INLINE vf run(vf x) { return vexp2(x); }
};
struct Expm1 {
  static TENON_INLINE vf run(vf x) { return vexpm1(x); }
};
struct Log {
  static TENON_INLINE vf run(vf x) { return vlog(x); }
};
struct Log2 {
  static TENON_INLINE vf run(vf x) { return vlog2(x); }
};
struct Log10 {
  static TENON_INLINE vf run(vf x) { return vlog10(x); }
};
struct Log1p {
  static TENON_INLINE vf run(vf x) { return vlog1p(x); }
};
struct Sin {
  static TENON_INLINE vf run(vf x) { return vsin(x); }
};
struct Cos {
  static TENON_INLINE vf run(vf x) { return vcos(x); }
};
struct Tanh {
  static TENON_INLINE vf run(vf x) { return vtanh(x); }
};
struct Erf {
  static TENON_INLINE vf run(vf x) { return verf(x); }
};
struct Sigmoid {
  static TENON_INLINE vf run(vf x) { return vsigmoid(x); }
};
struct Relu {
  static TENON_INLINE vf run(vf x) { return max_or_b(vf{}, x); }
};
struct Gelu {
  static TENON_INLINE vf run(vf x) { return vgelu(x); }
};
struct Silu {
  static TENON_INLINE vf run(vf x) { return vsilu(x); }
};
struct Same {
  static TENON_INLINE vf run(vf x) { return x; }
};
struct Square {
  static TENON_INLINE vf run(vf x) { return x * x; }
};

// ---- loops ----

/// One row of an input: its values, or one value for all columns.
template <bool Splat>
struct Row {
  Row(const OpArgs& args, int i, long r)
      : data(static_cast<const float*>(args.in[i]) + r * args.in_pitch[i]),
        value(broadcast(Splat ? *data : 0.0f)) {}
  TENON_INLINE vf at(long c) const { return Splat ? value : load(data + c); }
  TENON_INLINE vf part(long c, int n) const { return Splat ? value : load_partial(data + c, n); }

  const float* data;
  vf value;
};

template <class F, bool... Splat>
TENON_INLINE void row_loop(float* out, long cols, Row<Splat>... in) {
  long c = 0;
  for (; c + VL <= cols; c += VL) store(out + c, F::run(in.at(c)...));
  const int rest = static_cast<int>(cols - c);
  if (rest > 0) store_partial(out + c, F::run(in.part(c, rest)...), rest);
}

template <class F, bool A>
void unary_rows(const OpArgs& args) {
  for (long r = 0; r < args.rows; r++) {
    row_loop<F>(static_cast<float*>(args.out) + r * args.out_pitch, args.cols, Row<A>(args, 0, r));
  }
}
template <class F>
void unary(const OpArgs& args) {
  args.splat[0] ? unary_rows<F, true>(args) : unary_rows<F, false>(args);
}

template <class F, bool A, bool B>
void binary_rows(const OpArgs& args) {
  for (long r = 0; r < args.rows; r++) {
    row_loop<F>(static_cast<float*>(args.out) + r * args.out_pitch, args.cols, Row<A>(args, 0, r),
                Row<B>(args, 1, r));
  }
}
template <class F>
void binary(const OpArgs& args) {
  if (args.splat[0]) {
    args.splat[1] ? binary_rows<F, true, true>(args) : binary_rows<F, true, false>(args);
  } else {
    args.splat[1] ? binary_rows<F, false, true>(args) : binary_rows<F, false, false>(args);
  }
}

template <class F, bool A, bool B, bool C>
void ternary_rows(const OpArgs& args) {
  for (long r = 0; r < args.rows; r++) {
    row_loop<F>(static_cast<float*>(args.out) + r * args.out_pitch, args.cols, Row<A>(args, 0, r),
                Row<B>(args, 1, r), Row<C>(args, 2, r));
  }
}
template <class F, bool A, bool B>
void ternary_third(const OpArgs& args) {
  args.splat[2] ? ternary_rows<F, A, B, true>(args) : ternary_rows<F, A, B, false>(args);
}
template <class F>
void ternary(const OpArgs& args) {
  if (args.splat[0]) {
    args.splat[1] ? ternary_third<F, true, true>(args) : ternary_third<F, true, false>(args);
  } else {
    args.splat[1] ? ternary_third<F, false, true>(args) : ternary_third<F, false, false>(args);
  }
}

// Plain loops, which the compiler turns into vector code of this ISA.
struct Lt {
  static TENON_INLINE bool run(float a, float b) { return a < b; }
};
struct Le {
  static TENON_INLINE bool run(float a, float b) { return a <= b; }
};
struct Gt {
  static TENON_INLINE bool run(float a, float b) { return a > b; }
};
struct Ge {
  static TENON_INLINE bool run(float a, float b) { return a >= b; }
};
struct Eq {
  static TENON_INLINE bool run(float a, float b) { return a == b; }
};
struct Ne {
  static TENON_INLINE bool run(float a, float b) { return a != b; }
};

template <class F>
void compare(const OpArgs& args) {
  for (long r = 0; r < args.rows; r++) {
    auto* const out = static_cast<std::uint8_t*>(args.out) + r * args.out_pitch;
    const float* const a = static_cast<const float*>(args.in[0]) + r * args.in_pitch[0];
    const float* const b = static_cast<const float*>(args.in[1]) + r * args.in_pitch[1];
    if (!args.splat[0] && !args.splat[1]) {
      for (long c = 0; c < args.cols; c++) out[c] = F::run(a[c], b[c]);
    } else if (!args.splat[0]) {
      const float value = *b;
      for (long c = 0; c < args.cols; c++) out[c] = F::run(a[c], value);
    } else {
      const long step = args.splat[1] ? 0 : 1;
      const float value = *a;
      for (long c = 0; c < args.cols; c++) out[c] = F::run(value, b[c * step]);
    }
  }
}

void select(const OpArgs& args) {
  for (long r = 0; r < args.rows; r++) {
    float* const out = static_cast<float*>(args.out) + r * args.out_pitch;
    const auto* const condition = static_cast<const std::uint8_t*>(args.in[0]) + r * args.in_pitch[0];
    const float* const a = static_cast<const float*>(args.in[1]) + r * args.in_pitch[1];
    const float* const b = static_cast<const float*>(args.in[2]) + r * args.in_pitch[2];
    if (!args.splat[0] && !args.splat[1] && !args.splat[2]) {
      for (long c = 0; c < args.cols; c++) out[c] = condition[c] ? a[c] : b[c];
    } else if (!args.splat[0] && !args.splat[1]) {
      const float value = *b;
      for (long c = 0; c < args.cols; c++) out[c] = condition[c] ? a[c] : value;
    } else if (!args.splat[0] && !args.splat[2]) {
      const float value = *a;
      for (long c = 0; c < args.cols; c++) out[c] = condition[c] ? value : b[c];
    } else {
      const long steps[3] = {args.splat[0] ? 0 : 1, args.splat[1] ? 0 : 1, args.splat[2] ? 0 : 1};
      for (long c = 0; c < args.cols; c++)
        out[c] = condition[c * steps[0]] ? a[c * steps[1]] : b[c * steps[2]];
    }
  }
}

// ---- folds ----

/// The lanes of row sums (or maxima ...) in four chains, so that latency does not count.
template <class Combine, class Map>
TENON_INLINE vf fold_row(const float* row, long cols, vf identity) {
  vf acc[4] = {identity, identity, identity, identity};
  long c = 0;
  for (; c + 4 * VL <= cols; c += 4 * VL) {
    TENON_UNROLL
    for (int u = 0; u < 4; u++) acc[u] = Combine::run(acc[u], Map::run(load(row + c + u * VL)));
  }
  for (; c + VL <= cols; c += VL) acc[0] = Combine::run(acc[0], Map::run(load(row + c)));
  const int rest = static_cast<int>(cols - c);
  if (rest > 0) {
    const vf last = Map::run(load_partial(row + c, rest));
    acc[1] = Combine::run(acc[1], iota() < rest ? last : identity);
  }
  return Combine::run(Combine::run(acc[0], acc[1]), Combine::run(acc[2], acc[3]));
}

/// Folds the lanes of VL rows at once: lane i of the result belongs to rows[i]. The order is that of one row.
template <class Combine>
TENON_INLINE vf fold_lanes(vf* rows) {
  transpose(rows);
  TENON_UNROLL
  for (int half = VL / 2; half > 0; half /= 2) {
    TENON_UNROLL
    for (int i = 0; i < half; i++) rows[i] = Combine::run(rows[i], rows[i + half]);
  }
  return rows[0];
}

TENON_INLINE double combine(Add, double acc, float x) { return acc + static_cast<double>(x); }
TENON_INLINE float combine(Max, float acc, float x) { return acc > x || acc != acc ? acc : x; }
TENON_INLINE float combine(Min, float acc, float x) { return acc < x || acc != acc ? acc : x; }

template <class Combine, class Map, class Accumulator>
TENON_INLINE void fold_rows(void* accumulators, const OpArgs& tile, vf identity) {
  auto* const acc = static_cast<Accumulator*>(accumulators);
  const float* const data = static_cast<const float*>(tile.in[0]);
  for (long r = 0; r < tile.rows; r += VL) {
    const long count = tile.rows - r < VL ? tile.rows - r : VL;
    vf lanes[VL];
    TENON_UNROLL
    for (int i = 0; i < VL; i++) lanes[i] = identity;
    for (long i = 0; i < count; i++) {
      lanes[i] = fold_row<Combine, Map>(data + (r + i) * tile.in_pitch[0], tile.cols, identity);
    }
    const vf result = fold_lanes<Combine>(lanes);
    for (long i = 0; i < count; i++) acc[r + i] = combine(Combine{}, acc[r + i], result[i]);
  }
}

void fold_rows_sum(void* acc, const OpArgs& tile, long) { fold_rows<Add, Same, double>(acc, tile, vf{}); }
void fold_rows_sum_squares(void* acc, const OpArgs& tile, long) {
  fold_rows<Add, Square, double>(acc, tile, vf{});
}
void fold_rows_max(void* acc, const OpArgs& tile, long) {
  fold_rows<Max, Same, float>(acc, tile, broadcast(-infinity));
}
void fold_rows_min(void* acc, const OpArgs& tile, long) {
  fold_rows<Min, Same, float>(acc, tile, broadcast(infinity));
}

typedef double vd __attribute__((vector_size(VL * 8)));
typedef double vd_unaligned __attribute__((vector_size(VL * 8), aligned(8), may_alias));

template <class Map>
TENON_INLINE void fold_columns(void* accumulators, const OpArgs& tile) {
  auto* const acc = static_cast<double*>(accumulators);
  const float* const data = static_cast<const float*>(tile.in[0]);
  const long pitch = tile.in_pitch[0];
  long c = 0;
  for (; c + VL <= tile.cols; c += VL) {
    vf sum[2] = {};
    long r = 0;
    for (; r + 2 <= tile.rows; r += 2) {
      sum[0] += Map::run(load(data + r * pitch + c));
      sum[1] += Map::run(load(data + (r + 1) * pitch + c));
    }
    if (r < tile.rows) sum[0] += Map::run(load(data + r * pitch + c));
    auto* const to = reinterpret_cast<vd_unaligned*>(acc + c);
    *to = *to + __builtin_convertvector(sum[0] + sum[1], vd);
  }
  const int rest = static_cast<int>(tile.cols - c);
  if (rest == 0) return;
  vf sum{};
  for (long r = 0; r < tile.rows; r++) sum += Map::run(load_partial(data + r * pitch + c, rest));
  for (int i = 0; i < rest; i++) acc[c + i] += static_cast<double>(sum[i]);
}
void fold_columns_sum(void* acc, const OpArgs& tile, long) { fold_columns<Same>(acc, tile); }
void fold_columns_sum_squares(void* acc, const OpArgs& tile, long) { fold_columns<Square>(acc, tile); }

// ---- memory ----

void load_f32(const Transfer& t) {
  const float* const memory = reinterpret_cast<const float*>(t.memory);
  float* const values = static_cast<float*>(t.values);
  if (t.col_stride == 1) {
    for (long r = 0; r < t.rows; r++) {
      const float* const from = memory + r * t.row_stride;
      float* const to = values + r * t.values_pitch;
      for (long c = 0; c < t.cols; c++) to[c] = from[c];
    }
  } else if (t.row_stride == 1 && t.rows >= VL) {
    transpose_block(t.cols, t.rows, memory, t.col_stride, values, t.values_pitch);
  } else {
    for (long r = 0; r < t.rows; r++) {
      const float* const from = memory + r * t.row_stride;
      float* const to = values + r * t.values_pitch;
      for (long c = 0; c < t.cols; c++) to[c] = from[c * t.col_stride];
    }
  }
}

typedef std::uint16_t vh __attribute__((vector_size(VL * 2)));
typedef std::uint16_t vh_unaligned __attribute__((vector_size(VL * 2), aligned(2), may_alias));
typedef std::uint32_t vu __attribute__((vector_size(VL * 4)));

struct F16 {
  static TENON_INLINE vf widen(vu h) {
    const vu sign = (h & 0x8000u) << 16;
    const vu magnitude = (h & 0x7fffu) << 13;
    const vu finite = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) * 0x1p112f);
    return reinterpret_cast<vf>(sign | ((h & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite));
  }
  static TENON_INLINE vu narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu magnitude = x & 0x7fffffffu;
    const vu subnormal = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) + 0.5f) - 0x3f000000u;
    const vu normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    vu result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? vu{} + 0x7c00u : result;
    result = magnitude > 0x7f800000u ? vu{} + 0x7e00u : result;
    return result | ((x >> 16) & 0x8000u);
  }
};
struct BF16 {
  static TENON_INLINE vf widen(vu h) { return reinterpret_cast<vf>(h << 16); }
  static TENON_INLINE vu narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    return (x & 0x7fffffffu) > 0x7f800000u ? (x >> 16) | 0x40u : rounded;
  }
};

template <class Format>
void load_16_bit(const Transfer& t) {
  for (long r = 0; r < t.rows; r++) {
    const auto* const from = reinterpret_cast<const std::uint16_t*>(t.memory) + r * t.row_stride;
    float* const to = static_cast<float*>(t.values) + r * t.values_pitch;
    for (long c = 0; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      vh h{};
      if (count == VL && t.col_stride == 1) {
        h = *reinterpret_cast<const vh_unaligned*>(from + c);
      } else {
        for (int i = 0; i < count; i++) h[i] = from[(c + i) * t.col_stride];
      }
      store_partial(to + c, Format::widen(__builtin_convertvector(h, vu)), count);
    }
  }
}
template <class Format>
void store_16_bit(const Transfer& t) {
  for (long r = 0; r < t.rows; r++) {
    const float* const from = static_cast<const float*>(t.values) + r * t.values_pitch;
    auto* const to = reinterpret_cast<std::uint16_t*>(t.memory) + r * t.row_stride;
    for (long c = 0; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      const vf values = t.splat ? broadcast(*from) : load_partial(from + c, count);
      const vh h = __builtin_convertvector(Format::narrow(values), vh);
      if (count == VL && t.col_stride == 1) {
        *reinterpret_cast<vh_unaligned*>(to + c) = h;
      } else {
        for (int i = 0; i < count; i++) to[(c + i) * t.col_stride] = h[i];
      }
    }
  }
}

constexpr SimdOps make_ops() {
  SimdOps ops{};
  const auto prim = [&](Prim p, OpFn f) { ops.prim[static_cast<int>(p)] = f; };
  prim(Prim::add, binary<Add>);
  prim(Prim::sub, binary<Sub>);
  prim(Prim::mul, binary<Mul>);
  prim(Prim::div, binary<Div>);
  prim(Prim::min, binary<Min>);
  prim(Prim::max, binary<Max>);
  prim(Prim::neg, unary<Neg>);
  prim(Prim::abs, unary<Abs>);
  prim(Prim::recip, unary<Recip>);
  prim(Prim::sqrt, unary<Sqrt>);
  prim(Prim::rsqrt, unary<Rsqrt>);
  prim(Prim::exp, unary<Exp>);
  prim(Prim::exp2, unary<Exp2>);
  prim(Prim::expm1, unary<Expm1>);
  prim(Prim::log, unary<Log>);
  prim(Prim::log2, unary<Log2>);
  prim(Prim::log10, unary<Log10>);
  prim(Prim::log1p, unary<Log1p>);
  prim(Prim::sin, unary<Sin>);
  prim(Prim::cos, unary<Cos>);
  prim(Prim::tanh, unary<Tanh>);
  prim(Prim::erf, unary<Erf>);
  prim(Prim::sigmoid, unary<Sigmoid>);
  prim(Prim::lt, compare<Lt>);
  prim(Prim::le, compare<Le>);
  prim(Prim::gt, compare<Gt>);
  prim(Prim::ge, compare<Ge>);
  prim(Prim::eq, compare<Eq>);
  prim(Prim::ne, compare<Ne>);
  prim(Prim::select, select);
  const auto fused = [&](Fused f, OpFn loop) { ops.fused[static_cast<int>(f)] = loop; };
  fused(Fused::mul_add, ternary<MulAdd>);
  fused(Fused::mul_sub, ternary<MulSub>);
  fused(Fused::sub_mul, ternary<SubMul>);
  fused(Fused::relu, unary<Relu>);
  fused(Fused::add_relu, binary<AddRelu>);
  fused(Fused::gelu, unary<Gelu>);
  fused(Fused::silu, unary<Silu>);
  fused(Fused::exp_sub, binary<ExpSub>);
  ops.fold_rows_sum = fold_rows_sum;
  ops.fold_rows_sum_squares = fold_rows_sum_squares;
  ops.fold_rows_max = fold_rows_max;
  ops.fold_rows_min = fold_rows_min;
  ops.fold_columns_sum = fold_columns_sum;
  ops.fold_columns_sum_squares = fold_columns_sum_squares;
  ops.load_f32 = load_f32;
  ops.load_f16 = load_16_bit<F16>;
  ops.load_bf16 = load_16_bit<BF16>;
  ops.store_f16 = store_16_bit<F16>;
  ops.store_bf16 = store_16_bit<BF16>;
  return ops;
}

constexpr SimdOps table = make_ops();

}  // namespace

const SimdOps& loop_simd_ops() { return table; }

}  // namespace tenon::cpu::TENON_ISA
