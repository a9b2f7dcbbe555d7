// Convolutions as plain loops, for the tests of convolutions.
#pragma once
#include <ostream>
#include <vector>

#include "kernels/conv_shape.h"
#include "tests/kernels/conv_axis.h"
#include "tests/kernels/numbers.h"

namespace tenon {

inline std::ostream& operator<<(std::ostream& out, const ConvAxis& a) {
  return out << a.in << " k" << a.kernel << " s" << a.stride << " p" << a.pad_before << "," << a.pad_after
             << " d" << a.dilation << " op" << a.output_padding;
}
inline std::ostream& operator<<(std::ostream& out, const ConvShape& s) {
  return out << (s.transposed ? "transposed " : "") << "N" << s.N << " " << s.Cin << "->" << s.Cout << " d("
             << s.d << ") h(" << s.h << ") w(" << s.w << ") groups " << s.groups;
}

namespace cpu {

/// [N, D, H, W, Cout] in doubles, from a dense channels-last input and PyTorch's weights.
inline std::vector<double> reference(const ConvShape& s, const Numbers& in, const Numbers& weights) {
  const long in_each = s.Cin / s.groups;
  const long out_each = s.Cout / s.groups;
  const long out_d = s.out(s.d), out_h = s.out(s.h), out_w = s.out(s.w);
  std::vector<double> out(static_cast<std::size_t>(s.N * s.out_pixels() * s.Cout));
  const auto at = [&](long n, long z, long y, long x, long o) -> double& {
    return out[static_cast<std::size_t>((((n * out_d + z) * out_h + y) * out_w + x) * s.Cout + o)];
  };
  // For a forward convolution i is the output position and o the input position; for a transposed one the
  // reverse.
  const auto other = [](const ConvAxis& a, long i, long k) {
    return i * a.stride - a.pad_before + k * a.dilation;
  };
  const auto inside = [](long i, long size) { return i >= 0 && i < size; };
  const long from_d = s.transposed ? s.d.in : out_d, from_h = s.transposed ? s.h.in : out_h,
             from_w = s.transposed ? s.w.in : out_w;
  const long to_d = s.transposed ? out_d : s.d.in, to_h = s.transposed ? out_h : s.h.in,
             to_w = s.transposed ? out_w : s.w.in;
  for (long n = 0; n < s.N; n++)
    for (long z = 0; z < from_d; z++)
      for (long y = 0; y < from_h; y++)
        for (long x = 0; x < from_w; x++)
          for (long kz = 0; kz < s.d.kernel; kz++)
            for (long ky = 0; ky < s.h.kernel; ky++)
              for (long kx = 0; kx < s.w.kernel; kx++) {
                const long oz = other(s.d, z, kz), oy = other(s.h, y, ky), ox = other(s.w, x, kx);
                if (!inside(oz, to_d) || !inside(oy, to_h) || !inside(ox, to_w)) continue;
                const long tap = (kz * s.h.kernel + ky) * s.w.kernel + kx;
                for (long o = 0; o < s.Cout; o++) {
                  const long g = o / out_each;
                  for (long i = 0; i < in_each; i++) {
                    const long c = g * in_each + i;
                    if (s.transposed) {
                      at(n, oz, oy, ox, o) +=
                          double{in[(((n * s.d.in + z) * s.h.in + y) * s.w.in + x) * s.Cin + c]} *
                          double{weights[(c * out_each + o % out_each) * s.taps() + tap]};
                    } else {
                      at(n, z, y, x, o) +=
                          double{in[(((n * s.d.in + oz) * s.h.in + oy) * s.w.in + ox) * s.Cin + c]} *
                          double{weights[(o * in_each + i) * s.taps() + tap]};
                    }
                  }
                }
              }
  return out;
}

/// A hook that adds a number to each element by its place.
inline void add_place(const void*, float* tile, long stride, long row0, long rows, long col0, long cols) {
  for (long r = 0; r < rows; r++) {
    for (long c = 0; c < cols; c++)
      tile[r * stride + c] += static_cast<float>((row0 + r) % 97 * 100 + col0 + c);
  }
}

}  // namespace cpu
}  // namespace tenon
