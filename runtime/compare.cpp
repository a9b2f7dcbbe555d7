#include "runtime/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/literal.h"
#include "ir/string_tensor.h"

namespace tenon {

double Difference::relative() const {
  if (!comparable) return std::numeric_limits<double>::infinity();
  return max_error == 0 ? 0 : scale > 0 ? max_error / scale : max_error;
}

bool Difference::within(double tolerance) const {
  if (!comparable) return false;
  return max_error == 0 || (!exact && compared > 0 && std::isfinite(max_error) && relative() <= tolerance);
}

std::string Difference::why_nothing() const {
  if (!comparable || compared > 0) return "";
  if (elements == 0) return "there are no elements";
  return infinities == 0          ? "every value is NaN"
         : infinities == elements ? "every value is infinite"
                                  : "every value is NaN or infinite";
}

std::string Difference::str() const {
  if (!comparable) return "the shapes differ, or strings are compared with numbers";
  if (max_error == 0) return compared > 0 ? "equal" : "nothing was compared: " + why_nothing();
  const std::string where =
      fmt::format("at [{}]: {}, expected {}", fmt::join(worst, ","), value_str(), expected_str());
  if (!text.empty()) return "differs " + where;
  return fmt::format("max error {:.2g} of {:.4g} (relative {:.2g}) {}", max_error, scale, relative(), where);
}

std::string Difference::value_str() const { return text.empty() ? fmt::format("{:.8g}", value) : text; }
std::string Difference::expected_str() const {
  return expected_text.empty() ? fmt::format("{:.8g}", expected) : expected_text;
}

namespace {

double error_between(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double error = std::abs(x - y);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}
double error_between(std::int64_t x, std::int64_t y) {
  return x == y ? 0 : std::max(1.0, std::abs(static_cast<double>(x) - static_cast<double>(y)));
}

Index place_of(std::int64_t element, const Index& shape) {
  Index place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return place;
}

template <class T>
void compare_elements(const Tensor& a, const Tensor& b, Difference& d) {
  const T *p = a.data<T>(), *q = b.data<T>();
  double xx = 0, yy = 0, xy = 0;
  std::int64_t worst = -1;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const auto x = static_cast<double>(p[i]), y = static_cast<double>(q[i]);
    if (std::isfinite(y)) d.scale = std::max(d.scale, std::abs(y));
    if (const double error = error_between(p[i], q[i]); error > d.max_error) {
      d.max_error = error;
      worst = i;
    }
    d.infinities += std::isinf(y) && x == y;
    if (std::isfinite(x) && std::isfinite(y)) {
      ++d.compared;
      xx += x * x;
      yy += y * y;
      xy += x * y;
    }
  }
  if (xx > 0 && yy > 0) d.cosine = xy / std::sqrt(xx * yy);
  if (worst < 0) return;
  d.value = static_cast<double>(p[worst]);
  d.expected = static_cast<double>(q[worst]);
  d.worst = place_of(worst, a.shape());
}

void compare_strings(const Tensor& a, const Tensor& b, Difference& d) {
  const auto p = texts_of(a), q = texts_of(b);
  d.exact = true;
  d.compared = a.numel();
  const auto [x, y] = std::mismatch(p.begin(), p.end(), q.begin());
  if (x == p.end()) return;
  d.max_error = 1;
  d.worst = place_of(x - p.begin(), a.shape());
  d.text = quoted_text(*x);
  d.expected_text = quoted_text(*y);
}

}  // namespace

Difference compare(const Tensor& a, const Tensor& b) {
  Difference d;
  d.comparable = a.shape() == b.shape() && is_string(a.dtype()) == is_string(b.dtype());
  if (!d.comparable) return d;
  d.elements = a.numel();
  if (is_string(a.dtype())) {
    compare_strings(a, b, d);
    return d;
  }
  d.exact = !is_float(a.dtype()) && !is_float(b.dtype());
  const DType common = d.exact ? DType::i64 : DType::f64;
  const Tensor x = a.to(common).contiguous(), y = b.to(common).contiguous();
  d.exact ? compare_elements<std::int64_t>(x, y, d) : compare_elements<double>(x, y, d);
  return d;
}

}  // namespace tenon
