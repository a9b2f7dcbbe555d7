#include "ir/ops/matrix_exp_halves.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/matrix_exp_halves.h"

namespace tenon {
namespace {

/// T is Half or BFloat16: every number is rounded to it.
template <class T>
class HalfRoom {
 public:
  using Matrix = float*;
  explicit HalfRoom(std::int64_t size) : n_(static_cast<std::size_t>(size)) {}

  static float rounded(float x) { return T(x); }
  static float read(const double* table, int k) {
    T number;
    std::memcpy(&number, reinterpret_cast<const std::byte*>(table) + static_cast<std::size_t>(k) * sizeof(T),
                sizeof(T));
    return number;
  }
  float* matrix() { return matrices_.emplace_back(n_ * n_).data(); }
  void fill(float* to, float number) const { std::fill_n(to, n_ * n_, number); }
  void put(float* to, float unit, const float* m, float by) const {
    for (std::size_t k = 0; k < n_ * n_; ++k)
      to[k] = rounded(rounded((k % (n_ + 1) == 0 ? 1.0F : 0.0F) * unit) + rounded(m[k] * by));
  }
  void add(float* to, const float* m, float by) const {
    for (std::size_t k = 0; k < n_ * n_; ++k) to[k] = rounded(to[k] + rounded(m[k] * by));
  }
  void multiply(float* to, const float* a, const float* b) const {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        double total = 0;
        for (std::size_t k = 0; k < n_; ++k)
          total += static_cast<double>(a[i * n_ + k]) * static_cast<double>(b[k * n_ + j]);
        to[i * n_ + j] = rounded(static_cast<float>(total));
      }
  }
  float norm(const float* m) const {
    float norm = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      float total = 0;
      for (std::size_t i = 0; i < n_; ++i) total += std::fabs(m[i * n_ + j]);
      norm = std::isnan(total) || std::isnan(norm) ? std::numeric_limits<float>::quiet_NaN()
                                                   : std::max(norm, rounded(total));
    }
    return norm;
  }

 private:
  std::size_t n_;
  std::deque<std::vector<float>> matrices_;
};

template <class T>
void exponentiate_all(const Tensor& x, Tensor& y) {
  const std::int64_t n = x.shape().back(), size = n * n;
  const std::int64_t count = size == 0 ? 0 : x.numel() / size;
  for (std::int64_t k = 0; k < count; ++k) {
    const float* from = x.data<float>() + k * size;
    float* to = y.mutable_data<float>() + k * size;
    if (n == 1) {
      *to = std::exp(*from);
      continue;
    }
    HalfRoom<T> room(n);
    float* const matrix = room.matrix();
    std::copy_n(from, size, matrix);
    std::copy_n(ExponentialOfHalves(room).of(matrix, count == 1), size, to);
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
