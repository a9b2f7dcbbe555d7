// Zero-padded copies of images, so that every tap of a convolution reads plain memory.
#pragma once
#include <atomic>

#include "kernels/cpu/conv.h"

namespace tenon::cpu {

/// How an image, or its padded copy, lies in memory; strides count floats. `plane` is depth, or the batch in
/// 2-d.
struct ImageView {
  const float* data = nullptr;  // the pixel at the padded origin
  long pixel_stride = 0;
  long row_stride = 0;
  long plane_stride = 0;
};

struct Padding {
  long before = 0;
  long after = 0;
};

/// `planes` planes of height x width pixels of `channels` floats, padded by zeros.
struct Halo {
  long planes;
  long height;
  long width;
  long channels;
  Padding d;
  Padding h;
  Padding w;

  bool empty() const { return d.before + d.after + h.before + h.after + w.before + w.after == 0; }
  long row_stride() const;
  long plane_stride() const { return (h.before + height + h.after) * row_stride(); }
  /// Floats of the copy; 0 where no padding is needed.
  long size() const { return empty() ? 0 : (d.before + planes + d.after) * plane_stride(); }
};

/// The padded image: `in` itself where there is nothing to pad, else a copy in `scratch`. `finite` becomes
/// false where the image holds a NaN or an infinity; null: not asked.
ImageView with_halo(const Halo& halo, const float* in, long in_stride, float* scratch, ThreadPool& pool,
                    std::atomic<bool>* finite = nullptr);

}  // namespace tenon::cpu
