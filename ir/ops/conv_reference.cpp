// References of the convolutions: blocks of output places as columns of input elements, times the weight.
#include "ir/ops/conv.h"
#include "ir/ops/geometry.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

constexpr std::int64_t block_places = 512;

// For each tap of the kernel and each place of the smaller side, the element of the larger side they meet at
// (-1 in the padding). The smaller side is the output of Conv and the input of ConvTranspose.
std::vector<std::int64_t> meeting_places(const Geometry& g, const Spatial& large, const Spatial& small) {
  std::vector<std::int64_t> at;
  at.reserve(static_cast<std::size_t>(product(g.kernel) * product(small)));
  for_each_place(g.kernel, [&](const Spatial& tap) {
    for_each_place(small, [&](const Spatial& place) {
      Spatial met;
      for (std::size_t i = 0; i < 3; ++i)
        met[i] = place[i] * g.stride[i] - g.begin[i] + tap[i] * g.dilation[i];
      at.push_back(linear_place(met, large));
    });
  });
  return at;
}

Axes kernel_sizes(const Tensor& weight) { return Axes(weight.shape().begin() + 2, weight.shape().end()); }

// The bias per channel, or zeros, as the first value of the wide output.
Tensor initial_output(InSpan in, const Index& shape) {
  Tensor y = Tensor::zeros(wide_dtype(in[0].dtype()), shape);
  if (in.size() < 3) return y;
  Index bias_shape(shape.size() - 1, 1);
  bias_shape[0] = shape[1];
  y.copy_from(in[2].reshape(bias_shape).expand(shape));
  return y;
}

template <class T>
void gather_columns(const T* x, std::int64_t channels, std::int64_t channel_size, std::int64_t taps,
                    const std::vector<std::int64_t>& at, std::int64_t places, std::int64_t first,
                    std::int64_t count, T* columns) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const T* channel = x + c * channel_size;
      const std::int64_t* from = at.data() + tap * places + first;
      T* row = columns + (c * taps + tap) * count;
      for (std::int64_t p = 0; p < count; ++p) row[p] = from[p] < 0 ? T(0) : channel[from[p]];
    }
}

template <class T>
void scatter_columns(const T* columns, std::int64_t channels, std::int64_t channel_size, std::int64_t taps,
                     const std::vector<std::int64_t>& at, std::int64_t places, std::int64_t first,
                     std::int64_t count, T* y) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      T* channel = y + c * channel_size;
      const std::int64_t* to = at.data() + tap * places + first;
      const T* row = columns + (c * taps + tap) * count;
      for (std::int64_t p = 0; p < count; ++p)
        if (to[p] >= 0) channel[to[p]] += row[p];
    }
}

}  // namespace

void Conv::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]), weight = widened(in[1]);
  const Geometry g(x.shape(), out[0].shape(), kernel_sizes(weight), stride, pad, dilation);
  Tensor y = initial_output(in, out[0].shape());
  const std::int64_t taps = product(g.kernel), in_size = product(g.in), places = product(g.out);
  const std::int64_t in_channels = weight.shape()[1], out_channels = weight.shape()[0] / groups;
  const std::int64_t depth = in_channels * taps;
  const std::vector<std::int64_t> at = meeting_places(g, g.in, g.out);
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    std::vector<T> columns(static_cast<std::size_t>(depth * block_places));
    for (std::int64_t n = 0; n < x.shape()[0] * groups; ++n) {
      const T* input = x.data<T>() + n * in_channels * in_size;
      const T* w = weight.data<T>() + n % groups * out_channels * depth;
      T* to = y.mutable_data<T>() + n * out_channels * places;
      for (std::int64_t first = 0; first < places; first += block_places) {
        const std::int64_t count = std::min(block_places, places - first);
        gather_columns(input, in_channels, in_size, taps, at, places, first, count, columns.data());
        multiply_add(w, depth, columns.data(), count, to + first, places, out_channels, count, depth);
      }
    }
  });
  out[0].copy_from(y);
}

void ConvTranspose::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const Geometry g(x.shape(), out[0].shape(), kernel_sizes(in[1]), stride, pad, dilation);
  Tensor y = initial_output(in, out[0].shape());
  const std::int64_t taps = product(g.kernel), out_size = product(g.out), places = product(g.in);
  const std::int64_t in_channels = in[1].shape()[0] / groups, out_channels = in[1].shape()[1];
  const std::int64_t rows = out_channels * taps;
  // [groups, out_channels * taps, in_channels]
  const Tensor weight = widened(in[1].reshape({groups, in_channels, rows}).permute(Axes{0, 2, 1}));
  const std::vector<std::int64_t> at = meeting_places(g, g.out, g.in);
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    std::vector<T> columns(static_cast<std::size_t>(rows * block_places));
    for (std::int64_t n = 0; n < x.shape()[0] * groups; ++n) {
      const T* input = x.data<T>() + n * in_channels * places;
      const T* w = weight.data<T>() + n % groups * rows * in_channels;
      T* to = y.mutable_data<T>() + n * out_channels * out_size;
      for (std::int64_t first = 0; first < places; first += block_places) {
        const std::int64_t count = std::min(block_places, places - first);
        std::fill(columns.begin(), columns.end(), T(0));
        multiply_add(w, in_channels, input + first, places, columns.data(), count, rows, count, in_channels);
        scatter_columns(columns.data(), out_channels, out_size, taps, at, places, first, count, to);
      }
    }
  });
  out[0].copy_from(y);
}

}  // namespace tenon
