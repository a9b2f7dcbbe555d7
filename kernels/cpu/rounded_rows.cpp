// Rounds rows that are still in the L1 cache. Built once per ISA.
#include "kernels/cpu/rounded_rows.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct ToF16 {
  static TENON_INLINE vf round(vf x) { return F16::widen(F16::narrow(x)); }
};

struct ToBF16 {
  static TENON_INLINE vf round(vf x) {
    const vu bits = reinterpret_cast<vu>(x);
    const vu nearest = bits + 0x7fffu + ((bits >> 16) & 1u);
    const vu found = (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : nearest;
    return reinterpret_cast<vf>(found & 0xffff0000u);
  }
};

template <class Half, Activation::Kind kind>
TENON_INLINE vf finished(const RoundedRows& how, vf x, vf residual) {
  x = Half::round(x);
  if (how.adds) x = how.rounds_sum ? Half::round(x + residual) : x + residual;
  x = activate<kind>(how.activation, x);
  return how.rounds_result ? Half::round(x) : x;
}

template <class Half, Activation::Kind kind>
[[gnu::noinline]] void finish(const RoundedRows& how, float* x, long stride, const float* residual,
                              long residual_stride, long rows, long cols) {
  for (long r = 0; r < rows; ++r, x += stride) {
    const float* const added = how.adds ? residual + r * residual_stride : x;
    long j = 0;
    for (; j + VL <= cols; j += VL) store(x + j, finished<Half, kind>(how, load(x + j), load(added + j)));
    const int rest = static_cast<int>(cols - j);
    if (rest > 0)
      store_partial(
          x + j, finished<Half, kind>(how, load_partial(x + j, rest), load_partial(added + j, rest)), rest);
  }
}

}  // namespace

void finish_rounded(const RoundedRows& how, float* x, long stride, const float* residual,
                    long residual_stride, long rows, long cols) {
  with_kind(how.activation.kind, [&]<Activation::Kind kind>() {
    const auto run = how.to == RoundedRows::To::f16 ? finish<ToF16, kind> : finish<ToBF16, kind>;
    run(how, x, stride, residual, residual_stride, rows, cols);
  });
}

}  // namespace tenon::cpu::TENON_ISA
