// Resizing images by weighted sums of a few elements along each axis: linear, cubic, antialiased.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// The elements along an axis that each result is made of: `taps` places and weights each.
template <class T>
struct ResampleAxis {
  long in = 1, out = 1, taps = 1;
  std::vector<std::int32_t> places;  // [taps][out]
  std::vector<T> weights;            // [taps][out]
};

/// Where pixels lie, in elements.
struct PixelStrides {
  long pixel;  // between those of a row; their elements are dense
  long row;    // between rows, which are evenly spaced over all images
};

/// Images [images, axes..., inner] of T, float or double: a result is the sum over all axes' taps.
/// Channels-last images have channels as `inner`; others have channels among the images.
template <class T>
struct Resample {
  long images = 1, inner = 1;
  std::vector<ResampleAxis<T>> axes;  // the last one moves fastest; one at least
  PixelStrides in, out;
};

template <class T>
std::size_t resample_scratch_size(const Resample<T>& resample, int threads);  // bytes
template <class T>
void resample(const Resample<T>& resample, const T* x, T* y, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
