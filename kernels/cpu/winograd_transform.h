// The one-dimensional transforms of F(2,3), F(4,3), F(6,3), F(2,5), F(4,5), F(5,4) and F(7,2). Per-ISA code.
//
// With points p_i, of which infinity is the last, and n = tile + kernel - 1 of them: output = A^T [(G w) *
// (B^T d)]. B^T depends on the points alone. Even and odd parts of the symmetric points are shared. Points 0,
// +-2/3, +-4/3 give F(4,3) a quarter of the error of the usual 0, +-1, +-2.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// By the number of points, with infinity.
template <int Points>
struct WinogradTransform;

/// Of an axis without taps.
template <>
struct WinogradTransform<1> {
  static constexpr double point[] = {0};

  static TENON_INLINE void input(vf*) {}
  template <int Tile>
  static TENON_INLINE void output(const vf* m, vf* y) {
    static_assert(Tile == 1);
    y[0] = m[0];
  }
};

template <>
struct WinogradTransform<4> {
  static constexpr double point[] = {0, 1, -1};

  /// B^T d, in place.
  static TENON_INLINE void input(vf* d) {
    const vf first = d[2] - d[0], last = d[3] - d[1];
    const vf odd = d[1];
    d[0] = first;
    d[1] = d[2] + odd;
    d[2] = d[2] - odd;
    d[3] = last;
  }
  /// y = A^T m. `Tile` outputs.
  template <int Tile>
  static TENON_INLINE void output(const vf* m, vf* y) {
    static_assert(Tile == 2);
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
};

template <>
struct WinogradTransform<6> {
  static constexpr double a = 2.0 / 3;
  static constexpr double b = 4.0 / 3;
  static constexpr double point[] = {0, a, -a, b, -b};

  static TENON_INLINE void input(vf* d) {
    constexpr float a1 = a;
    constexpr float b1 = b;
    constexpr float a2 = a * a;
    constexpr float b2 = b * b;
    constexpr float a2b2 = a * a * b * b;
    constexpr float sum = a * a + b * b;
    const vf even_a = d[4] - b2 * d[2];
    const vf odd_a = a1 * (d[3] - b2 * d[1]);
    const vf even_b = d[4] - a2 * d[2];
    const vf odd_b = b1 * (d[3] - a2 * d[1]);
    d[0] = a2b2 * d[0] + (d[4] - sum * d[2]);
    d[5] = a2b2 * d[1] + (d[5] - sum * d[3]);
    d[1] = even_a + odd_a;
    d[2] = even_a - odd_a;
    d[3] = even_b + odd_b;
    d[4] = even_b - odd_b;
  }
  template <int Tile>
  static TENON_INLINE void output(const vf* m, vf* y) {
    static_assert(Tile == 2 || Tile == 4);
    constexpr float a1 = a;
    constexpr float b1 = b;
    constexpr float a2 = a * a;
    constexpr float b2 = b * b;
    constexpr float a3 = a * a * a;
    constexpr float b3 = b * b * b;
    const vf even_a = m[1] + m[2];
    const vf odd_a = m[1] - m[2];
    const vf even_b = m[3] + m[4];
    const vf odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    if constexpr (Tile == 2) {
      y[1] = a1 * odd_a + (b1 * odd_b + m[5]);
    } else {
      y[1] = a1 * odd_a + b1 * odd_b;
      y[2] = a2 * even_a + b2 * even_b;
      y[3] = a3 * odd_a + (b3 * odd_b + m[5]);
    }
  }
};

template <>
struct WinogradTransform<8> {
  static constexpr double point[] = {0, 1, -1, 2, -2, 0.5, -0.5};

  /// d6 - (q + r) d4 + q r d2: the even (or odd) part of the polynomial without the factors of squares q and
  /// r.
  static TENON_INLINE vf part(float q, float r, vf d6, vf d4, vf d2) {
    return (q * r) * d2 + (d6 - (q + r) * d4);
  }

  static TENON_INLINE void input(vf* d) {
    constexpr float sum = 1.0f + 4.0f + 0.25f;
    constexpr float pairs = 1.0f * 4.0f + 1.0f * 0.25f + 4.0f * 0.25f;
    const vf first = (d[6] - d[0]) + (pairs * d[2] - sum * d[4]);
    const vf last = (d[7] - d[1]) + (pairs * d[3] - sum * d[5]);
    const vf even_1 = part(4.0f, 0.25f, d[6], d[4], d[2]);
    const vf odd_1 = part(4.0f, 0.25f, d[5], d[3], d[1]);
    const vf even_2 = part(1.0f, 0.25f, d[6], d[4], d[2]);
    const vf odd_2 = 2.0f * part(1.0f, 0.25f, d[5], d[3], d[1]);
    const vf even_half = part(1.0f, 4.0f, d[6], d[4], d[2]);
    const vf odd_half = 0.5f * part(1.0f, 4.0f, d[5], d[3], d[1]);
    d[0] = first;
    d[1] = even_1 + odd_1;
    d[2] = even_1 - odd_1;
    d[3] = even_2 + odd_2;
    d[4] = even_2 - odd_2;
    d[5] = even_half + odd_half;
    d[6] = even_half - odd_half;
    d[7] = last;
  }
  template <int Tile>
  static TENON_INLINE void output(const vf* m, vf* y) {
    static_assert(Tile >= 4 && Tile <= 7);
    const vf even_1 = m[1] + m[2];
    const vf odd_1 = m[1] - m[2];
    const vf even_2 = m[3] + m[4];
    const vf odd_2 = m[3] - m[4];
    const vf even_half = m[5] + m[6];
    const vf odd_half = m[5] - m[6];
    y[0] = m[0] + even_1 + (even_2 + even_half);
    TENON_UNROLL
    for (int i = 1; i < Tile; i++) {
      const float power = static_cast<float>(1 << i);
      vf half = 1 / power * (i % 2 == 0 ? even_half : odd_half);
      if (i == Tile - 1) half += m[7];
      y[i] = (i % 2 == 0 ? even_1 : odd_1) + (power * (i % 2 == 0 ? even_2 : odd_2) + half);
    }
  }
};

/// Row i of G times the filter: its polynomial at point i over the product of the point's distances.
template <int Points, int Kernel>
struct WinogradFilter {
  double g[Points][Kernel];

  constexpr WinogradFilter() : g{} {
    const double* p = WinogradTransform<Points>::point;
    for (int i = 0; i < Points - 1; i++) {
      double power = 1;
      for (int j = 0; j < Points - 1; j++) {
        if (j != i) power /= p[i] - p[j];
      }
      for (int k = 0; k < Kernel; k++, power *= p[i]) g[i][k] = power;
    }
    g[Points - 1][Kernel - 1] = 1;
  }
};

}  // namespace tenon::cpu::TENON_ISA
