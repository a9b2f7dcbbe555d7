// Products of float64 and integers: columns, and rows of small ones, shared out among threads.
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
  constexpr long least_rows = 240;  // whole tiles, whatever their height
  const long share = (all.M / pool.threads() + least_rows) / least_rows * least_rows;
  const long height = all.is_small() && share < all.M ? share : std::max(1L, all.M);
  const long row_chunks = std::max(1L, (all.M + height - 1) / height);
  pool.parallel_for(all.batch * row_chunks * chunks, [&](long chunk, int thread) {
    TypedProduct<T> p = all;
    const long i = chunk / chunks / row_chunks, m = chunk / chunks % row_chunks * height;
    const long first = chunk % chunks * width;
    p.M = std::min(height, all.M - m);
    p.a += i * p.a_batch + m * p.a_row;
    p.b += i * p.b_batch;
    p.c += i * p.c_batch + m * p.c_row;
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
