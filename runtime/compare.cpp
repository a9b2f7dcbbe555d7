#include "runtime/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace tenon {

double Difference::relative() const {
  if (!comparable) return std::numeric_limits<double>::infinity();
  return max_error == 0 ? 0 : scale > 0 ? max_error / scale : max_error;
}

std::string Difference::str() const {
  if (!comparable) return "the shapes differ";
  if (!meaningful) return "nothing to compare: every expected value is NaN or infinite";
  if (max_error == 0) return "equal";
  return fmt::format("max error {:.2g} of {:.4g} (relative {:.2g}) at [{}]: {:.8g}, expected {:.8g}",
                     max_error, scale, relative(), fmt::join(worst, ","), value, expected);
}

Difference compare(const Tensor& a, const Tensor& b) {
  Difference d;
  d.comparable = a.shape() == b.shape();
  if (!d.comparable) return d;
  const Tensor x = a.to(DType::f64).contiguous(), y = b.to(DType::f64).contiguous();
  const double *p = x.data<double>(), *q = y.data<double>();
  double xx = 0, yy = 0, xy = 0;
  d.meaningful = y.numel() == 0;
  std::int64_t worst = -1;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (std::isfinite(q[i])) {
      d.meaningful = true;
      d.scale = std::max(d.scale, std::abs(q[i]));
    }
    const bool same = p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]));
    const double error = same ? 0 : std::abs(p[i] - q[i]);
    const double counted = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    if (counted > d.max_error) {
      d.max_error = counted;
      worst = i;
    }
    if (std::isfinite(p[i]) && std::isfinite(q[i])) {
      xx += p[i] * p[i];
      yy += q[i] * q[i];
      xy += p[i] * q[i];
    }
  }
  if (xx > 0 && yy > 0) d.cosine = xy / std::sqrt(xx * yy);
  if (worst >= 0) {
    d.value = p[worst];
    d.expected = q[worst];
    d.worst.resize(a.rank());
    for (std::size_t axis = a.rank(); axis-- > 0;) {
      d.worst[axis] = worst % a.shape()[axis];
      worst /= a.shape()[axis];
    }
  }
  return d;
}

}  // namespace tenon
