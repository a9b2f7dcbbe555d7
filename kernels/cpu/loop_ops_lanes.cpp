// Loops on vectors of doubles and of integers of 64 and 8 bits: what takes little longer than the way to
// memory.
// Built once per ISA.
#include <limits>

#include "kernels/cpu/loop_rows.h"

namespace tenon::cpu::TENON_ISA {

namespace {

using Doubles = NumbersOf<double>;
using SignedBytes = NumbersOf<std::int8_t>;

// ---- what one lane computes: of vectors V ----

struct Add {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return a + b;
  }
};
struct Sub {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return a - b;
  }
};
struct Mul {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return a * b;
  }
};
struct Div {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return a / b;
  }
};
struct Min {  // NaN in, NaN out
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct Max {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct FMin {  // the one that is not NaN
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return ((a < b) | (b != b)) ? a : b;
  }
};
struct FMax {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    return ((a > b) | (b != b)) ? a : b;
  }
};
struct Neg {
  template <class V>
  static TENON_INLINE V run(V x) {
    return -x;
  }
};
struct Abs {  // of integers
  template <class V>
  static TENON_INLINE V run(V x) {
    return x < 0 ? -x : x;
  }
};
struct Sign {  // of integers
  template <class V>
  static TENON_INLINE V run(V x) {
    return (x < 0) - (x > 0);
  }
};
struct Recip {
  template <class V>
  static TENON_INLINE V run(V x) {
    return 1 / x;
  }
};
struct MulAdd {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c) {
    return a * b + c;
  }
};
struct MulSub {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c) {
    return a * b - c;
  }
};
struct SubMul {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c) {
    return (a - b) * c;
  }
};
struct SubMulAdd {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    return (a - b) * c + d;
  }
};
struct Normalize {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d, V e) {
    return (a - b) * c * d + e;
  }
};
struct MulMul {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c) {
    return a * b * c;
  }
};
struct DivAdd {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c) {
    return a / b + c;
  }
};
struct AbsSub {
  template <class V>
  static TENON_INLINE V run(V a, V b) {
    const V difference = a - b;
    return reinterpret_cast<V>(reinterpret_cast<Lanes<std::int64_t>::V>(difference) &
                               std::numeric_limits<std::int64_t>::max());
  }
};
struct Cube {
  template <class V>
  static TENON_INLINE V run(V x) {
    return x * x * x;
  }
};
struct LeakyRelu {
  template <class V>
  static TENON_INLINE V run(V x, V slope) {
    return x > 0 ? x : x * slope;
  }
};
struct Clamped {
  template <class V>
  static TENON_INLINE V run(V x, V low, V high) {
    return Min::run(high, Max::run(low, x));
  }
};
struct SubClamp {
  template <class V>
  static TENON_INLINE V run(V x, V low, V high) {
    return x - Clamped::run(x, low, high);
  }
};
struct ClampNumber {
  template <class V>
  static TENON_INLINE V run(V x, V low, V high, V other) {
    return x == x ? Clamped::run(x, low, high) : other;
  }
};
struct SelectAbs {
  template <class V>
  static TENON_INLINE V run(V a, V b, V c, V d) {
    return AbsSub::run(a, V{}) <= b ? c : d;
  }
};
struct Relu {
  template <class V>
  static TENON_INLINE V run(V x) {
    return Max::run(x, V{});
  }
};
struct HardSigmoid {
  template <class V>
  static TENON_INLINE V run(V x) {
    return Clamped::run(x + 3, V{}, V{} + 6) / 6;
  }
};
struct HardSwish {
  template <class V>
  static TENON_INLINE V run(V x) {
    return x * HardSigmoid::run(x);
  }
};

// Tests: 0 or -1.
struct Lt {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a < b;
  }
};
struct Le {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a <= b;
  }
};
struct Gt {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a > b;
  }
};
struct Ge {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a >= b;
  }
};
struct Eq {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a == b;
  }
};
struct Ne {
  template <class V>
  static TENON_INLINE auto run(V a, V b) {
    return a != b;
  }
};
struct IsZero {
  template <class V>
  static TENON_INLINE auto run(V x) {
    return x == 0;
  }
};
struct IsNan {
  template <class V>
  static TENON_INLINE auto run(V x) {
    return x != x;
  }
};

struct IsNegative {  // of doubles: -0, too
  template <class V>
  static TENON_INLINE auto run(V x) {
    return reinterpret_cast<Lanes<std::int64_t>::V>(x) < 0;
  }
};

template <class F, class T>
constexpr OpFn test = &unary<F, NumbersOf<T>, Truths<T>>;
template <class F, class T>
constexpr OpFn compare = &binary<F, NumbersOf<T>, Truths<T>>;

/// Of any T.
template <class T>
OpFn number_op(Prim p) {
  switch (p) {
    case Prim::lt: return compare<Lt, T>;
    case Prim::le: return compare<Le, T>;
    case Prim::gt: return compare<Gt, T>;
    case Prim::ge: return compare<Ge, T>;
    case Prim::eq: return compare<Eq, T>;
    case Prim::ne: return compare<Ne, T>;
    case Prim::logical_not: return test<IsZero, T>;
    case Prim::min: return &binary<Min, NumbersOf<T>>;
    case Prim::max: return &binary<Max, NumbersOf<T>>;
    case Prim::select: return &ternary<Select, NumbersOf<T>, Truths<T>>;
    default: return nullptr;
  }
}
OpFn double_op(Prim p) {
  switch (p) {
    case Prim::add: return &binary<Add, Doubles>;
    case Prim::sub: return &binary<Sub, Doubles>;
    case Prim::mul: return &binary<Mul, Doubles>;
    case Prim::div: return &binary<Div, Doubles>;
    case Prim::fmin: return &binary<FMin, Doubles>;
    case Prim::fmax: return &binary<FMax, Doubles>;
    case Prim::neg: return &unary<Neg, Doubles>;
    case Prim::recip: return &unary<Recip, Doubles>;
    case Prim::isnan: return test<IsNan, double>;
    case Prim::signbit: return test<IsNegative, double>;
    default: return number_op<double>(p);
  }
}

/// Of what the compiler computes in wider integers.
OpFn signed_byte_op(Prim p) {
  if (p == Prim::neg) return &unary<Neg, SignedBytes>;
  return p == Prim::abs ? &unary<Abs, SignedBytes> : nullptr;
}

}  // namespace

OpFn loop_lanes_op(Prim p, DType type) {
  switch (type) {
    case DType::f64: return double_op(p);
    case DType::i64:
      return p == Prim::sign ? &unary<Sign, NumbersOf<std::int64_t>> : number_op<std::int64_t>(p);
    case DType::i8: return signed_byte_op(p);
    default: return nullptr;
  }
}
namespace {

OpFn fused_op_of_i64(Fused f) {
  using Numbers = NumbersOf<std::int64_t>;
  switch (f) {
    case Fused::clamp: return &ternary<Clamped, Numbers>;
    case Fused::select_lt: return &quaternary<SelectLt, Numbers>;
    case Fused::select_le: return &quaternary<SelectLe, Numbers>;
    case Fused::select_eq: return &quaternary<SelectEq, Numbers>;
    default: return nullptr;
  }
}
/// Of integers without a sign, whose products wrap around.
OpFn mul_add_of_integers(DType type) {
  switch (size_of(type)) {
    case 1: return &ternary<MulAdd, NumbersOf<std::uint8_t>>;
    case 2: return &ternary<MulAdd, NumbersOf<std::uint16_t>>;
    case 4: return &ternary<MulAdd, NumbersOf<std::uint32_t>>;
    default: return &ternary<MulAdd, NumbersOf<std::uint64_t>>;
  }
}
OpFn fused_op_of_f64(Fused f) {
  switch (f) {
    case Fused::mul_add: return &ternary<MulAdd, Doubles>;
    case Fused::mul_sub: return &ternary<MulSub, Doubles>;
    case Fused::sub_mul: return &ternary<SubMul, Doubles>;
    case Fused::sub_mul_add: return &quaternary<SubMulAdd, Doubles>;
    case Fused::normalize: return &quinary<Normalize, Doubles>;
    case Fused::mul_mul: return &ternary<MulMul, Doubles>;
    case Fused::div_add: return &ternary<DivAdd, Doubles>;
    case Fused::abs_sub: return &binary<AbsSub, Doubles>;
    case Fused::cube: return &unary<Cube, Doubles>;
    case Fused::leaky_relu: return &binary<LeakyRelu, Doubles>;
    case Fused::clamp: return &ternary<Clamped, Doubles>;
    case Fused::relu: return &unary<Relu, Doubles>;
    case Fused::hardsigmoid: return &unary<HardSigmoid, Doubles>;
    case Fused::hardswish: return &unary<HardSwish, Doubles>;
    case Fused::select_lt: return &quaternary<SelectLt, Doubles>;
    case Fused::select_le: return &quaternary<SelectLe, Doubles>;
    case Fused::select_eq: return &quaternary<SelectEq, Doubles>;
    case Fused::select_abs: return &quaternary<SelectAbs, Doubles>;
    case Fused::sub_clamp: return &ternary<SubClamp, Doubles>;
    case Fused::clamp_number: return &quaternary<ClampNumber, Doubles>;
    case Fused::huber_lt: return &quinary<HuberLt, Doubles>;
    case Fused::huber_le: return &quinary<HuberLe, Doubles>;
    case Fused::huber_min: return &quaternary<HuberMin, Doubles>;
    default: return nullptr;
  }
}

}  // namespace

OpFn loop_lanes_fused_op(Fused f, DType type) {
  if (f == Fused::mul_add && is_integral(type)) return mul_add_of_integers(type);
  switch (type) {
    case DType::f64: return fused_op_of_f64(f);
    case DType::i64: return fused_op_of_i64(f);
    case DType::i8: return f == Fused::clamp ? &ternary<Clamped, SignedBytes> : nullptr;
    default: return nullptr;
  }
}

}  // namespace tenon::cpu::TENON_ISA
