// The loops of every primitive on every compute type, from the meanings in base/scalar.h. Built once.
#include <array>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/zero_division.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/loop_ops.h"

namespace tenon::cpu {

using SimdOpsOfIsa = const SimdOps&();
TENON_PER_ISA(SimdOpsOfIsa, loop_simd_ops, loop_simd_ops)
const SimdOps& simd_ops() { return loop_simd_ops(); }

namespace {

/// How a compute type is held in a register.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
struct Input {
  Input(const OpArgs& args, int i, long row)
      : data(static_cast<const Stored<T>*>(args.in[i]) + row * args.in_pitch[i]),
        step(args.splat[i] ? 0 : 1) {}
  T operator[](long c) const { return static_cast<T>(data[c * step]); }

  const Stored<T>* data;
  long step;
};

template <class Out, class F>
void for_each(const OpArgs& args, F f) {
  for (long r = 0; r < args.rows; ++r) {
    Stored<Out>* out = static_cast<Stored<Out>*>(args.out) + r * args.out_pitch;
    f(out, r);
  }
}

template <Prim P, class T>
void loop(const OpArgs& args) {
  using Out = std::conditional_t<info(P).kind == PrimKind::test, bool, T>;
  using First = std::conditional_t<P == Prim::select, bool, T>;
  for_each<Out>(args, [&](Stored<Out>* out, long r) {
    const Input<First> a(args, 0, r);
    if constexpr (P == Prim::select) {
      const Input<T> b(args, 1, r);
      const Input<T> c(args, 2, r);
      for (long i = 0; i < args.cols; ++i) out[i] = static_cast<Stored<Out>>(a[i] ? b[i] : c[i]);
    } else if constexpr (arity(P) == 2) {
      const Input<T> b(args, 1, r);
      if constexpr (std::is_integral_v<T> && divides(P))
        for (long i = 0; i < args.cols; ++i)
          if (b[i] == T(0)) refuse_zero_divisor();
      for (long i = 0; i < args.cols; ++i) out[i] = static_cast<Stored<Out>>(apply<T>(P, a[i], b[i]));
    } else {
      for (long i = 0; i < args.cols; ++i) out[i] = static_cast<Stored<Out>>(apply<T>(P, a[i]));
    }
  });
}

template <class T, Prim P>
constexpr OpFn loop_or_null() {
  constexpr PrimKind kind = info(P).kind;
  constexpr bool is_real = std::is_floating_point_v<T>;
  if constexpr (kind == PrimKind::cast || (kind == PrimKind::real && !is_real) ||
                (kind == PrimKind::bits && is_real)) {
    return nullptr;
  } else {
    return &loop<P, T>;
  }
}

template <class T, std::size_t... I>
constexpr std::array<OpFn, prim_count> loops_of(std::index_sequence<I...>) {
  return {loop_or_null<T, static_cast<Prim>(I)>()...};
}
template <class T>
constexpr std::array<OpFn, prim_count> loops = loops_of<T>(std::make_index_sequence<prim_count>{});

/// Calls f with the tag of a compute type.
template <class F>
decltype(auto) dispatch_compute(DType type, F&& f) {
  switch (type) {
    case DType::boolean: return f(dtype_tag<bool>{});
    case DType::i64: return f(dtype_tag<std::int64_t>{});
    case DType::f64: return f(dtype_tag<double>{});
    default: return f(dtype_tag<float>{});
  }
}

template <class To>
using ComputeOf = std::conditional_t<std::is_same_v<To, bool> || std::is_same_v<To, double>, To,
                                     std::conditional_t<std::is_integral_v<To>, std::int64_t, float>>;

template <class From, class To>
void cast_loop(const OpArgs& args) {
  using Out = ComputeOf<To>;
  for_each<Out>(args, [&](Stored<Out>* out, long r) {
    const Input<From> a(args, 0, r);
    for (long i = 0; i < args.cols; ++i) out[i] = static_cast<Stored<Out>>(convert<Out>(convert<To>(a[i])));
  });
}

}  // namespace

OpFn generic_op(Prim p, DType type) {
  const OpFn op = dispatch_compute(
      type, [&](auto tag) { return loops<typename decltype(tag)::type>[static_cast<std::size_t>(p)]; });
  TENON_CHECK(op != nullptr);
  return op;
}

OpFn cast_op(DType from, DType to) {
  return dispatch_compute(from, [&](auto source) {
    return dispatch_real(to, [&](auto target) -> OpFn {
      return &cast_loop<typename decltype(source)::type, typename decltype(target)::type>;
    });
  });
}

}  // namespace tenon::cpu
