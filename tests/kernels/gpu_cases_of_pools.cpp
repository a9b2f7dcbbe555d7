// Pools: each kind and dtype, with padding, dilation and windows that reach over the edge.
#include "kernels/gpu/pool_source.h"
#include "kernels/pool_shape.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t images = 2, channels = 11;

struct Window {
  std::int64_t first, end;  // places inside the image
  std::int64_t padded;      // how many there are with the padding
};

Window window_of(const PoolAxis& a, std::int64_t out, std::int64_t outs, bool adaptive) {
  if (adaptive) {
    const std::int64_t first = out * a.in / outs, end = ((out + 1) * a.in + outs - 1) / outs;
    return {first, end, end - first};
  }
  const std::int64_t first = out * a.stride - a.pad, end = first + (a.kernel - 1) * a.dilation + 1;
  return {first, end, std::min(end, a.in + a.pad + a.pad_more) - first};
}

// Of images [2, 11, h, w] whose channels lie side by side.
GpuCase pool_case(const std::string& name, DType dtype, bool mean, bool adaptive, const PoolAxis& h,
                  const PoolAxis& w, bool counts_padding = false, const PoolForm& form = {}) {
  const std::int64_t out_h = adaptive ? h.kernel : h.out(), out_w = adaptive ? w.kernel : w.out();
  std::vector<std::int64_t> fields{
      images, channels,           h.in * w.in * channels, 1, out_h * out_w * channels, 1, counts_padding,
      0,      form.channels == 1, form.channels == 1};
  const auto add = [&](const PoolAxis& a, std::int64_t out, std::int64_t x, std::int64_t y) {
    fields.insert(fields.end(), {a.in, out, a.kernel, a.stride, a.pad, a.pad_more, a.dilation, x, y});
  };
  add({}, 1, 0, 0);
  add(h, out_h, w.in * channels, out_w * channels);
  add(w, out_w, channels, channels);
  const std::int64_t elements = images * out_h * out_w * channels;
  GpuCase result{.name = "pool " + name,
                 .launches = {{.source = pool_source(dtype, mean, adaptive, form),
                               .kernel = "pool",
                               .grid = {(elements + pool_threads - 1) / pool_threads, 1, 1},
                               .block = pool_threads,
                               .arguments = {bytes_of(fields)}}},
                 .buffers = {random_buffer(dtype, images * h.in * w.in * channels, 3),
                             random_buffer(dtype, elements, 4)},
                 .dtypes = {dtype, dtype}};
  result.expected = result.buffers;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t channel = i % channels, column = i / channels % out_w;
    const std::int64_t line = i / (channels * out_w) % out_h, image = i / (channels * out_w * out_h);
    const Window in_h = window_of(h, line, out_h, adaptive), in_w = window_of(w, column, out_w, adaptive);
    double value = mean ? 0 : -INFINITY;
    std::int64_t count = 0;
    for (std::int64_t y = in_h.first; y < in_h.end; y += h.dilation)
      for (std::int64_t x = in_w.first; x < in_w.end; x += w.dilation) {
        if (y < 0 || y >= h.in || x < 0 || x >= w.in) continue;
        const double element =
            read_number(result.buffers[0].data(), dtype, ((image * h.in + y) * w.in + x) * channels + channel)
                .real;
        value = mean ? value + element : std::max(value, element);
        ++count;
      }
    if (counts_padding) count = in_h.padded * in_w.padded;
    write_number(result.expected[1].data(), dtype, i,
                 {.real = mean ? value / static_cast<double>(count) : value});
  }
  return result;
}

}  // namespace

std::vector<GpuCase> pool_gpu_cases() {
  const PoolAxis padded{.in = 9, .kernel = 3, .stride = 2, .pad = 1, .ceil_mode = true};
  const PoolAxis dilated{.in = 8, .kernel = 2, .dilation = 2};
  const PoolAxis to_three{.in = 7, .kernel = 3}, to_four{.in = 6, .kernel = 4};
  std::vector<GpuCase> cases;
  for (const auto& [type, dtype] :
       {std::pair{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}}) {
    const std::string suffix = std::string(" ") + type;
    cases.push_back(pool_case("max" + suffix, dtype, false, false, padded, dilated));
    cases.push_back(pool_case("mean" + suffix, dtype, true, false, padded, padded, dtype == DType::f32));
    cases.push_back(pool_case("adaptive mean" + suffix, dtype, true, true, to_three, to_four));
  }
  cases.push_back(pool_case("max of chunks f32", DType::f32, false, false, padded, dilated, false,
                            {.channels = 4, .wide = true}));
  cases.push_back(
      pool_case("mean of pixels f16", DType::f16, true, false, padded, padded, true, {.channels = 0}));
  cases.push_back(pool_case("adaptive max f32", DType::f32, false, true, to_four, to_three));
  return cases;
}

}  // namespace tenon::gpu
