// Block by block, which the compiler turns into vector code. Built once per ISA.
#include "kernels/cpu/first_difference.h"

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// A float of 16 bits, whose infinity is known.
template <int infinity>
struct Bits16 {
  std::uint16_t bits;
  friend bool operator==(Bits16 a, Bits16 b) {
    const int x = a.bits & 0x7fff, y = b.bits & 0x7fff;
    return (int(a.bits == b.bits) & int(x <= infinity)) | int((x | y) == 0);
  }
};

template <class T>
long first_of(const void* x, const void* y, long n) {
  constexpr long block = 256 / sizeof(T);
  const auto *const a = static_cast<const T*>(x), *const b = static_cast<const T*>(y);
  long i = 0;
  for (; i + block <= n; i += block) {
    int differ = 0;
    for (long k = 0; k < block; ++k) differ |= !(a[i + k] == b[i + k]);
    if (differ) break;
  }
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

long first_difference(const void* a, const void* b, DType dtype, long n) {
  if (dtype == DType::f32) return first_of<float>(a, b, n);
  if (dtype == DType::f64) return first_of<double>(a, b, n);
  if (dtype == DType::f16) return first_of<Bits16<0x7c00>>(a, b, n);
  if (dtype == DType::bf16) return first_of<Bits16<0x7f80>>(a, b, n);
  switch (size_of(dtype)) {
    case 1: return first_of<std::uint8_t>(a, b, n);
    case 2: return first_of<std::uint16_t>(a, b, n);
    case 4: return first_of<std::uint32_t>(a, b, n);
    default: return first_of<std::uint64_t>(a, b, n);
  }
}

}  // namespace tenon::cpu::TENON_ISA
