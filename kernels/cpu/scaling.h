// What a number is in steps of a quantised model's scale. Per-ISA code.
#pragma once
#include "kernels/cpu/coded_rows.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

#if defined(__AVX512F__)
using Native = __m512;
static TENON_INLINE Native product(Native a, Native b) { return _mm512_mul_ps(a, b); }
static TENON_INLINE Native product_and(Native a, Native b, Native c) { return _mm512_fmadd_ps(a, b, c); }
static TENON_INLINE Native less_product(Native a, Native b, Native c) { return _mm512_fnmadd_ps(a, b, c); }
#elif defined(__AVX2__) && TENON_VL == 8
using Native = __m256;
static TENON_INLINE Native product(Native a, Native b) { return _mm256_mul_ps(a, b); }
static TENON_INLINE Native product_and(Native a, Native b, Native c) { return _mm256_fmadd_ps(a, b, c); }
static TENON_INLINE Native less_product(Native a, Native b, Native c) { return _mm256_fnmadd_ps(a, b, c); }
#endif

// x / scale, or x * scale.
#if defined(__AVX512F__) || (defined(__AVX2__) && TENON_VL == 8)
class Scaling {
 public:
  explicit TENON_INLINE Scaling(const Reciprocal& r)
      : factor_(broadcast(r.factor)), divisor_(broadcast(r.divisor)), correction_(broadcast(r.correction)) {}
  explicit TENON_INLINE Scaling(const Quantise& q) : Scaling(Reciprocal(q)) {}
  TENON_INLINE vf of(vf x) const {
    const Native near = product(reinterpret_cast<Native>(x), reinterpret_cast<Native>(factor_));
    const Native left = less_product(near, reinterpret_cast<Native>(divisor_), reinterpret_cast<Native>(x));
    return reinterpret_cast<vf>(product_and(left, reinterpret_cast<Native>(correction_), near));
  }

 private:
  vf factor_, divisor_, correction_;
};
#else
class Scaling {
 public:
  explicit TENON_INLINE Scaling(const Quantise& q) : scale_(broadcast(q.scale)), multiplies_(q.multiplies) {}
  TENON_INLINE vf of(vf x) const { return multiplies_ ? x * scale_ : x / scale_; }

 private:
  vf scale_;
  bool multiplies_;
};
#endif

}  // namespace tenon::cpu::TENON_ISA
