// The float loops of the loop kernels on vectors. Built once per ISA.
#include "kernels/cpu/byte_table.h"
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/loop_rows.h"
#include "kernels/cpu/loop_simd_folds.h"
#include "kernels/cpu/loop_simd_memory.h"
#include "kernels/cpu/math_activation.h"
#include "kernels/cpu/math_angles.h"
#include "kernels/cpu/math_error.h"
#include "kernels/cpu/math_gelu.h"
#include "kernels/cpu/math_hyperbolic.h"
#include "kernels/cpu/math_power.h"
#include "kernels/cpu/math_rounding.h"

namespace tenon::cpu::TENON_ISA {

namespace {

// ---- what one lane computes ----

struct Sub {
  static TENON_INLINE vf run(vf a, vf b) { return a - b; }
};
struct Mul {
  static TENON_INLINE vf run(vf a, vf b) { return a * b; }
};
struct Div {
  static TENON_INLINE vf run(vf a, vf b) { return a / b; }
};
struct AddRelu {
  static TENON_INLINE vf run(vf a, vf b) { return max_or_b(vf{}, a + b); }
};
struct ExpSub {
  static TENON_INLINE vf run(vf a, vf b) { return vexp(a - b); }
};
struct ExpBelow {
  static TENON_INLINE vf run(vf a, vf b) { return vexp_nonpositive(a - b); }
};
struct AddGelu {
  static TENON_INLINE vf run(vf a, vf b) { return vgelu(a + b); }
};
struct SiluMul {
  static TENON_INLINE vf run(vf a, vf b) { return vsilu(a) * b; }
};
struct MulAdd {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a * b + c; }
};
struct MulAddRelu {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return max_or_b(vf{}, a * b + c); }
};
struct MulSub {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a * b - c; }
};
struct SubMul {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return (a - b) * c; }
};
struct SubMulAdd {
  static TENON_INLINE vf run(vf a, vf b, vf c, vf d) { return (a - b) * c + d; }
};
struct Normalize {
  static TENON_INLINE vf run(vf a, vf b, vf c, vf d, vf e) { return (a - b) * c * d + e; }
};
struct MulMul {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a * b * c; }
};
struct DivAdd {
  static TENON_INLINE vf run(vf a, vf b, vf c) { return a / b + c; }
};
struct AbsSub {
  static TENON_INLINE vf run(vf a, vf b) { return vabs(a - b); }
};
struct Clamped {
  // Of equal numbers the second one counts: -0 stays -0.
  static TENON_INLINE vf run(vf x, vf low, vf high) { return Min::run(high, Max::run(low, x)); }
};
struct SubClamp {
  static TENON_INLINE vf run(vf x, vf low, vf high) { return x - Clamped::run(x, low, high); }
};
struct ClampNumber {
  static TENON_INLINE vf run(vf x, vf low, vf high, vf other) {
    return x == x ? Clamped::run(x, low, high) : other;
  }
};
struct SelectAbs {
  static TENON_INLINE vf run(vf a, vf b, vf c, vf d) { return vabs(a) <= b ? c : d; }
};
struct Recip {
  static TENON_INLINE vf run(vf x) { return 1.0f / x; }
};
struct Rsqrt {
  static TENON_INLINE vf run(vf x) { return 1.0f / vsqrt(x); }
};
struct Neg {
  static TENON_INLINE vf run(vf x) { return -x; }
};
struct Ldexp {
  static TENON_INLINE vf run(vf a, vf b) { return a * vexp2(b); }
};
// Of halves as they lie, which take the bits of both.
struct CopysignBits {
  template <class V>
  static TENON_INLINE V run(V x, V sign) {
    return (x & 0x7fff) | (sign & 0x8000);
  }
};
struct TruncDiv {
  static TENON_INLINE vf run(vf a, vf b) { return vtrunc(a / b); }
};
struct Cube {
  static TENON_INLINE vf run(vf x) { return x * x * x; }
};
struct LeakyRelu {
  static TENON_INLINE vf run(vf x, vf slope) { return x > 0.0f ? x : x * slope; }
};
struct Relu {
  static TENON_INLINE vf run(vf x) { return max_or_b(vf{}, x); }
};
template <class Format>
struct Rounded {
  static TENON_INLINE vf run(vf x) { return Format::widen(Format::narrow(x)); }
};
/// What a function of math*.h computes.
template <auto function>
struct Of {
  template <class... V>
  static TENON_INLINE vf run(V... x) {
    return function(x...);
  }
};

struct Same {
  static TENON_INLINE vf run(vf x) { return x; }
};

// Of floats of 16 bits, as they lie.
struct NegBits {
  template <class V>
  static TENON_INLINE V run(V x) {
    return x ^ 0x8000;
  }
};
struct AbsBits {
  template <class V>
  static TENON_INLINE V run(V x) {
    return x & 0x7fff;
  }
};

// Tests of lanes: 0 or -1.
struct Lt {
  static TENON_INLINE vi run(vf a, vf b) { return a < b; }
};
struct Le {
  static TENON_INLINE vi run(vf a, vf b) { return a <= b; }
};
struct Gt {
  static TENON_INLINE vi run(vf a, vf b) { return a > b; }
};
struct Ge {
  static TENON_INLINE vi run(vf a, vf b) { return a >= b; }
};
struct Eq {
  static TENON_INLINE vi run(vf a, vf b) { return a == b; }
};
struct Ne {
  static TENON_INLINE vi run(vf a, vf b) { return a != b; }
};

struct And {
  static TENON_INLINE vi run(vf a, vf b) { return (a != 0.0f) & (b != 0.0f); }
};
struct Or {
  static TENON_INLINE vi run(vf a, vf b) { return (a != 0.0f) | (b != 0.0f); }
};
struct Xor {
  static TENON_INLINE vi run(vf a, vf b) { return (a != 0.0f) ^ (b != 0.0f); }
};
struct IsZero {
  static TENON_INLINE vi run(vf x) { return x == 0.0f; }
};
struct IsNan {
  static TENON_INLINE vi run(vf x) { return x != x; }
};
struct IsInf {
  static TENON_INLINE vi run(vf x) { return vabs(x) == infinity; }
};
struct IsFinite {
  static TENON_INLINE vi run(vf x) { return vabs(x) < infinity; }
};
struct IsNegative {
  static TENON_INLINE vi run(vf x) { return bits(x) < 0; }
};

template <class F>
void test(const OpArgs& args) {
  unary<F, Floats, Truths<float>>(args);
}
template <class F>
void compare(const OpArgs& args) {
  binary<F, Floats, Truths<float>>(args);
}

void byte_table(const OpArgs& args) {
  const auto* const bytes = static_cast<const std::uint8_t*>(args.in[1]);
#if defined(__AVX512BW__)
  const ByteTable table(bytes);
#endif
  for (long r = 0; r < args.rows; r++) {
    const auto* const in = static_cast<const std::uint8_t*>(args.in[0]) + r * args.in_pitch[0];
    auto* const out = static_cast<std::uint8_t*>(args.out) + r * args.out_pitch;
    if (args.splat[0]) {
      for (long c = 0; c < args.cols; c++) out[c] = bytes[*in];
      continue;
    }
    long c = 0;
#if defined(__AVX512BW__)
    for (; c + 64 <= args.cols; c += 64)
      _mm512_storeu_si512(out + c, table.of_bytes(_mm512_loadu_si512(in + c)));
    if (c < args.cols) {
      const __mmask64 inside = ~__mmask64{0} >> (64 - (args.cols - c));
      _mm512_mask_storeu_epi8(out + c, inside, table.of_bytes(_mm512_maskz_loadu_epi8(inside, in + c)));
    }
#else
    for (; c < args.cols; c++) out[c] = bytes[in[c]];
#endif
  }
}

template <class Format>
constexpr SmallFloatOps small_floats() {
  return {unary<Rounded<Format>>, load_small<Format>, store_small<Format>, {}, {}, {}, {}};
}

/// Of what takes little longer than the way to memory. In f16, which one instruction rounds to, of
/// activations, too: in bf16 a loop of both is longer than what a core keeps in flight.
template <class Format>
constexpr SmallFloatOps half_floats() {
  using Numbers = HalfFloats<Format>;
  SmallFloatOps ops = small_floats<Format>();
  const auto prim = [&](Prim p, OpFn f) { ops.prim[static_cast<int>(p)] = f; };
  prim(Prim::add, binary<Add, Numbers>);
  prim(Prim::sub, binary<Sub, Numbers>);
  prim(Prim::mul, binary<Mul, Numbers>);
  prim(Prim::div, binary<Div, Numbers>);
  prim(Prim::min, binary<Min, Numbers>);
  prim(Prim::max, binary<Max, Numbers>);
  prim(Prim::fmin, binary<Of<vfmin>, Numbers>);
  prim(Prim::fmax, binary<Of<vfmax>, Numbers>);
  prim(Prim::copysign, binary<CopysignBits, HalfBits<Format>>);
  prim(Prim::ldexp, binary<Ldexp, Numbers>);
  prim(Prim::sign, unary<Of<vsign>, Numbers>);
  prim(Prim::neg, unary<NegBits, NumbersOf<std::uint16_t>>);
  prim(Prim::abs, unary<AbsBits, NumbersOf<std::uint16_t>>);
  prim(Prim::floor, unary<Of<vfloor>, Numbers>);
  prim(Prim::ceil, unary<Of<vceil>, Numbers>);
  prim(Prim::trunc, unary<Of<vtrunc>, Numbers>);
  prim(Prim::round, unary<Of<vround>, Numbers>);
  prim(Prim::sqrt, unary<Of<vsqrt>, Numbers>);
  prim(Prim::rsqrt, unary<Rsqrt, Numbers>);
  prim(Prim::recip, unary<Recip, Numbers>);
  prim(Prim::cast, unary<Same, NarrowedDoubles, Numbers>);  // of doubles; rounded twice, as PyTorch does
  const auto fused = [&](Fused f, OpFn loop) { ops.fused[static_cast<int>(f)] = loop; };
  fused(Fused::relu, unary<Relu, Numbers>);
  fused(Fused::add_relu, binary<AddRelu, Numbers>);
  fused(Fused::leaky_relu, binary<LeakyRelu, Numbers>);
  fused(Fused::hardsigmoid, unary<Of<vhardsigmoid>, Numbers>);
  fused(Fused::hardswish, unary<Of<vhardswish>, Numbers>);
  fused(Fused::mul_add, ternary<MulAdd, Numbers>);
  fused(Fused::mul_add_relu, ternary<MulAddRelu, Numbers>);
  fused(Fused::mul_sub, ternary<MulSub, Numbers>);
  fused(Fused::sub_mul, ternary<SubMul, Numbers>);
  fused(Fused::sub_mul_add, quaternary<SubMulAdd, Numbers>);
  fused(Fused::normalize, quinary<Normalize, Numbers>);
  fused(Fused::mul_mul, ternary<MulMul, Numbers>);
  fused(Fused::div_add, ternary<DivAdd, Numbers>);
  fused(Fused::abs_sub, binary<AbsSub, Numbers>);
  fused(Fused::clamp, ternary<Clamped, Numbers>);
  fused(Fused::select_lt, quaternary<SelectLt, Numbers>);
  fused(Fused::select_le, quaternary<SelectLe, Numbers>);
  fused(Fused::select_eq, quaternary<SelectEq, Numbers>);
  fused(Fused::select_abs, quaternary<SelectAbs, Numbers>);
  fused(Fused::sub_clamp, ternary<SubClamp, Numbers>);
  fused(Fused::clamp_number, quaternary<ClampNumber, Numbers>);
  fused(Fused::huber_lt, quinary<HuberLt, Numbers>);
  fused(Fused::huber_le, quinary<HuberLe, Numbers>);
  fused(Fused::huber_min, quaternary<HuberMin, Numbers>);
  ops.fold_rows = folds_of_rows<Numbers>;
  ops.fold_columns = folds_of_columns<Numbers>;
  if constexpr (std::is_same_v<Format, F16>) {
    prim(Prim::exp, unary<Of<vexp>, Numbers>);
    prim(Prim::tanh, unary<Of<vtanh>, Numbers>);
    prim(Prim::sigmoid, unary<Of<vsigmoid>, Numbers>);
    fused(Fused::gelu, unary<Of<vgelu>, Numbers>);
    fused(Fused::gelu_tanh, unary<Of<vgelu_tanh>, Numbers>);
    fused(Fused::silu, unary<Of<vsilu>, Numbers>);
  }
  return ops;
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
  prim(Prim::trunc_div, binary<TruncDiv>);
#if TENON_VECTOR_FMOD
  prim(Prim::fmod, binary<Of<vfmod>>);
  prim(Prim::remainder, binary<Of<vremainder>>);
  prim(Prim::floor_div, binary<Of<vfloor_div>>);
#endif
  prim(Prim::fmin, binary<Of<vfmin>>);
  prim(Prim::fmax, binary<Of<vfmax>>);
  prim(Prim::pow, binary<Of<vpow>>);
  prim(Prim::atan2, binary<Of<vatan2>>);
  prim(Prim::hypot, binary<Of<vhypot>>);
  prim(Prim::copysign, binary<Of<vcopysign>>);
  prim(Prim::nextafter, binary<Of<vnextafter>>);
  prim(Prim::ldexp, binary<Ldexp>);
  prim(Prim::neg, unary<Neg>);
  prim(Prim::abs, unary<Of<vabs>>);
  prim(Prim::sign, unary<Of<vsign>>);
  prim(Prim::floor, unary<Of<vfloor>>);
  prim(Prim::ceil, unary<Of<vceil>>);
  prim(Prim::trunc, unary<Of<vtrunc>>);
  prim(Prim::round, unary<Of<vround>>);
  prim(Prim::recip, unary<Recip>);
  prim(Prim::sqrt, unary<Of<vsqrt>>);
  prim(Prim::rsqrt, unary<Rsqrt>);
  prim(Prim::exp, unary<Of<vexp>>);
  prim(Prim::exp2, unary<Of<vexp2>>);
  prim(Prim::expm1, unary<Of<vexpm1>>);
  prim(Prim::log, unary<Of<vlog>>);
  prim(Prim::log2, unary<Of<vlog2>>);
  prim(Prim::log10, unary<Of<vlog10>>);
  prim(Prim::log1p, unary<Of<vlog1p>>);
  prim(Prim::sin, unary<Of<vsin>>);
  prim(Prim::cos, unary<Of<vcos>>);
  prim(Prim::tan, unary<Of<vtan>>);
  prim(Prim::asin, unary<Of<vasin>>);
  prim(Prim::acos, unary<Of<vacos>>);
  prim(Prim::atan, unary<Of<vatan>>);
  prim(Prim::sinh, unary<Of<vsinh>>);
  prim(Prim::cosh, unary<Of<vcosh>>);
  prim(Prim::tanh, unary<Of<vtanh>>);
  prim(Prim::asinh, unary<Of<vasinh>>);
  prim(Prim::acosh, unary<Of<vacosh>>);
  prim(Prim::atanh, unary<Of<vatanh>>);
  prim(Prim::erf, unary<Of<verf>>);
  prim(Prim::erfc, unary<Of<verfc>>);
  prim(Prim::erfinv, unary<Of<verfinv>>);
  prim(Prim::sigmoid, unary<Of<vsigmoid>>);
  prim(Prim::lt, compare<Lt>);
  prim(Prim::le, compare<Le>);
  prim(Prim::gt, compare<Gt>);
  prim(Prim::ge, compare<Ge>);
  prim(Prim::eq, compare<Eq>);
  prim(Prim::ne, compare<Ne>);
  prim(Prim::logical_and, compare<And>);
  prim(Prim::logical_or, compare<Or>);
  prim(Prim::logical_xor, compare<Xor>);
  prim(Prim::logical_not, test<IsZero>);
  prim(Prim::isnan, test<IsNan>);
  prim(Prim::isinf, test<IsInf>);
  prim(Prim::isfinite, test<IsFinite>);
  prim(Prim::signbit, test<IsNegative>);
  prim(Prim::select, ternary<Select, Floats, Truths<float>>);
  const auto fused = [&](Fused f, OpFn loop) { ops.fused[static_cast<int>(f)] = loop; };
  fused(Fused::mul_add, ternary<MulAdd>);
  fused(Fused::mul_add_relu, ternary<MulAddRelu>);
  fused(Fused::mul_sub, ternary<MulSub>);
  fused(Fused::sub_mul, ternary<SubMul>);
  fused(Fused::sub_mul_add, quaternary<SubMulAdd>);
  fused(Fused::normalize, quinary<Normalize>);
  fused(Fused::mul_mul, ternary<MulMul>);
  fused(Fused::div_add, ternary<DivAdd>);
  fused(Fused::abs_sub, binary<AbsSub>);
  fused(Fused::clamp, ternary<Clamped>);
  fused(Fused::select_lt, quaternary<SelectLt>);
  fused(Fused::select_le, quaternary<SelectLe>);
  fused(Fused::select_eq, quaternary<SelectEq>);
  fused(Fused::select_abs, quaternary<SelectAbs>);
  fused(Fused::sub_clamp, ternary<SubClamp>);
  fused(Fused::clamp_number, quaternary<ClampNumber>);
  fused(Fused::huber_lt, quinary<HuberLt>);
  fused(Fused::huber_le, quinary<HuberLe>);
  fused(Fused::huber_min, quaternary<HuberMin>);
  fused(Fused::cube, unary<Cube>);
  fused(Fused::leaky_relu, binary<LeakyRelu>);
  fused(Fused::relu, unary<Relu>);
  fused(Fused::add_relu, binary<AddRelu>);
  fused(Fused::gelu, unary<Of<vgelu>>);
  fused(Fused::gelu_tanh, unary<Of<vgelu_tanh>>);
  fused(Fused::silu, unary<Of<vsilu>>);
  fused(Fused::hardsigmoid, unary<Of<vhardsigmoid>>);
  fused(Fused::hardswish, unary<Of<vhardswish>>);
  fused(Fused::exp_sub, binary<ExpSub>);
  fused(Fused::exp_below, binary<ExpBelow>);
  fused(Fused::add_gelu, binary<AddGelu>);
  fused(Fused::silu_mul, binary<SiluMul>);
  ops.fold_rows = folds_of_rows<Floats>;
  ops.fold_columns = folds_of_columns<Floats>;
  ops.byte_table = byte_table;
  ops.f16 = half_floats<F16>();
  ops.bf16 = half_floats<BF16>();
  ops.f8e4m3fn = small_floats<F8<Float8E4M3FN>>();
  ops.f8e5m2 = small_floats<F8<Float8E5M2>>();
  ops.f8e4m3fnuz = small_floats<F8<Float8E4M3FNUZ>>();
  ops.f8e5m2fnuz = small_floats<F8<Float8E5M2FNUZ>>();
  return ops;
}

constexpr SimdOps table = make_ops();

}  // namespace

const SimdOps& loop_simd_ops() { return table; }

}  // namespace tenon::cpu::TENON_ISA
