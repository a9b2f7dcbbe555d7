// Convolutions in float64 and of integers: products of the weights with the elements that each pixel reads.
#pragma once
#include <cstddef>

#include "kernels/conv_shape.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// x, weights and y are dense, in PyTorch's order; y may not overlap them. T: double, std::int32_t or
/// std::int64_t; integers wrap around.
template <class T>
struct TypedConv {
  ConvShape shape;
  const T* x = nullptr;
  const T* weights = nullptr;
  const T* bias = nullptr;  // [Cout]; null: none
  T* y = nullptr;
};

template <class T>
std::size_t typed_conv_scratch_size(const ConvShape& shape, int threads);  // bytes
template <class T>
void typed_conv(const TypedConv<T>& conv, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
