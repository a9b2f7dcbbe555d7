// Some pixels at a time: what they read is laid out as a matrix, by which the weights are multiplied.
// Transposed convolutions are products of the weights with the input, whose rows are added up where they
// belong.
#include "kernels/cpu/typed_conv.h"

#include <algorithm>

#include "base/scalar.h"
#include "kernels/cpu/typed_product.h"
#include "kernels/cpu/typed_product_panel.h"

namespace tenon::cpu {
namespace {

long depth_of(const ConvShape& s) { return s.Cin / s.groups * s.taps(); }

/// A pixel of the result is a product of the weights with the same one of the input, which is the matrix.
bool is_pointwise(const ConvShape& s) {
  const auto is_same = [](const ConvAxis& a) { return a.stride == 1 && a.pad_before == 0; };
  return s.taps() == 1 && is_same(s.w) && is_same(s.h) && is_same(s.d) && s.out_pixels() == s.in_pixels();
}

/// Pixels of a matrix: few enough for the L2 cache, a whole number of the product's panels.
long pixels_at_once(const ConvShape& s) {
  if (is_pointwise(s)) return std::min(s.out_pixels(), typed_columns);
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

/// A tap of the pixels [first, first + count) of a row of the result.
template <class T>
void lay_out_line(const ConvAxis& a, const T* row, long tap, long first, long count, T* to) {
  const long at = first * a.stride - a.pad_before + tap * a.dilation;  // of the first pixel
  const auto pixels_below = [&](long place) {
    return std::clamp(place <= at ? 0 : (place - at + a.stride - 1) / a.stride, 0L, count);
  };
  const long begin = pixels_below(0), end = pixels_below(a.in);
  std::fill_n(to, begin, T{});
  if (a.stride == 1) {
    std::copy_n(row + at + begin, end - begin, to + begin);
  } else {
    for (long i = begin; i < end; ++i) to[i] = row[at + i * a.stride];
  }
  std::fill_n(to + end, count - end, T{});
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
      lay_out_line(s.w, row, tap_w, x, length, line);
    }
  }
}

/// Along one axis: the elements of the input whose tap lies inside the result, and where that of the first
/// element 0 would lie.
struct Reach {
  long begin, end, at;
};
Reach reach_of(const ConvShape& s, const ConvAxis& a, long tap) {
  const long at = tap * a.dilation - a.pad_before, out = s.out(a);
  const long begin = at < 0 ? (-at + a.stride - 1) / a.stride : 0;
  return {begin, at >= out ? begin : std::min(a.in, (out - at + a.stride - 1) / a.stride), at};
}

/// plane[pixel] of one channel += what each tap gives: parts[tap][element of the input].
template <class T>
void add_up(const ConvShape& s, const T* parts, T* plane) {
  for (long tap = 0; tap < s.taps(); ++tap, parts += s.in_pixels()) {
    const Reach w = reach_of(s, s.w, tap % s.w.kernel);
    const Reach h = reach_of(s, s.h, tap / s.w.kernel % s.h.kernel);
    const Reach d = reach_of(s, s.d, tap / s.w.kernel / s.h.kernel);
    for (long i = d.begin; i < d.end; ++i)
      for (long j = h.begin; j < h.end; ++j) {
        const T* const from = parts + (i * s.h.in + j) * s.w.in;
        const long row = (i * s.d.stride + d.at) * s.out(s.h) + j * s.h.stride + h.at;
        T* const to = plane + row * s.out(s.w) + w.at;
        for (long k = w.begin; k < w.end; ++k)
          to[k * s.w.stride] = apply<T>(Prim::add, to[k * s.w.stride], from[k]);
      }
  }
}

/// Channels of a transposed convolution's result whose parts fit the L2 cache.
long channels_at_once(const ConvShape& s) {
  constexpr long elements = 64 << 10;
  return std::clamp(elements / (s.taps() * s.in_pixels()), 1L, s.Cout / s.groups);
}

std::size_t matrix_size(const ConvShape& s) {
  const long elements = s.transposed      ? channels_at_once(s) * s.taps() * s.in_pixels()
                        : is_pointwise(s) ? 0
                                          : depth_of(s) * pixels_at_once(s);
  return static_cast<std::size_t>(elements + 15) / 16 * 16;
}
/// Elements.
template <class T>
std::size_t worker_size(const ConvShape& s) {
  return matrix_size(s) + typed_product_scratch_size(TypedProduct<T>{}, 1) / sizeof(T);
}

template <class T>
T* matrix_of(const ConvShape& s, std::byte* scratch, int worker) {
  return reinterpret_cast<T*>(scratch) + worker_size<T>(s) * static_cast<std::size_t>(worker);
}

/// Its scratch lies behind the matrix.
template <class T>
void multiply(const ConvShape& s, const TypedProduct<T>& product, T* matrix) {
  ThreadPool alone(1);
  typed_product(product, reinterpret_cast<std::byte*>(matrix + matrix_size(s)), alone);
}

template <class T>
void transposed_conv(const TypedConv<T>& conv, std::byte* scratch, ThreadPool& pool) {
  const ConvShape& s = conv.shape;
  const long pixels = s.in_pixels(), taps = s.taps(), at_once = channels_at_once(s);
  const long in_each = s.Cin / s.groups, out_each = s.Cout / s.groups;
  const long pieces = (out_each + at_once - 1) / at_once;
  pool.parallel_for(s.N * s.groups * pieces, [&](long chunk, int worker) {
    const long first = chunk % pieces * at_once, count = std::min(at_once, out_each - first);
    const long group = chunk / pieces % s.groups, image = chunk / pieces / s.groups;
    T* const parts = matrix_of<T>(s, scratch, worker);
    multiply(s,
             {.M = count * taps,
              .N = pixels,
              .K = in_each,
              .a = conv.weights + (group * in_each * out_each + first) * taps,
              .a_row = 1,
              .a_column = out_each * taps,
              .b = conv.x + (image * s.Cin + group * in_each) * pixels,
              .b_row = pixels,
              .c = parts,
              .c_row = pixels},
             parts);
    for (long c = 0; c < count; ++c) {
      const long channel = group * out_each + first + c;
      T* const plane = conv.y + (image * s.Cout + channel) * s.out_pixels();
      std::fill_n(plane, s.out_pixels(), conv.bias ? conv.bias[channel] : T{});
      add_up(s, parts + c * taps * pixels, plane);
    }
  });
}

}  // namespace

template <class T>
std::size_t typed_conv_scratch_size(const ConvShape& s, int threads) {
  return worker_size<T>(s) * sizeof(T) * static_cast<std::size_t>(threads);
}

template <class T>
void typed_conv(const TypedConv<T>& conv, std::byte* scratch, ThreadPool& pool) {
  const ConvShape& s = conv.shape;
  if (s.transposed) return transposed_conv(conv, scratch, pool);
  const long pixels = s.out_pixels(), depth = depth_of(s), at_once = pixels_at_once(s);
  const long in_each = s.Cin / s.groups, out_each = s.Cout / s.groups;
  const long pieces = (pixels + at_once - 1) / at_once;
  pool.parallel_for(s.N * s.groups * pieces, [&](long chunk, int worker) {
    const long first = chunk % pieces * at_once, count = std::min(at_once, pixels - first);
    const long group = chunk / pieces % s.groups, image = chunk / pieces / s.groups;
    T* const matrix = matrix_of<T>(s, scratch, worker);
    const T* const x = conv.x + (image * s.Cin + group * in_each) * s.in_pixels();
    for (long c = 0; c < in_each && !is_pointwise(s); ++c)
      lay_out(s, x + c * s.in_pixels(), first, count, matrix + c * s.taps() * count);
    T* const y = conv.y + (image * s.Cout + group * out_each) * pixels + first;
    multiply(s,
             {.M = out_each,
              .N = count,
              .K = depth,
              .a = conv.weights + group * out_each * depth,
              .a_row = depth,
              .b = is_pointwise(s) ? x + first : matrix,
              .b_row = is_pointwise(s) ? pixels : count,
              .c = y,
              .c_row = pixels},
             matrix);
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
