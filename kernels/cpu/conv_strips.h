// A large image, padded and convolved strip by strip of its lines: the padded copy of a strip is still in the
// L2 cache when it is read.
#pragma once
#include <algorithm>

#include "kernels/conv_shape.h"

namespace tenon::cpu {

/// Lines of the result of an image: a convolution of its own.
struct Strip {
  ConvShape shape;
  long in_pixel, out_pixel;  // the first ones
};

/// Lines [first, last) of the result of image n; all of them are the image as it is.
inline Strip strip_of(const ConvShape& s, long n, long first, long last) {
  if (first == 0 && last == s.out(s.h)) {
    Strip image{s, n * s.in_pixels(), n * s.out_pixels()};
    image.shape.N = 1;
    return image;
  }
  const long begin = first * s.h.stride - s.h.pad_before;
  const long end = (last - 1) * s.h.stride + (s.h.kernel - 1) * s.h.dilation + 1 - s.h.pad_before;
  const long from = std::clamp(begin, 0L, s.h.in), to = std::clamp(end, from, s.h.in);
  Strip strip{s, n * s.in_pixels() + from * s.w.in, n * s.out_pixels() + first * s.out(s.w)};
  strip.shape.N = 1;
  strip.shape.h.in = to - from;
  strip.shape.h.pad_before = from - begin;
  strip.shape.h.pad_after = end - to;
  return strip;
}

/// Lines of the result in a strip, for sizes in bytes: of a padded line, and of packed weights, which should
/// stay in the cache, too. All of them where strips do not pay.
inline long lines_of_strip(const ConvShape& s, long line, long weights) {
  constexpr long strip = 512 * 1024, small_weights = 1024 * 1024;
  const long image = (s.h.pad_before + s.h.in + s.h.pad_after) * line;
  if (!s.d.trivial() || weights > small_weights || image <= 2 * strip) return s.out(s.h);
  return std::clamp(strip / line / s.h.stride, 1L, s.out(s.h));
}

/// body(strip) for all strips of all images.
template <class Body>
void each_strip(const ConvShape& s, long lines, Body body) {
  for (long n = 0; n < s.N; n++)
    for (long y = 0; y < s.out(s.h); y += lines) body(strip_of(s, n, y, std::min(s.out(s.h), y + lines)));
}

}  // namespace tenon::cpu
