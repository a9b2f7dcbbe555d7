// Type rules of the poolings.
#include "ir/ops/pool.h"

#include "ir/read_definition.h"

namespace tenon {
namespace {

std::size_t spatial_dims(const Type& x) {
  if (x.rank() < 3 || x.rank() > 5)
    throw error("the input {} has {} axes; N, C and 1, 2 or 3 spatial ones are needed", x.str(), x.rank());
  return x.rank() - 2;
}

Type pooled(const Type& x, const Axes& kernel, const Axes& stride, const Axes& pad, const Axes& dilation,
            bool ceil) {
  const std::size_t dims = spatial_dims(x);
  const Axes kernels = spatial("kernel", kernel, dims), strides = spatial("stride", stride, dims);
  const Axes dilations = spatial("dilation", dilation, dims);
  const Pads pads = spatial_pads(pad, dims);
  Type out = x;
  for (std::size_t i = 0; i < dims; ++i) {
    if (kernels[i] < 1) throw error("the kernel is {}, it must be at least 1", kernels[i]);
    out.shape[2 + i] = window_count(x.shape[2 + i], {.kernel = kernels[i],
                                                     .stride = strides[i],
                                                     .begin = pads.begin[i],
                                                     .end = pads.end[i],
                                                     .dilation = dilations[i],
                                                     .ceil = ceil});
  }
  return out;
}

Type adapted(const Type& x, const Shape& output) {
  const std::size_t dims = spatial_dims(x);
  if (output.size() != dims) throw error("output has {} values for {} spatial dims", output.size(), dims);
  Type out = x;
  for (std::size_t i = 0; i < dims; ++i) out.shape[2 + i] = output[i];
  return out;
}

// One operation for each element of each window.
double window_flops(const Axes& kernel, const Type& out) {
  double size = 1;
  for (const std::int64_t k : spatial("kernel", kernel, spatial_dims(out))) size *= static_cast<double>(k);
  return size * elements(out);
}

}  // namespace

double MaxPool::flops(TypeSpan, TypeSpan out) const { return window_flops(kernel, out[0]); }
double MaxPoolIndices::flops(TypeSpan, TypeSpan out) const { return window_flops(kernel, out[0]); }
double AvgPool::flops(TypeSpan, TypeSpan out) const { return window_flops(kernel, out[0]); }

Type MaxPool::infer(const Type& x) const { return pooled(x, kernel, stride, pad, dilation, ceil); }

std::vector<Type> MaxPoolIndices::infer(TypeSpan x) const {
  Type values = pooled(x[0], kernel, stride, pad, dilation, ceil);
  Type places{DType::i64, values.shape};
  return {std::move(values), std::move(places)};
}

Type AvgPool::infer(const Type& x) const {
  check_float("the operand", x);
  if (divisor && *divisor == 0) throw error("the divisor is 0");
  return pooled(x, kernel, stride, pad, {1}, ceil);
}

Type AdaptiveAvgPool::infer(const Type& x) const {
  check_float("the operand", x);
  return adapted(x, output);
}

Type AdaptiveMaxPool::infer(const Type& x) const { return adapted(x, output); }
std::vector<Type> AdaptiveMaxPoolIndices::infer(TypeSpan x) const {
  const Type values = adapted(x[0], output);
  return {values, Type{DType::i64, values.shape}};
}

std::vector<const OpInfo*> pool_ops() { return family(Pooling{}); }

}  // namespace tenon
