// What a convolution computes, for every device.
#pragma once

namespace tenon {

/// One spatial axis. Unused axes stay as they are: a 1-d convolution has only `w`, a 2-d one `h` and `w`.
struct ConvAxis {
  long in = 1;
  long kernel = 1;
  long stride = 1;
  long pad_before = 0;  // in elements of the input; for transposed convolutions PyTorch's `padding`
  long pad_after = 0;
  long dilation = 1;
  long output_padding = 0;  // transposed only

  bool trivial() const {
    return in == 1 && kernel == 1 && pad_before == 0 && pad_after == 0 && output_padding == 0;
  }
};

/// Weights are PyTorch's: [Cout, Cin / groups, (kd,) kh, kw], transposed [Cin, Cout / groups, (kd,) kh, kw].
struct ConvShape {
  long N = 1;
  long Cin = 1;
  long Cout = 1;
  ConvAxis h = {};
  ConvAxis w = {};
  ConvAxis d = {};
  long groups = 1;
  bool transposed = false;

  long out(const ConvAxis& a) const {
    const long reach = (a.kernel - 1) * a.dilation + 1;
    if (transposed) return (a.in - 1) * a.stride + reach - a.pad_before - a.pad_after + a.output_padding;
    return (a.in + a.pad_before + a.pad_after - reach) / a.stride + 1;
  }
  long in_pixels() const { return d.in * h.in * w.in; }
  long out_pixels() const { return out(d) * out(h) * out(w); }
  long taps() const { return d.kernel * h.kernel * w.kernel; }
  /// Multiply-adds count two.
  double flops() const {
    const double pixels = static_cast<double>(N * (transposed ? in_pixels() : out_pixels()));
    return 2.0 * pixels * static_cast<double>(Cout * Cin / groups * taps());
  }
};

}  // namespace tenon
