// The exponential of matrices of 16-bit floats, in their own arithmetic.
#pragma once
#include "base/matrix_exp_halves.h"
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

/// Matrices of numbers of T (base/matrix_exp_halves.h).
template <class T>
struct HalfRoom {
  using Matrix = Work;
  Memory memory;
  int size;

  static GPU_INLINE float rounded(float x) { return number(convert<T>(x)); }
  static GPU_INLINE float read(const double* table, int k) {
    T of_table;
    GPU_COPY(&of_table, reinterpret_cast<const char*>(table) + k * sizeof(T), sizeof(T));
    return number(of_table);
  }
  GPU_INLINE Work matrix() { return memory.matrix(size, size); }
  GPU_INLINE void fill(const Work& to, float value) const {
    for_each(to, [&](int, int) { return value; });
  }
  GPU_INLINE void put(const Work& to, float unit, const Work& m, float by) const {
    for_each(to, [&](int i, int j) { return rounded((i == j ? 1.0f : 0.0f) * unit) + scaled(m, i, j, by); });
  }
  GPU_INLINE void add(const Work& to, const Work& m, float by) const {
    for_each(to, [&](int i, int j) { return static_cast<float>(to(i, j)) + scaled(m, i, j, by); });
  }
  GPU_INLINE void multiply(const Work& to, const Work& a, const Work& b) const {
    gpu::multiply(a, b, [&](int i, int j, double sum) { to(i, j) = rounded(static_cast<float>(sum)); });
    __syncthreads();
  }
  GPU_INLINE float norm(const Work& m) const {
    double largest = 0;
    bool is_nan = false;
    for (int j = thread(); j < size; j += threads()) {
      float total = 0;
      for (int i = 0; i < size; ++i) total += static_cast<float>(fabs(m(i, j)));
      largest = fmax(largest, static_cast<double>(rounded(total)));
      is_nan = is_nan || isnan(total);
    }
    largest = largest_over_threads(largest);
    return static_cast<float>(any_thread(is_nan) ? TENON_NAN : largest);
  }

 private:
  static GPU_INLINE float scaled(const Work& m, int i, int j, float by) {
    return rounded(static_cast<float>(m(i, j)) * by);
  }
  template <class Value>
  static GPU_INLINE void for_each(const Work& to, Value value) {
    for_elements(to.rows, to.columns, [&](int i, int j) { to(i, j) = rounded(value(i, j)); });
    __syncthreads();
  }
};

template <class X, class Y>
GPU_INLINE void exponentiate_halves(const View<X>& given, const View<Y>& result, bool is_alone,
                                    Memory memory) {
  HalfRoom<Y> room{memory, given.rows};
  const Work x = room.matrix();
  load(given, x);
  __syncthreads();
  if (given.rows == 1) {
    if (thread() == 0) x(0, 0) = exp(static_cast<float>(x(0, 0)));
    __syncthreads();
    store(x, result);
  } else {
    store(ExponentialOfHalves<HalfRoom<Y>>(room).of(x, is_alone), result);
  }
}

}  // namespace tenon::gpu
