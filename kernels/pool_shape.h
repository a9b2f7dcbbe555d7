// What a pool computes, for every device.
#pragma once

namespace tenon {

/// One spatial axis; unused axes stay as they are.
struct PoolAxis {
  long in = 1;
  long kernel = 1;
  long stride = 1;
  long pad = 0;       // on both sides
  long pad_more = 0;  // at the end; may be negative
  long dilation = 1;
  bool ceil_mode = false;

  /// Or each position for itself?
  bool has_windows() const { return kernel != 1 || stride != 1 || pad != 0 || pad_more != 0; }

  /// PyTorch's rule: in ceil_mode the last window must start inside the image or its left padding.
  long out() const {
    const long span = in + 2 * pad + pad_more - dilation * (kernel - 1) - 1;
    long count = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (count - 1) * stride >= in + pad) count--;
    return count;
  }
};

struct PoolShape {
  long N = 1;
  long C = 1;
  PoolAxis h = {};
  PoolAxis w = {};
  PoolAxis d = {};

  long in_pixels() const { return d.in * h.in * w.in; }
  long out_pixels() const { return d.out() * h.out() * w.out(); }
};

}  // namespace tenon
