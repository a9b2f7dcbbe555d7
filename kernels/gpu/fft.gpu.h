// The discrete Fourier transform of lines: a block computes one, by factors of its length (Stockham).
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

constexpr int fft_threads = 256;

template <class C>
struct ComplexNumber {
  C real, imag;
};

template <class C>
GPU_INLINE ComplexNumber<C> operator*(ComplexNumber<C> a, ComplexNumber<C> b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

/// exp(2 pi i k / n) of 0 <= k < n, exactly at quarter turns.
template <class C>
GPU_INLINE ComplexNumber<C> root_of_unity(int k, int n) {
  const int quarter = int((4 * Int(k) + n / 2) / n);
  const C angle = C(pi / 2) * (C(4 * Int(k) - Int(quarter) * n) / C(n));
  const C x = cos(angle), y = sin(angle);
  switch (quarter % 4) {
    case 0: return {x, y};
    case 1: return {-y, x};
    case 2: return {-x, -y};
    default: return {y, -x};
  }
}

GPU_INLINE int factor_of(int n) {
  if (n % 4 == 0) return 4;
  for (int p = 2; Int(p) * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

/// from: the transforms of length m of every (n / m)-th element, one behind the other; to: those of length L,
/// each made of L / m. `roots` has n of them.
template <class C>
GPU_INLINE void join_transforms(const ComplexNumber<C>* from, ComplexNumber<C>* to,
                                const ComplexNumber<C>* roots, int n, int m, int L) {
  const int count = n / L;
  for (int i = int(threadIdx.x); i < n; i += fft_threads) {
    const int k = i % L;
    const ComplexNumber<C>* part = from + Int(i / L) * m + k % m;
    ComplexNumber<C> sum = *part;
    int turn = 0;  // r k modulo L
    for (int r = 1; r < L / m; ++r) {
      turn = turn >= L - k ? turn - (L - k) : turn + k;
      const ComplexNumber<C> term = part[Int(r) * count * m] * roots[Int(turn) * count];
      sum.real += term.real;
      sum.imag += term.imag;
    }
    to[i] = sum;
  }
}

/// `work` has room for 3 n numbers.
template <class C>
GPU_INLINE void transform_line(const ComplexNumber<C>* x, ComplexNumber<C>* y, ComplexNumber<C>* work, int n,
                               bool inverse) {
  ComplexNumber<C>*from = work, *to = work + n, *roots = to + n;
  for (int i = int(threadIdx.x); i < n; i += fft_threads) {
    from[i] = x[i];
    roots[i] = root_of_unity<C>(i, n);
    if (!inverse) roots[i].imag = -roots[i].imag;
  }
  __syncthreads();
  for (int m = 1; m < n;) {
    const int L = m * factor_of(n / m);
    join_transforms(from, to, roots, n, m, L);
    __syncthreads();
    ComplexNumber<C>* const joined = to;
    to = from;
    from = joined;
    m = L;
  }
  for (int i = int(threadIdx.x); i < n; i += fft_threads) y[i] = from[i];
}

}  // namespace tenon::gpu
