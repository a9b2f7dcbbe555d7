// Eigenvectors of large tridiagonal matrices: two halves are solved and what connects them, a matrix of rank
// one, is added (Cuppen; Gu and Eisenstat). Values that it does not move are left as they are, the rest is
// products. Internal to tridiagonal.cpp and bidiagonal.cpp.
#pragma once
#include "kernels/cpu/implicit_ql.h"
#include "kernels/cpu/reflections.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Sums over poles of squares / (pole - x), and of what that grows by.
struct PoleSums {
  double sum = 0, slope = 0;
};

inline PoleSums sum_poles(const double* poles, const double* squares, double x, long first, long end) {
  using L = Lanes<double>;
  L::V sums{}, slopes{};
  long i = first;
  for (; i + L::count <= end; i += L::count) {
    const L::V inverse = 1 / (L::load(poles + i) - x), term = L::load(squares + i) * inverse;
    sums += term;
    slopes += term * inverse;
  }
  PoleSums all{L::sum(sums), L::sum(slopes)};
  for (; i < end; i++) {
    const double inverse = 1 / (poles[i] - x), term = squares[i] * inverse;
    all.sum += term;
    all.slope += term * inverse;
  }
  return all;
}

/// The eigenvalues of diag(d) + rho z z^T for ascending d.
struct SecularEquation {
  const double *d, *squares;  // of z
  long count;
  double inverse_rho;

  /// Root k; `poles` becomes d less it, and the result it less the pole `near`.
  double solve(long k, double* poles, long& near) const {
    constexpr int most_steps = 80;
    const bool is_last = k == count - 1;
    const double gap = is_last ? 1 / inverse_rho : d[k + 1] - d[k];
    double x = gap / 2, low = 0, high = gap;
    set_poles(k, poles);
    near = k;
    for (int step = 0; step < most_steps; step++) {
      const PoleSums left = sum_poles(poles, squares, x, 0, k + 1);
      const PoleSums right = sum_poles(poles, squares, x, k + 1, count);
      const double value = inverse_rho + left.sum + right.sum, slope = left.slope + right.slope;
      (value < 0 ? low : high) = x;
      if (step == 0 && !is_last && value < 0) {  // the origin is the nearer pole
        near = k + 1;
        set_poles(near, poles);
        low -= gap, high -= gap, x -= gap;
      }
      const double noise = 8 * (right.sum - left.sum) + inverse_rho + __builtin_fabs(x) * slope;
      if (__builtin_fabs(value) <= unit_roundoff * noise ||
          high - low <= 2 * unit_roundoff * __builtin_fabs(x))
        break;
      const double next = x + step_of(poles[k] - x, is_last ? 0 : poles[k + 1] - x, left, right, value);
      x = next > low && next < high ? next : (low + high) / 2;
    }
    for (long i = 0; i < count; i++) poles[i] -= x;
    return x;
  }

 private:
  void set_poles(long near, double* poles) const {
    for (long i = 0; i < count; i++) poles[i] = d[i] - d[near];
  }

  /// To the root of what has the same values and slopes left and right, and no poles but the nearest.
  static double step_of(double before, double after, const PoleSums& left, const PoleSums& right,
                        double value) {
    const double a = left.slope * before * before;
    if (after == 0) return before + a / (value - left.slope * before);
    const double b = right.slope * after * after;
    const double c = value - left.slope * before - right.slope * after;
    const double p = c * (before + after) + a + b, w = before * after * value;
    const double squared = p * p - 4 * c * w, root = __builtin_sqrt(squared > 0 ? squared : 0);
    return p <= 0 ? (p - root) / (2 * c) : 2 * w / (p + root);
  }
};

/// Numbers of d, ascending.
inline void sort_indices(const double* d, long count, std::int32_t* order) {
  for (long i = 0; i < count; i++) order[i] = static_cast<std::int32_t>(i);
  for (long gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (long i = gap; i < count; i++) {
      const std::int32_t moved = order[i];
      long j = i;
      for (; j >= gap && d[order[j - gap]] > d[moved]; j -= gap) order[j] = order[j - gap];
      order[j] = moved;
    }
}

/// Rows of eigenvectors of a tridiagonal matrix.
class DivideConquer {
 public:
  /// `rows` are zeros. d becomes the eigenvalues, in no order; e is lost.
  DivideConquer(const Rows<double>& rows, double* d, double* e, double tiny, const Space& space)
      : rows_(rows), d_(d), e_(e), tiny_(tiny), space_(space) {}

  static constexpr long few_rows = 40;

  void solve(long first, long end) const {
    const long n = end - first;
    if (n <= few_rows) {
      for (long i = first; i < end; i++) rows_[i][i] = 1;
      Space space = space_;
      const long aligned = first / Lanes<double>::count * Lanes<double>::count;
      RowRotations<double> rotations({rows_[first] + aligned, n, end - aligned, rows_.stride}, space);
      find_values(WithVectors<double>{rotations, tiny_}, d_ + first, e_ + first, n);
      return rotations.apply();
    }
    const long middle = first + n / 2;
    const double beside = e_[middle - 1], size = __builtin_fabs(beside);
    d_[middle - 1] -= size;
    d_[middle] -= size;
    solve(first, middle);
    solve(middle, end);
    if (size > 0) Merge(*this, first, middle, end).run(beside);
  }

 private:
  class Merge {
   public:
    Merge(const DivideConquer& all, long first, long middle, long end)
        : rows_(all.rows_),
          d_(all.d_ + first),
          first_(first),
          middle_(middle),
          end_(end),
          n_(end - first),
          tiny_(all.tiny_),
          space_(all.space_) {}

    void run(double beside) {
      z_ = space_.take<double>(n_);
      order_ = space_.take<std::int32_t>(n_);
      places_ = space_.take<Place>(n_);
      const double root_half = 0.7071067811865476;
      for (long i = 0; i < n_; i++) {
        const bool is_left = first_ + i < middle_;
        places_[i] = {is_left, !is_left};
        z_[i] = root_half * (is_left ? row(i)[middle_ - 1] : __builtin_copysign(1, beside) * row(i)[middle_]);
      }
      sort_indices(d_, n_, order_);
      rho_ = 2 * __builtin_fabs(beside);
      const long count = deflate();
      if (count > 0) update(count);
    }

   private:
    struct Place {
      bool left, right;  // where the row is not 0
    };
    TENON_INLINE double* row(long i) const { return rows_[first_ + i]; }

    /// Order's first `count` become those that move, ascending.
    long deflate() {
      double largest = 0;
      for (long i = 0; i < n_; i++) {
        const double here = __builtin_fabs(d_[i]), z = __builtin_fabs(z_[i]);
        largest = largest < here ? here : largest;
        largest = largest < z * rho_ ? z * rho_ : largest;
      }
      // Nor do numbers that are nothing beside the whole matrix move anything.
      const double relative = 8 * unit_roundoff * largest, little = relative < tiny_ ? tiny_ : relative;
      long count = 0;
      for (long i = 0; i < n_; i++) {
        const std::int32_t next = order_[i];
        if (rho_ * __builtin_fabs(z_[next]) <= little) continue;
        if (count > 0 && turn_into(order_[count - 1], next, little)) count--;
        order_[count++] = next;
      }
      return count;
    }

    /// Where two values are nearly the same, a rotation takes all of z to the second.
    bool turn_into(long a, long b, double little) const {
      const Turn turn = turn_of(z_[b], z_[a]);
      const double c = turn.cosine, s = turn.sine, apart = d_[b] - d_[a];
      if (__builtin_fabs(apart * c * s) > little) return false;
      z_[b] = turn.length;
      z_[a] = 0;
      const double before = d_[a];
      d_[a] = before * c * c + d_[b] * s * s;
      d_[b] = before * s * s + d_[b] * c * c;
      double *const x = row(a), *const y = row(b);
      for (long j = first_; j < end_; j++) {
        const double x_j = x[j];
        x[j] = c * x_j - s * y[j];
        y[j] = s * x_j + c * y[j];
      }
      places_[a] = places_[b] = {places_[a].left || places_[b].left, places_[a].right || places_[b].right};
      return true;
    }

    void update(long count) {
      const long stride = row_stride(count);
      double *const d = space_.take<double>(count), *const squares = space_.take<double>(count);
      double *const z = space_.take<double>(count), *const found = space_.take<double>(count);
      for (long i = 0; i < count; i++) {
        d[i] = d_[order_[i]];
        squares[i] = z_[order_[i]] * z_[order_[i]];
      }
      double* const poles = space_.take<double>(count * stride);
      const SecularEquation equation{d, squares, count, 1 / rho_};
      for (long k = 0; k < count; k++) {
        long near = 0;
        const double x = equation.solve(k, poles + k * stride, near);
        found[k] = d[near] + x;
      }
      // The z for which these are the roots to the last digit.
      for (long i = 0; i < count; i++) z[i] = -poles[i * stride + i];
      for (long k = 0; k < count; k++) {
        const double* const p = poles + k * stride;
        for (long i = 0; i < k; i++) z[i] *= p[i] / (d[i] - d[k]);
        for (long i = k + 1; i < count; i++) z[i] *= p[i] / (d[i] - d[k]);
      }
      for (long i = 0; i < count; i++)
        z[i] = __builtin_copysign(__builtin_sqrt(z[i] > 0 ? z[i] : 0), z_[order_[i]]);
      for (long k = 0; k < count; k++) {
        double* const p = poles + k * stride;
        double squared = 0;
        for (long i = 0; i < count; i++) {
          p[i] = z[i] / p[i];
          squared += p[i] * p[i];
        }
        const double scale = -1 / __builtin_sqrt(squared);  // products are subtracted
        for (long i = 0; i < count; i++) p[i] *= scale;
      }
      multiply({poles, count, count, stride}, true);
      multiply({poles, count, count, stride}, false);
      for (long i = 0; i < count; i++) d_[order_[i]] = found[i];
    }

    /// The left or the right columns of the rows that move.
    void multiply(const Rows<double>& factors, bool is_left) const {
      const long count = factors.count, from = is_left ? first_ : middle_;
      const long width = (is_left ? middle_ : end_) - from;
      Space space = space_;
      const long stride = row_stride(count), wide = row_stride(width);
      double *const a = space.take<double>(count * stride), *const b = space.take<double>(count * wide);
      double *const c = space.take_zeros<double>(count * wide), *const work =
                                                                    space.take<double>(typed_work_size);
      std::int32_t* const taken = space.take<std::int32_t>(count);
      long depth = 0;
      for (long i = 0; i < count; i++) {
        const Place place = places_[order_[i]];
        if (is_left ? !place.left : !place.right) continue;
        copy(row(order_[i]) + from, width, b + depth * wide);
        taken[depth++] = static_cast<std::int32_t>(i);
      }
      for (long k = 0; k < count; k++)
        for (long i = 0; i < depth; i++) a[k * stride + i] = factors[k][taken[i]];
      subtract_product(Block<double>{c, count, width, wide}, Block<double>{a, count, depth, stride},
                       Block<double>{b, depth, width, wide}, work);
      for (long i = 0; i < count; i++) copy(c + i * wide, width, row(order_[i]) + from);
    }

    Rows<double> rows_;
    double* d_;
    long first_, middle_, end_, n_;
    double tiny_;
    Space space_;
    double *z_ = nullptr, rho_ = 0;
    std::int32_t* order_ = nullptr;
    Place* places_ = nullptr;
  };

  Rows<double> rows_;
  double *d_, *e_;
  double tiny_;
  Space space_;
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
