// The loops of every primitive on every type that values are held in, and of casts between them, from the
// meanings in base/scalar.h: plain loops, which the compiler turns into vector code. Built once per ISA.
#include "base/zero_division.h"
#include "kernels/cpu/loop_pieces.h"

namespace tenon::cpu::TENON_ISA {

/// Of loop_ops_simd.cpp.
const SimdOps& loop_simd_ops();

namespace {

template <Prim P, class T>
using OperandOf = std::conditional_t<P == Prim::select, bool, T>;
template <Prim P, class T>
using ResultOf = std::conditional_t<info(P).kind == PrimKind::test, bool, T>;

template <Prim P, class T>
void loop(const OpArgs& args) {
  using First = OperandOf<P, T>;
  using Out = ResultOf<P, T>;
  if constexpr (P == Prim::select) {
    for_each_piece<Out, First, T, T>(args, [](Stored<Out>* out, const Stored<First>* a, const Stored<T>* b,
                                              const Stored<T>* c, long n) {
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
    });
  } else if constexpr (arity(P) == 2) {
    for_each_piece<Out, T, T>(args, [](Stored<Out>* out, const Stored<T>* a, const Stored<T>* b, long n) {
      if constexpr (std::is_integral_v<T> && divides(P)) {
        bool divided_by_zero = false;
        for (long i = 0; i < n; ++i) divided_by_zero |= b[i] == 0;
        if (divided_by_zero) refuse_zero_divisor();
      }
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i)
        out[i] = static_cast<Stored<Out>>(apply<T>(P, static_cast<T>(a[i]), static_cast<T>(b[i])));
    });
  } else {
    for_each_piece<Out, T>(args, [](Stored<Out>* out, const Stored<T>* a, long n) {
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = static_cast<Stored<Out>>(apply<T>(P, static_cast<T>(a[i])));
    });
  }
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

struct LoopsOfType {
  OpFn prim[prim_count];
};
template <class T, std::size_t... I>
constexpr LoopsOfType loops_of(std::index_sequence<I...>) {
  return {{loop_or_null<T, static_cast<Prim>(I)>()...}};
}
template <class T>
constexpr LoopsOfType loops = loops_of<T>(std::make_index_sequence<prim_count>{});

template <class From, class To>
void cast_loop(const OpArgs& args) {
  using Out = HeldOf<To>;
  for_each_piece<Out, From>(args, [](Stored<Out>* out, const Stored<From>* a, long n) {
    TENON_NO_OVERLAP
    for (long i = 0; i < n; ++i)
      out[i] = static_cast<Stored<Out>>(convert<Out>(convert<To>(static_cast<From>(a[i]))));
  });
}

/// The floats of args.out, rounded to a 16-bit format.
void round_in_place(const OpArgs& args, OpFn round) {
  OpArgs again = args;
  again.in[0] = args.out;
  again.in_pitch[0] = args.out_pitch;
  again.splat[0] = false;
  round(again);
}
template <class From, class To>
constexpr OpFn cast_or_rounding() {
  if constexpr (std::is_same_v<To, Half>) {
    return [](const OpArgs& args) {
      cast_loop<From, float>(args);
      round_in_place(args, loop_simd_ops().round_to_f16);
    };
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return [](const OpArgs& args) {
      cast_loop<From, float>(args);
      round_in_place(args, loop_simd_ops().round_to_bf16);
    };
  } else {
    return &cast_loop<From, To>;
  }
}

}  // namespace

OpFn loop_op_of_type(Prim p, DType type) {
  return dispatch_held(
      type, [&](auto tag) { return loops<typename decltype(tag)::type>.prim[static_cast<std::size_t>(p)]; });
}

OpFn loop_cast_op(DType from, DType to) {
  return dispatch_held(from, [&](auto source) {
    return dispatch_real(to, [&](auto target) -> OpFn {
      return cast_or_rounding<typename decltype(source)::type, typename decltype(target)::type>();
    });
  });
}

}  // namespace tenon::cpu::TENON_ISA
