// Some pixels at a time: what they read is laid out as a matrix, by which the weights are multiplied.
#include "kernels/cpu/typed_conv.h"

#include <algorithm>

#include "base/scalar.h"
#include "kernels/cpu/typed_product.h"

namespace tenon::cpu {
namespace {

long depth_of(const ConvShape& s) { return s.Cin / s.groups * s.taps(); }

/// Pixels of a matrix: few enough for the L2 cache, a whole number of the product's panels.
long pixels_at_once(const ConvShape& s) {
  constexpr long elements = 32 << 10;
  const long fitting = std::max(16L, elements / std::max(1L, depth_of(s)) / 16 * 16);
  return std::min(s.out_pixels(), fitting);
}

/// Along one axis: where a pixel's tap lies.
struct Place {
  long at;
  bool inside;
};
Place place_of(const ConvAxis& a, long pixel, long tap) {
  const long at = pixel * a.stride - a.pad_before + tap * a.dilation;
  return {at, at >= 0 && at < a.in};
}

/// to[tap][pixel] of one channel, for pixels [first, first + count) of the result: row by row of it.
template <class T>
void lay_out(const ConvShape& s, const T* channel, long first, long count, T* to) {
  const long width = s.out(s.w), height = s.out(s.h);
  for (long tap = 0; tap < s.taps(); ++tap, to += count) {
    const long tap_w = tap % s.w.kernel, tap_h = tap / s.w.kernel % s.h.kernel;
    const long tap_d = tap / s.w.kernel / s.h.kernel;
    for (long done = 0; done < count;) {
      const long pixel = first + done, x = pixel % width, length = std::min(width - x, count - done);
      const Place h = place_of(s.h, pixel / width % height, tap_h);
      const Place d = place_of(s.d, pixel / width / height, tap_d);
      T* const line = to + done;
      done += length;
      if (!h.inside || !d.inside) {
        std::fill_n(line, length, T{});
        continue;
      }
      const T* const row = channel + (d.at * s.h.in + h.at) * s.w.in;
      for (long i = 0; i < length; ++i) {
        const Place w = place_of(s.w, x + i, tap_w);
        line[i] = w.inside ? row[w.at] : T{};
      }
    }
  }
}

std::size_t matrix_size(const ConvShape& s) {
  return static_cast<std::size_t>(depth_of(s) * pixels_at_once(s) + 15) / 16 * 16;
}
/// Elements.
template <class T>
std::size_t worker_size(const ConvShape& s) {
  return matrix_size(s) + typed_product_scratch_size(TypedProduct<T>{}, 1) / sizeof(T);
}

}  // namespace

template <class T>
std::size_t typed_conv_scratch_size(const ConvShape& s, int threads) {
  return worker_size<T>(s) * sizeof(T) * static_cast<std::size_t>(threads);
}

template <class T>
void typed_conv(const TypedConv<T>& conv, std::byte* scratch, ThreadPool& pool) {
  const ConvShape& s = conv.shape;
  const long pixels = s.out_pixels(), depth = depth_of(s), at_once = pixels_at_once(s);
  const long in_each = s.Cin / s.groups, out_each = s.Cout / s.groups;
  const long pieces = (pixels + at_once - 1) / at_once;
  pool.parallel_for(s.N * s.groups * pieces, [&](long chunk, int worker) {
    const long first = chunk % pieces * at_once, count = std::min(at_once, pixels - first);
    const long group = chunk / pieces % s.groups, image = chunk / pieces / s.groups;
    T* const matrix = reinterpret_cast<T*>(scratch) + worker_size<T>(s) * static_cast<std::size_t>(worker);
    const T* const x = conv.x + (image * s.Cin + group * in_each) * s.in_pixels();
    for (long c = 0; c < in_each; ++c)
      lay_out(s, x + c * s.in_pixels(), first, count, matrix + c * s.taps() * count);
    T* const y = conv.y + (image * s.Cout + group * out_each) * pixels + first;
    const TypedProduct<T> product{.M = out_each,
                                  .N = count,
                                  .K = depth,
                                  .a = conv.weights + group * out_each * depth,
                                  .a_row = depth,
                                  .b = matrix,
                                  .b_row = count,
                                  .c = y,
                                  .c_row = pixels};
    ThreadPool alone(1);
    typed_product(product, reinterpret_cast<std::byte*>(matrix + matrix_size(s)), alone);
    if (!conv.bias) return;
    for (long c = 0; c < out_each; ++c) {
      const T bias = conv.bias[group * out_each + c];
      for (long i = 0; i < count; ++i) y[c * pixels + i] = apply<T>(Prim::add, y[c * pixels + i], bias);
    }
  });
}

#define TENON_TYPED_CONV(T)                                               \
  template std::size_t typed_conv_scratch_size<T>(const ConvShape&, int); \
  template void typed_conv(const TypedConv<T>&, std::byte*, ThreadPool&);
TENON_TYPED_CONV(double)
TENON_TYPED_CONV(std::int32_t)
TENON_TYPED_CONV(std::int64_t)
#undef TENON_TYPED_CONV

}  // namespace tenon::cpu
