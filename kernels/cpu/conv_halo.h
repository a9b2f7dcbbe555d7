// Zero-padded copies of images, so that every tap of a convolution reads plain memory.
#pragma once
#include <atomic>

#include "kernels/cpu/conv.h"

namespace tenon::cpu {

/// How an image, or its padded copy, lies in memory; strides count elements: floats, or of 16 bits. `plane`
/// is depth, or the batch in 2-d.
template <class T>
struct ImageView {
  const T* data = nullptr;  // the pixel at the padded origin
  long pixel_stride = 0;
  long row_stride = 0;
  long plane_stride = 0;
};

struct Padding {
  long before = 0;
  long after = 0;
};

/// `planes` planes of height x width pixels of `channels` elements, padded by zeros.
struct Halo {
  long planes;
  long height;
  long width;
  long channels;
  Padding d;
  Padding h;
  Padding w;
  bool is_dense = false;  // pixels lie one behind the other
  long zeros = 0;         // behind the channels of each pixel

  bool empty() const { return d.before + d.after + h.before + h.after + w.before + w.after + zeros == 0; }
  long pixel_stride() const { return channels + zeros; }
  long row_stride() const;
  long plane_stride() const { return (h.before + height + h.after) * row_stride(); }
  /// Elements of the copy; 0 where none is needed.
  long size() const { return empty() && !is_dense ? 0 : (d.before + planes + d.after) * plane_stride(); }
};

/// The padded image: `in` itself where there is nothing to pad, else a copy in `scratch`. `finite` becomes
/// false where the image, of floats or bfloat16, holds a NaN or an infinity; null: not asked.
template <class T>
ImageView<T> with_halo(const Halo& halo, const T* in, long in_stride, T* scratch, ThreadPool& pool,
                       std::atomic<bool>* finite = nullptr);
extern template ImageView<float> with_halo(const Halo&, const float*, long, float*, ThreadPool&,
                                           std::atomic<bool>*);
extern template ImageView<std::uint16_t> with_halo(const Halo&, const std::uint16_t*, long, std::uint16_t*,
                                                   ThreadPool&, std::atomic<bool>*);

}  // namespace tenon::cpu
