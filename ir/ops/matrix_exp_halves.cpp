#include "ir/ops/matrix_exp_halves.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"

namespace tenon {
namespace {

using Numbers = std::vector<float>;  // of one matrix, or coefficients
using Rows = std::vector<std::vector<double>>;

/// The norms up to which Taylor polynomials of degree 1, 2, 4, 8 and 12 serve, and that to which a matrix is
/// scaled for degree 18: those of f64.
constexpr std::array thetas = {2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04,
                               4.991228871115323e-02, 2.996158913811580e-01, 1.090863719290036e+00};

/// Bader, Blanes and Casas, "Computing the matrix exponential with an optimized Taylor polynomial
/// approximation": the combinations of I, A, A^2, A^3 (and A^6) that degree 12 and 18 are made of.
const Rows of_degree_12 = {
    {9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740},
    {5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989},
    {0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230},
    {-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359}};
const Rows of_degree_18 = {
    {0., -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.},
    {0., 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01,
     -6.37898194594723280150e-04},
    {-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02,
     -6.98210122488052056106e-03, 3.34975017086070470649e-05},
    {-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
     2.95552570429315521194e-02, -1.39180257516060693404e-05},
    {0., 0., -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05}};

/// T is Half or BFloat16: every operation is rounded to it.
template <class T>
class Exponential {
 public:
  explicit Exponential(std::int64_t size) : n_(static_cast<std::size_t>(size)) {}

  /// A matrix that is alone takes the polynomial that its norm allows.
  Numbers of(const Numbers& a, bool is_alone) const {
    if (n_ == 1) return {rounded(std::exp(a[0]))};
    const float norm = norm_of(a);
    if (is_alone && std::isnan(norm)) return Numbers(a.size(), norm);
    if (is_alone && norm <= thetas[0]) return sum({identity(), a});
    if (is_alone && norm <= thetas[1]) return sum({identity(), a, scaled(product(a, a), 0.5F)});
    if (is_alone && norm <= thetas[2]) return degree_4(a);
    if (is_alone && norm <= thetas[3]) return degree_8(a);
    if (is_alone && norm <= thetas[4]) return degree_12(a);
    const float count = std::ceil(rounded(std::log2(rounded(norm / static_cast<float>(thetas[5])))));
    const int squarings = std::isfinite(count) ? std::max(0, static_cast<int>(count)) : 0;
    Numbers y = degree_18(scaled(a, rounded(std::exp2(-std::max(count, 0.0F)))));
    for (int i = 0; i < squarings; ++i) y = product(y, y);
    return y;
  }

 private:
  static float rounded(float x) { return T(x); }

  float norm_of(const Numbers& a) const {
    float norm = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      float total = 0;
      for (std::size_t i = 0; i < n_; ++i) total += std::fabs(a[i * n_ + j]);
      norm = std::isnan(total) || std::isnan(norm) ? std::numeric_limits<float>::quiet_NaN()
                                                   : std::max(norm, rounded(total));
    }
    return norm;
  }

  Numbers identity() const {
    Numbers y(n_ * n_);
    for (std::size_t i = 0; i < n_; ++i) y[i * n_ + i] = 1;
    return y;
  }

  Numbers product(const Numbers& a, const Numbers& b) const {
    Numbers y(n_ * n_);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        double total = 0;
        for (std::size_t k = 0; k < n_; ++k)
          total += static_cast<double>(a[i * n_ + k]) * static_cast<double>(b[k * n_ + j]);
        y[i * n_ + j] = rounded(static_cast<float>(total));
      }
    return y;
  }

  static Numbers scaled(Numbers a, float by) {
    for (float& x : a) x = rounded(x * by);
    return a;
  }
  static Numbers plus(Numbers a, const Numbers& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = rounded(a[i] + b[i]);
    return a;
  }
  static Numbers sum(const std::vector<Numbers>& all) {
    Numbers y(all[0].size());
    for (const Numbers& a : all)
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += a[i];
    return scaled(std::move(y), 1);
  }

  /// The f64 numbers as memory, of which each takes four of T: as many as there were are read.
  static Numbers as_read(const Rows& rows) {
    std::vector<std::uint16_t> memory;
    std::size_t count = 0;
    for (const auto& row : rows)
      for (const double x : row) {
        const auto parts = std::bit_cast<std::array<std::uint16_t, 4>>(x);
        memory.insert(memory.end(), parts.begin(), parts.end());
        ++count;
      }
    Numbers read;
    for (std::size_t i = 0; i < count; ++i) {
      T number;
      number.bits = memory[i];
      read.push_back(number);
    }
    return read;
  }

  /// For each row of coefficients the sum of as many matrices times them.
  static std::vector<Numbers> combined(const std::vector<Numbers>& matrices, const Rows& rows) {
    const Numbers read = as_read(rows);
    std::vector<Numbers> out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Numbers y(matrices[0].size());
      for (std::size_t k = 0; k < rows[r].size(); ++k)
        y = plus(std::move(y), scaled(matrices[k], read[r * rows[r].size() + k]));
      out.push_back(std::move(y));
    }
    return out;
  }
  static Numbers combined(const std::vector<Numbers>& matrices, const std::vector<double>& row) {
    return combined(matrices, Rows{row})[0];
  }

  Numbers degree_4(const Numbers& a) const {
    const Numbers square = product(a, a);
    const Numbers rest = product(square, combined({identity(), a, square}, {1 / 2.0, 1 / 6.0, 1 / 24.0}));
    return combined({identity(), a, square, rest}, {1.0, 1.0, 0.0, 1.0});
  }

  Numbers degree_8(const Numbers& a) const {
    const double root = 0.1330413469565007072504e+2, x3 = 2. / 3.;  // of 177
    const Numbers square = product(a, a);
    const Numbers fourth =
        product(square, combined({a, square}, {x3 * ((1. + root) / 88.), x3 * ((1. + root) / 352.)}));
    const std::vector<double> right = {(-271. + 29. * root) / (315. * x3), (-11. + 11. * root) / (1260. * x3),
                                       (-99. + 11. * root) / (5040. * x3), (89. - root) / (5040. * x3)};
    const Numbers eighth =
        product(combined({square, fourth}, {x3, 1.0}), combined({identity(), a, square, fourth}, right));
    const double y2 = (857. - 58. * root) / 630.;
    return combined({identity(), a, square, fourth, eighth}, {1.0, 1.0, y2, 0.0, 1.0});
  }

  Numbers degree_12(const Numbers& a) const {
    const Numbers square = product(a, a), cube = product(a, square);
    const auto b = combined({identity(), a, square, cube}, of_degree_12);
    const Numbers sixth = plus(b[2], product(b[3], b[3]));
    return plus(b[0], product(plus(b[1], sixth), sixth));
  }

  Numbers degree_18(const Numbers& a) const {
    const Numbers square = product(a, a), cube = product(a, square);
    const auto b = combined({identity(), a, square, cube, product(cube, cube)}, of_degree_18);
    const Numbers ninth = plus(b[3], product(b[0], b[4]));
    return plus(b[1], product(plus(b[2], ninth), ninth));
  }

  std::size_t n_;
};

template <class T>
void exponentiate_all(const Tensor& x, Tensor& y) {
  const std::int64_t n = x.shape().back(), size = n * n;
  const std::int64_t count = size == 0 ? 0 : x.numel() / size;
  const Exponential<T> exponential(n);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* from = x.data<float>() + k * size;
    const Numbers of_this = exponential.of(Numbers(from, from + size), count == 1);
    std::copy(of_this.begin(), of_this.end(), y.mutable_data<float>() + k * size);
  }
}

}  // namespace

void matrix_exp_of_halves(const Tensor& x, Tensor& y) {
  const Tensor wide = x.to(DType::f32).contiguous();
  Tensor out = Tensor::empty(DType::f32, y.shape());
  x.dtype() == DType::f16 ? exponentiate_all<Half>(wide, out) : exponentiate_all<BFloat16>(wide, out);
  y.copy_from(out);
}

}  // namespace tenon
