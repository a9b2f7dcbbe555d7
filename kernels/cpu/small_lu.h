// Gaussian elimination of a few equations, whose number is known where this is compiled. Internal to lu.cpp.
#pragma once
#include "kernels/cpu/factor_tiles.h"

namespace tenon::cpu::TENON_ISA {
namespace {

inline constexpr long most_small = 8;  // equations

/// L and U, and which row was exchanged with each, counted from 0.
template <class T, int N>
struct SmallLu {
  T numbers[N * N];
  std::int32_t pivots[N];

  TENON_INLINE T& m(int i, int j) { return numbers[i * N + j]; }
  TENON_INLINE T m(int i, int j) const { return numbers[i * N + j]; }

  TENON_INLINE explicit SmallLu(const T* a) {
    TENON_UNROLL
    for (int i = 0; i < N * N; i++) numbers[i] = a[i];
    TENON_UNROLL
    for (int k = 0; k < N; k++) eliminate(k);
  }

  TENON_INLINE void eliminate(int k) {
    int pivot = k;
    T most = m(k, k) < 0 ? -m(k, k) : m(k, k);
    TENON_UNROLL
    for (int i = k + 1; i < N; i++) {
      const T size = m(i, k) < 0 ? -m(i, k) : m(i, k);
      pivot = size > most ? i : pivot;
      most = size > most ? size : most;
    }
    pivots[k] = pivot;
    if (pivot != k) {
      TENON_UNROLL
      for (int j = 0; j < N; j++) {
        const T kept = m(k, j);
        m(k, j) = m(pivot, j);
        m(pivot, j) = kept;
      }
    }
    if (m(k, k) == 0) return;
    TENON_UNROLL
    for (int i = k + 1; i < N; i++) {
      const T factor = m(i, k) /= m(k, k);
      TENON_UNROLL
      for (int j = k + 1; j < N; j++) m(i, j) -= factor * m(k, j);
    }
  }

  /// The first row whose pivot is 0, or -1.
  TENON_INLINE long singular_row() const {
    for (int i = 0; i < N; i++)
      if (m(i, i) == 0) return i;
    return -1;
  }

  /// x with the matrix times x = b, both [N][columns].
  TENON_INLINE void solve(const T* b, long columns, T* x) const {
    using L = Lanes<T>;
    int rows[N];
    TENON_UNROLL
    for (int i = 0; i < N; i++) rows[i] = i;
    for (int i = 0; i < N; i++) {
      const int row = rows[i];
      rows[i] = rows[pivots[i]];
      rows[pivots[i]] = row;
    }
    for (long j = 0; j < columns; j += L::count) {
      const long width = columns - j < L::count ? columns - j : L::count;
      typename L::V v[N];
      TENON_UNROLL
      for (int i = 0; i < N; i++) {
        v[i] = L::load_first(b + rows[i] * columns + j, width);
        TENON_UNROLL
        for (int k = 0; k < i; k++) v[i] -= m(i, k) * v[k];
      }
      TENON_UNROLL
      for (int i = N - 1; i >= 0; i--) {
        TENON_UNROLL
        for (int k = i + 1; k < N; k++) v[i] -= m(i, k) * v[k];
        v[i] /= m(i, i);
        L::store_first(x + i * columns + j, v[i], width);
      }
    }
  }
};

/// What `use` gives of the matrix, which is its result: a square one of at most `most_small` rows.
template <class T, class Use>
TENON_INLINE long with_small_lu(const T* a, long n, const Use& use) {
  switch (n) {
    case 1: return use(SmallLu<T, 1>(a));
    case 2: return use(SmallLu<T, 2>(a));
    case 3: return use(SmallLu<T, 3>(a));
    case 4: return use(SmallLu<T, 4>(a));
    case 5: return use(SmallLu<T, 5>(a));
    case 6: return use(SmallLu<T, 6>(a));
    case 7: return use(SmallLu<T, 7>(a));
    default: return use(SmallLu<T, 8>(a));
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
