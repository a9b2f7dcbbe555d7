// Rows of the sums that Strassen's method multiplies, and of those that it makes of products. Built once per
// ISA.
#include "kernels/cpu/strassen.h"
#include "kernels/cpu/strassen_scales.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// What a row is multiplied by, and its results are: 0 where the row is, which stay exact then.
struct RowScale {
  bool fits = true;
  float scale = 1, unscale = 0;

  RowScale(const float* row, const float* depth_scale, long count) {
    const auto each = [&](auto&& of_vector, auto&& of_one) __attribute__((always_inline)) {
      long k = 0;
      for (; k + VL <= count; k += VL) of_vector(magnitude(load(row + k) * load(depth_scale + k)));
      for (; k < count; k++) of_one(magnitude(row[k] * depth_scale[k]));
    };
    vi lanes{};
    std::int32_t largest = 0;
    const auto take = [&](std::int32_t x) { largest = largest > x ? largest : x; };
    each([&](vi x) { lanes = lanes > x ? lanes : x; }, take);
    for (int i = 0; i < VL; i++) take(lanes[i]);
    if (largest == 0) return;
    const std::int32_t exponent =
        exponent_of(largest) < -most_exponent ? -most_exponent : exponent_of(largest);
    const std::int32_t least_near = least_near_of(largest);
    vi near_lanes{};
    long near = 0;
    each([&](vi x) { near_lanes -= x >= least_near; }, [&](std::int32_t x) { near += x >= least_near; });
    for (int i = 0; i < VL; i++) near += near_lanes[i];
    fits = exponent <= most_exponent && !strassen_has_outliers(near, count);
    if (!fits) return;
    scale = power_of_two(-exponent);
    unscale = power_of_two(exponent);
  }
};

// Four quarters' elements k of both rows, to element k of the seven sums.
template <class V, class Load, class Store>
TENON_INLINE void write_sums(const Load& at, const Store& put, V up, V low, V un_up, V un_low) {
  const V a11 = at(0) * up, a12 = at(1) * up, a21 = at(2) * low, a22 = at(3) * low;
  put(0, a11 + a22);
  put(1, a21 + a22);
  put(2, a11);
  put(3, a22);
  put(4, a11 + a12);
  put(5, (a12 - a22) * un_up);
  put(6, (a21 - a11) * un_low);
}

}  // namespace

bool form_strassen_sums(const StrassenRows& r) {
  const RowScale upper(r.upper, r.depth_scale, 2 * r.half_depth);
  const RowScale lower(r.lower, r.depth_scale, r.lower ? 2 * r.half_depth : 0);
  if (!upper.fits || !lower.fits) return false;
  r.unscale[0] = upper.unscale;
  r.unscale[1] = lower.unscale;
  const long half = r.half_depth;
  long k = 0;
  for (; k + VL <= half; k += VL) {
    write_sums<vf>(
        [&](int quarter) __attribute__((always_inline)) {
          const float* const row = quarter < 2 ? r.upper : r.lower;
          const long at = quarter % 2 * half + k;
          return row ? load(row + at) * load(r.depth_scale + at) : vf{};
        },
        [&](int sum, vf x) __attribute__((always_inline)) { store(r.sums + sum * r.sum_distance + k, x); },
        broadcast(upper.scale), broadcast(lower.scale), broadcast(upper.unscale), broadcast(lower.unscale));
  }
  for (; k < half; k++) {
    write_sums<float>(
        [&](int quarter) {
          const float* const row = quarter < 2 ? r.upper : r.lower;
          const long at = quarter % 2 * half + k;
          return row ? row[at] * r.depth_scale[at] : 0.0f;
        },
        [&](int sum, float x) { r.sums[sum * r.sum_distance + k] = x; }, upper.scale, lower.scale,
        upper.unscale, lower.unscale);
  }
  return true;
}

void join_strassen_row(const StrassenJoin& j) {
  const vf up = broadcast(j.row_unscale[0]), low = broadcast(j.row_unscale[1]);
  for (long n = 0; n < j.cols; n += VL) {
    float* const p = j.products + n;
    const long d = j.product_distance;
    const vf m1 = load(p), m2 = load(p + d), m3 = load(p + 2 * d), m4 = load(p + 3 * d), m5 = load(p + 4 * d);
    const vf left = load(j.left_unscale + n), right = load(j.right_unscale + n);
    store(p, (m1 + m4 - m5) * up * left);
    store(p + d, (m1 - m2 + m3) * low * right);
    store(p + 2 * d, (m3 + m5) * up * right);
    store(p + 3 * d, (m2 + m4) * low * left);
  }
}

}  // namespace tenon::cpu::TENON_ISA
