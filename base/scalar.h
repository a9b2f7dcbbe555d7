// The scalar primitives (base/prims.def) with their names and arities, and conversions between types.
#pragma once
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/dtype.h"
#include "base/prim_meaning.h"

namespace tenon {

/// What a primitive accepts and returns. Operands have one common type, except select's condition.
enum class PrimKind : std::uint8_t {
  number,  // floats, integers and bool; the result has the operands' type
  real,    // floats; integers are to be cast to a float first, as PyTorch promotes them
  test,    // any operands; the result is bool
  bits,    // integers and bool; the result has the operands' type
  select,  // bool, then two of one type; the result has that type
  cast,    // any; the result has the type named beside the primitive
};

struct PrimInfo {
  Prim prim;
  std::string_view name;
  int arity;
  PrimKind kind;
};

inline constexpr std::array prim_table = {
#define PRIM_NUMBER(name, arity, ...) PrimInfo{Prim::name, #name, arity, PrimKind::number},
#define PRIM_REAL(name, arity, ...) PrimInfo{Prim::name, #name, arity, PrimKind::real},
#define PRIM_TEST(name, arity, ...) PrimInfo{Prim::name, #name, arity, PrimKind::test},
#define PRIM_BITS(name, arity, ...) PrimInfo{Prim::name, #name, arity, PrimKind::bits},
#include "base/prims.def"
    PrimInfo{Prim::select, "select", 3, PrimKind::select},
    PrimInfo{Prim::cast, "cast", 1, PrimKind::cast},
};
inline constexpr std::size_t prim_count = prim_table.size();

constexpr const PrimInfo& info(Prim p) { return prim_table[static_cast<std::size_t>(p)]; }
constexpr std::string_view name(Prim p) { return info(p).name; }
constexpr int arity(Prim p) { return info(p).arity; }

/// True for the primitives that divide integers by their second operand.
constexpr bool divides(Prim p) {
  switch (p) {
#define PRIM_DIVISION(name, ...) case Prim::name:
#include "base/prims.def"
    return true;
    default: return false;
  }
}

/// True for those that strings may be operands of.
constexpr bool takes_strings(Prim p) { return p == Prim::eq || p == Prim::ne || p == Prim::select; }

/// The type arithmetic on a real dtype happens in: f32 (floats up to 32 bits), f64, i64 (all integers), bool.
constexpr DType compute_type(DType t) {
  if (is_bool(t) || t == DType::f64) return t;
  return is_float(t) ? DType::f32 : DType::i64;
}

/// A value of one real element type as another. To bool: not equal to zero (NaN is true). Float to integer
/// truncates; NaN and what does not fit become the most negative value of i64 (for i64, u64, u32) or of i32
/// (for the others), and narrower integers then keep the low bits, as PyTorch does on x86.
template <class To, class From>
TENON_SCALAR constexpr To convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (is_small_float_element<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Wide =
        std::conditional_t<sizeof(To) == 8 || std::same_as<To, std::uint32_t>, std::int64_t, std::int32_t>;
    constexpr From bound = sizeof(Wide) == 8 ? From(0x1p63) : From(0x1p31);
    const bool fits = x >= -bound && x < bound;
    return static_cast<To>(fits ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  } else if constexpr (is_small_float_element<To>) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

/// x, in a compute type, after it was stored as `to` and read back into the compute type of `to`:
/// the meaning of Prim::cast. R must be the C++ type of compute_type(to).
template <class R, class T>
R cast(DType to, T x) {
  return dispatch_real(to, [&](auto tag) { return convert<R>(convert<typename decltype(tag)::type>(x)); });
}

/// The meaning of p on one type: float, double, an integer or bool. Unused operands are ignored. Tests return
/// 1 or 0 of that type. select reads its condition as a != 0. cast returns a (see tenon::cast for the
/// effect). Integers narrower than 32 bits are what int gives, cut. On bool, arithmetic is that of 0 and 1,
/// then "not zero" (add is or, mul is and), and bit_not is logical not.
template <class T>
TENON_SCALAR T apply(Prim p, T a, T b = {}, T c = {}) {
  if constexpr (std::same_as<T, bool>) {
    const Prim q = p == Prim::bit_not ? Prim::logical_not : p;
    return scalar_detail::meaning<int>(q, a, b, c) != 0;
  } else if constexpr (std::integral<T> && sizeof(T) < sizeof(int)) {
    return static_cast<T>(scalar_detail::meaning<int>(p, a, b, c));
  } else {
    return scalar_detail::meaning<T>(p, a, b, c);
  }
}

}  // namespace tenon
