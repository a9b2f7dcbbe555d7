// Greatest common divisors, by Euclid's steps on vectors of floats or doubles, which are exact where these
// hold all quotients. Built once per ISA.
#include <limits>

#include "kernels/cpu/simd.h"
#include "kernels/cpu/special.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Numbers that take their steps together.
constexpr long group = 32;

template <class T>
TENON_INLINE bool are_within(const T* x, long n, T largest) {
  long outside = 0;
  for (long i = 0; i < n; ++i) {
    bool is_outside = x[i] > largest;
    if constexpr (std::is_signed_v<T>) is_outside |= x[i] < -largest;
    outside += is_outside ? 1 : 0;
  }
  return outside == 0;
}
/// Integers up to here have exact quotients, once these are cut.
template <class T, class Real>
constexpr T largest_of() {
  constexpr int bits = sizeof(Real) == 4 ? 23 : 52;
  if constexpr (std::numeric_limits<T>::digits <= bits)
    return std::numeric_limits<T>::max();
  else
    return T{1} << bits;
}

template <class Real, class T>
TENON_INLINE void divisors_of_group(T* out, const T* a, const T* b, long n) {
  Real x[group], y[group];
  for (long i = n; i < group; ++i) x[i] = y[i] = 0;
  for (long i = 0; i < n; ++i) x[i] = static_cast<Real>(a[i]);
  for (long i = 0; i < n; ++i) y[i] = static_cast<Real>(b[i]);
  for (long i = 0; i < group; ++i) x[i] = x[i] < 0 ? -x[i] : x[i], y[i] = y[i] < 0 ? -y[i] : y[i];
  for (long left = group; left > 0;) {
    left = 0;
    for (long i = 0; i < group; ++i) {
      const bool is_done = y[i] == 0;
      const Real quotient = x[i] / (is_done ? 1 : y[i]);
      const Real whole = sizeof(Real) == 4 ? static_cast<Real>(__builtin_truncf(static_cast<float>(quotient)))
                                           : static_cast<Real>(__builtin_trunc(quotient));
      const Real rest = x[i] - whole * y[i];
      x[i] = is_done ? x[i] : y[i];
      y[i] = is_done ? 0 : rest;
    }
    for (long i = 0; i < group; ++i) left += y[i] != 0 ? 1 : 0;
  }
  for (long i = 0; i < n; ++i) out[i] = static_cast<T>(x[i]);
}

template <class T>
void divisors(T* out, const T* a, const T* b, long count) {
  for (long first = 0; first < count; first += group) {
    const long n = count - first < group ? count - first : group;
    const auto fit = [&](T largest) __attribute__((always_inline)) {
      return are_within(a + first, n, largest) && are_within(b + first, n, largest);
    };
    if (fit(largest_of<T, float>())) {
      divisors_of_group<float>(out + first, a + first, b + first, n);
    } else if (sizeof(T) >= 4 && fit(largest_of<T, double>())) {
      divisors_of_group<double>(out + first, a + first, b + first, n);
    } else {
      for (long i = first; i < first + n; ++i) out[i] = scalar_detail::common_divisor(a[i], b[i]);
    }
  }
}

}  // namespace

void divisors_piece(const DivisorsPiece& p) {
  const auto run = [&]<class T>(T) {
    divisors(static_cast<T*>(p.out), static_cast<const T*>(p.a), static_cast<const T*>(p.b), p.count);
  };
  switch (p.dtype) {
    case DType::u8: return run(std::uint8_t{});
    case DType::i8: return run(std::int8_t{});
    case DType::u16: return run(std::uint16_t{});
    case DType::i16: return run(std::int16_t{});
    case DType::u32: return run(std::uint32_t{});
    case DType::i32: return run(std::int32_t{});
    case DType::u64: return run(std::uint64_t{});
    default: return run(std::int64_t{});
  }
}

}  // namespace tenon::cpu::TENON_ISA
