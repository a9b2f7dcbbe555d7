// The exponential of matrices of 16-bit floats as PyTorch's CPU computes it: a text of built-in types and C's
// functions of numbers, which a run-time compiler for GPUs takes as it stands (see base/prim_meaning.h).
#pragma once
#include "base/prim_meaning.h"

namespace tenon {
namespace scalar_detail {

/// PyTorch 2.13 and before read their table of f64 coefficients as numbers of the matrix's type: but for a
/// matrix of zeros, what comes out is no exponential. This gives the same. The polynomials are those of
/// Bader, Blanes and Casas, "Computing the matrix exponential with an optimized Taylor polynomial
/// approximation".
///
/// A Room has square matrices, to which its Matrix refers, and rounds each number that it writes:
///   Matrix matrix()              a new one
///   fill(to, number)
///   put(to, unit, m, by)         to = I * unit + m * by, whose summands are rounded, too
///   add(to, m, by)               to += m * by, the same
///   multiply(to, a, b)           to = a b, which is neither of them
///   float norm(m)                the largest sum of a column's sizes; NaN where one is NaN
///   float rounded(x)
///   float read(table, k)         number k of those that the table's memory holds
template <class Room>
class ExponentialOfHalves {
 public:
  using Matrix = typename Room::Matrix;
  TENON_SCALAR explicit ExponentialOfHalves(Room& room) : room_(room) {}

  /// Of a, which is written over. A matrix that is alone takes the polynomial that its norm allows.
  TENON_SCALAR Matrix of(Matrix a, bool is_alone) {
    constexpr float of_degree_18 =
        1.090863719290036f;  // the norm up to which it serves: that of f64, as others
    const float norm = room_.norm(a);
    if (is_alone) {
      if (isnan(norm)) return filled(a, norm);
      if (norm <= 2.220446049250313e-16) return degree_1(a);
      if (norm <= 2.580956802971767e-08) return degree_2(a);
      if (norm <= 3.397168839976962e-04) return degree_4(a);
      if (norm <= 4.991228871115323e-02) return degree_8(a);
      if (norm <= 2.996158913811580e-01) return degree_12(a);
    }
    const float halvings = ceil(room_.rounded(log2(room_.rounded(norm / of_degree_18))));
    Matrix x = room_.matrix();
    room_.put(x, 0, a, room_.rounded(exp2(halvings < 0 ? 0.0f : -halvings)));
    Matrix y = degree_18(x);
    for (int left = isfinite(halvings) ? static_cast<int>(halvings) : 0; left > 0; --left) {
      room_.multiply(a, y, y);
      const Matrix last = y;
      y = a;
      a = last;
    }
    return y;
  }

 private:
  TENON_SCALAR Matrix product(const Matrix& a, const Matrix& b) {
    const Matrix y = room_.matrix();
    room_.multiply(y, a, b);
    return y;
  }
  TENON_SCALAR Matrix plus(const Matrix& a, const Matrix& b) {
    room_.add(a, b, 1);
    return a;
  }
  TENON_SCALAR Matrix sum(const double* table, int k, float unit, const Matrix* matrices, int count) {
    const Matrix y = room_.matrix();
    room_.put(y, unit, matrices[0], room_.read(table, k));
    for (int i = 1; i < count; ++i) room_.add(y, matrices[i], room_.read(table, k + i));
    return y;
  }
  /// Matrices times the numbers of a table, from number k on.
  template <int Count>
  TENON_SCALAR Matrix combined(const double* table, const Matrix (&matrices)[Count]) {
    return sum(table, 0, 0, matrices, Count);
  }
  /// The same with I before the matrices.
  template <int Count>
  TENON_SCALAR Matrix combined_with_unit(const double* table, int k, const Matrix (&matrices)[Count]) {
    return sum(table, k + 1, room_.read(table, k), matrices, Count);
  }

  TENON_SCALAR Matrix filled(const Matrix& a, float number) {
    room_.fill(a, number);
    return a;
  }
  TENON_SCALAR Matrix degree_1(const Matrix& a) {
    room_.put(a, 1, a, 1);
    return a;
  }

  TENON_SCALAR Matrix degree_2(const Matrix& a) {
    const Matrix square = product(a, a);
    room_.add(degree_1(a), square, 0.5f);
    return a;
  }

  TENON_SCALAR Matrix degree_4(const Matrix& a) {
    constexpr double quotients[] = {1 / 2.0, 1 / 6.0, 1 / 24.0}, all[] = {1.0, 1.0, 0.0, 1.0};
    const Matrix square = product(a, a);
    const Matrix rest = product(square, combined_with_unit(quotients, 0, {a, square}));
    return combined_with_unit(all, 0, {a, square, rest});
  }

  TENON_SCALAR Matrix degree_8(const Matrix& a) {
    constexpr double root = 0.1330413469565007072504e+2, x3 = 2. / 3.;  // of 177
    constexpr double of_fourth[] = {x3 * ((1. + root) / 88.), x3 * ((1. + root) / 352.)};
    constexpr double left[] = {x3, 1.0};
    constexpr double right[] = {(-271. + 29. * root) / (315. * x3), (-11. + 11. * root) / (1260. * x3),
                                (-99. + 11. * root) / (5040. * x3), (89. - root) / (5040. * x3)};
    constexpr double all[] = {1.0, 1.0, (857. - 58. * root) / 630., 0.0, 1.0};
    const Matrix square = product(a, a);
    const Matrix fourth = product(square, combined(of_fourth, {a, square}));
    const Matrix eighth =
        product(combined(left, {square, fourth}), combined_with_unit(right, 0, {a, square, fourth}));
    return combined_with_unit(all, 0, {a, square, fourth, eighth});
  }

  TENON_SCALAR Matrix degree_12(const Matrix& a) {
    constexpr double table[] = {9.0198e-16,
                                0.46932117595418237389,
                                -0.20099424927047284052,
                                -0.04623946134063071740,
                                5.31597895759871264183,
                                1.19926790417132231573,
                                0.01179296240992997031,
                                0.01108844528519167989,
                                0.18188869982170434744,
                                0.05502798439925399070,
                                0.09351590770535414968,
                                0.00610700528898058230,
                                -2.0861320e-13,
                                -0.13181061013830184015,
                                -0.02027855540589259079,
                                -0.00675951846863086359};
    const Matrix square = product(a, a), cube = product(a, square);
    const Matrix powers[] = {a, square, cube};
    const Matrix b3 = combined_with_unit(table, 12, powers);
    const Matrix sixth = plus(combined_with_unit(table, 8, powers), product(b3, b3));
    const Matrix twelfth = product(plus(combined_with_unit(table, 4, powers), sixth), sixth);
    return plus(combined_with_unit(table, 0, powers), twelfth);
  }

  TENON_SCALAR Matrix degree_18(const Matrix& a) {
    constexpr double table[] = {0.,
                                -1.00365581030144618291e-01,
                                -8.02924648241156932449e-03,
                                -8.92138498045729985177e-04,
                                0.,
                                0.,
                                3.97849749499645077844e-01,
                                1.36783778460411720168e+00,
                                4.98289622525382669416e-01,
                                -6.37898194594723280150e-04,
                                -1.09676396052962061844e+01,
                                1.68015813878906206114e+00,
                                5.71779846478865511061e-02,
                                -6.98210122488052056106e-03,
                                3.34975017086070470649e-05,
                                -9.04316832390810593223e-02,
                                -6.76404519071381882256e-02,
                                6.75961301770459654925e-02,
                                2.95552570429315521194e-02,
                                -1.39180257516060693404e-05,
                                0.,
                                0.,
                                -9.23364619367118555360e-02,
                                -1.69364939002081722752e-02,
                                -1.40086798182036094347e-05};
    const Matrix square = product(a, a), cube = product(a, square);
    const Matrix powers[] = {a, square, cube, product(cube, cube)};
    const Matrix b0 = combined_with_unit(table, 0, powers), b4 = combined_with_unit(table, 20, powers);
    const Matrix ninth = plus(combined_with_unit(table, 15, powers), product(b0, b4));
    const Matrix last = product(plus(combined_with_unit(table, 10, powers), ninth), ninth);
    return plus(combined_with_unit(table, 5, powers), last);
  }

  Room& room_;
};

}  // namespace scalar_detail

using scalar_detail::ExponentialOfHalves;

/// So many matrices, beside that which is given, does a Room give at most.
constexpr int matrices_of_exponential = 11;

}  // namespace tenon
