// Products of float64 and integers: columns shared out among threads.
#include "kernels/cpu/typed_product.h"

#include <algorithm>

#include "kernels/cpu/typed_product_panel.h"

namespace tenon::cpu {
namespace {

void columns(const TypedColumns<float>& call) { product_columns_f32(call); }
void columns(const TypedColumns<double>& call) { product_columns_f64(call); }
void columns(const TypedColumns<std::int32_t>& call) { product_columns_i32(call); }
void columns(const TypedColumns<std::int64_t>& call) { product_columns_i64(call); }

}  // namespace

template <class T>
std::size_t typed_product_scratch_size(const TypedProduct<T>&, int threads) {
  return typed_work_size * sizeof(T) * static_cast<std::size_t>(threads);
}

template <class T>
void typed_product(const TypedProduct<T>& product, std::byte* scratch, ThreadPool& pool) {
  TypedProduct<T> all = product;
  // A product with a vector: its rows are dot products, as those of the transposed product.
  if (all.N == 1 && all.c_row == 1) {
    std::swap(all.a, all.b);
    std::swap(all.M, all.N);
    std::swap(all.a_batch, all.b_batch);
    std::swap(all.a_column, all.b_row);
    std::swap(all.a_row, all.b_column);
    all.bias_step = 0;
  }
  const long even = (all.N / pool.threads() + 63) / 64 * 64, width = std::clamp(even, 64L, typed_columns);
  const long chunks = (all.N + width - 1) / width;
  pool.parallel_for(all.batch * chunks, [&](long chunk, int thread) {
    TypedProduct<T> p = all;
    const long i = chunk / chunks, first = chunk % chunks * width;
    p.a += i * p.a_batch;
    p.b += i * p.b_batch;
    p.c += i * p.c_batch;
    T* const work = reinterpret_cast<T*>(scratch) + typed_work_size * thread;
    columns(TypedColumns<T>{&p, first, std::min(p.N, first + width), work});
  });
}

#define TENON_TYPED_PRODUCT(T)                                                  \
  template std::size_t typed_product_scratch_size(const TypedProduct<T>&, int); \
  template void typed_product(const TypedProduct<T>&, std::byte*, ThreadPool&);
TENON_TYPED_PRODUCT(float)
TENON_TYPED_PRODUCT(double)
TENON_TYPED_PRODUCT(std::int32_t)
TENON_TYPED_PRODUCT(std::int64_t)
#undef TENON_TYPED_PRODUCT

}  // namespace tenon::cpu
