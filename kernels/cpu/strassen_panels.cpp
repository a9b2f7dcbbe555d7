// Scales of B, and panels of its columns as sums of its quarters. Built once per ISA.
#include "kernels/cpu/strassen.h"
#include "kernels/cpu/strassen_scales.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr std::int32_t least_exponent = -126;  // of a normal number

std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }

// The power of two that brings this magnitude to 1 to 2, when it is divided by it; 0 of 0.
float scale_of(std::int32_t largest) {
  return largest == 0 ? 0 : power_of_two(larger(exponent_of(largest), least_exponent));
}

float divisor(float scale) { return scale == 0 ? 1 : 1 / scale; }

// Columns of either half, which are brought to the same scale.
class Side {
 public:
  Side(const float* panel, const float* depth_scale, long depth)
      : panel_(panel), depth_scale_(depth_scale), depth_(depth) {}

  // Writes what the columns are divided by. Do all fit?
  bool scale(float* unscale) {
    vi largest[panel_vectors] = {}, near[panel_vectors] = {}, least[panel_vectors];
    each([&](int j, vi x) __attribute__((always_inline)) { largest[j] = largest[j] > x ? largest[j] : x; });
    for (int j = 0; j < panel_vectors; j++)
      for (int i = 0; i < VL; i++) least[j][i] = least_near_of(largest[j][i]);
    each([&](int j, vi x) __attribute__((always_inline)) { near[j] -= x >= least[j]; });
    bool fits = true;
    for (int j = 0; j < panel_vectors; j++) {
      for (int i = 0; i < VL; i++) {
        fits &= largest[j][i] == 0 || !strassen_has_outliers(near[j][i], depth_);
        unscale[j * VL + i] = scale_of(largest[j][i]);
        factor_[j][i] = divisor(unscale[j * VL + i]);
      }
    }
    return fits;
  }

  // Vector j of row k, scaled.
  TENON_INLINE vf at(long k, int j) const { return row(k, j) * factor_[j]; }

 private:
  TENON_INLINE vf row(long k, int j) const {
    return load(panel_ + k * panel_cols + j * VL) * divisor(depth_scale_[k]);
  }
  template <class F>
  TENON_INLINE void each(F f) const {
    for (long k = 0; k < depth_; k++) {
      TENON_UNROLL
      for (int j = 0; j < panel_vectors; j++) f(j, magnitude(row(k, j)));
    }
  }

  const float* panel_;
  const float* depth_scale_;
  long depth_;
  vf factor_[panel_vectors];
};

}  // namespace

bool scale_strassen_depth(const StrassenDepth& d) {
  std::int32_t* const largest = reinterpret_cast<std::int32_t*>(d.scale);
  for (long k = 0; k < d.count; k++) largest[k] = 0;
  if (d.k_stride == 1) {
    for (long n = 0; n < d.N; n++) {
      const float* const from = d.data + n * d.n_stride;
      long k = 0;
      for (; k + VL <= d.count; k += VL) {
        const vi x = magnitude(load(from + k)), before = load(largest + k);
        store(largest + k, before > x ? before : x);
      }
      for (; k < d.count; k++) largest[k] = larger(largest[k], magnitude(from[k]));
    }
  } else {
    for (long k = 0; k < d.count; k++) {
      const float* const row = d.data + k * d.k_stride;
      vi lanes{};
      long n = 0;
      for (; d.n_stride == 1 && n + VL <= d.N; n += VL) {
        const vi x = magnitude(load(row + n));
        lanes = lanes > x ? lanes : x;
      }
      for (; n < d.N; n++) largest[k] = larger(largest[k], magnitude(row[n * d.n_stride]));
      for (int i = 0; i < VL; i++) largest[k] = larger(largest[k], lanes[i]);
    }
  }
  bool fits = true;
  for (long k = 0; k < d.count; k++) {
    fits &= largest[k] <= magnitude(power_of_two(most_exponent));
    d.scale[k] = scale_of(largest[k]);
  }
  return fits;
}

bool form_strassen_panels(const StrassenPanels& p) {
  const long half = p.half_depth;
  Side left(p.left, p.depth_scale, 2 * half), right(p.right, p.depth_scale, 2 * half);
  const bool left_fits = left.scale(p.left_unscale), right_fits = right.scale(p.right_unscale);
  if (!left_fits || !right_fits) return false;
  for (long k = 0; k < half; k++) {
    TENON_UNROLL
    for (int j = 0; j < panel_vectors; j++) {
      const vf b11 = left.at(k, j), b12 = right.at(k, j);
      const vf b21 = left.at(half + k, j), b22 = right.at(half + k, j);
      float* const to = p.sums + k * panel_cols + j * VL;
      const auto put = [&](int sum, vf x) __attribute__((always_inline)) {
        store(to + sum * half * panel_cols, x);
      };
      put(0, b11 + b22);
      put(1, b11);
      put(2, b12 - b22);
      put(3, b21 - b11);
      put(4, b22);
      put(5, (b21 + b22) * load(p.left_unscale + j * VL));
      put(6, (b11 + b12) * load(p.right_unscale + j * VL));
    }
  }
  return true;
}

}  // namespace tenon::cpu::TENON_ISA
