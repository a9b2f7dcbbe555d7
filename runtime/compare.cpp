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

std::string Difference::value_str() const { return text.empty() ? number_str(value, is_complex) : text; }
std::string Difference::expected_str() const {
  return expected_text.empty() ? number_str(expected, is_complex) : expected_text;
}

std::string number_str(std::complex<double> number, bool is_complex, int digits) {
  const std::string real = fmt::format("{:.{}g}", number.real(), digits);
  return is_complex ? real + fmt::format("{:+.{}g}i", number.imag(), digits) : real;
}

namespace {

using Complex = std::complex<double>;

bool is_nan(double x) { return std::isnan(x); }
bool is_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
bool is_finite(double x) { return std::isfinite(x); }
bool is_finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

template <class T>
double error_of(T x, T y) {
  if (x == y || (is_nan(x) && is_nan(y))) return 0;
  const double error = std::abs(x - y);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double error_of(std::int64_t x, std::int64_t y) {
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

double product_of(double x, double y) { return x * y; }
double product_of(Complex x, Complex y) { return x.real() * y.real() + x.imag() * y.imag(); }

// In elements of T, whose size and product are those of a Number.
template <class T, class Number>
void compare_elements(const Tensor& a, const Tensor& b, Difference& d) {
  const T *p = a.data<T>(), *q = b.data<T>();
  double xx = 0, yy = 0, xy = 0;
  std::int64_t worst = -1;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const auto x = static_cast<Number>(p[i]), y = static_cast<Number>(q[i]);
    if (is_finite(y)) d.scale = std::max(d.scale, std::abs(y));
    if (const double error = error_of(p[i], q[i]); error > d.max_error) {
      d.max_error = error;
      worst = i;
    }
    d.infinities += !is_finite(y) && x == y;
    if (is_finite(x) && is_finite(y)) {
      ++d.compared;
      xx += product_of(x, x);
      yy += product_of(y, y);
      xy += product_of(x, y);
    }
  }
  if (xx > 0 && yy > 0) d.cosine = xy / std::sqrt(xx * yy);
  if (worst < 0) return;
  d.value = static_cast<Number>(p[worst]);
  d.expected = static_cast<Number>(q[worst]);
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

double error_between(double x, double y) { return error_of(x, y); }
double error_between(std::complex<double> x, std::complex<double> y) { return error_of(x, y); }

Difference compare(const Tensor& a, const Tensor& b) {
  Difference d;
  d.comparable = a.shape() == b.shape() && is_string(a.dtype()) == is_string(b.dtype());
  if (!d.comparable) return d;
  d.elements = a.numel();
  if (is_string(a.dtype())) {
    compare_strings(a, b, d);
    return d;
  }
  const auto either = [&](auto has) { return has(a.dtype()) || has(b.dtype()); };
  d.is_complex = either(is_complex);
  d.exact = !d.is_complex && !either(is_float);
  const DType common = d.is_complex ? DType::c128 : d.exact ? DType::i64 : DType::f64;
  const Tensor x = a.to(common).contiguous(), y = b.to(common).contiguous();
  if (d.is_complex)
    compare_elements<Complex, Complex>(x, y, d);
  else if (d.exact)
    compare_elements<std::int64_t, double>(x, y, d);
  else
    compare_elements<double, double>(x, y, d);
  return d;
}

}  // namespace tenon
