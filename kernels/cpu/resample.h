// Resizing images by weighted sums of a few elements along each axis: linear, cubic, antialiased.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// The elements along an axis that each result is made of: `taps` places and weights each.
struct ResampleAxis {
  long in = 1, out = 1, taps = 1;
  std::vector<std::int32_t> places;  // [taps][out]
  std::vector<float> weights;        // [taps][out]
};

/// Images [images, axes..., inner] in dense float32: a result is the sum over all axes' taps. Channels-last
/// images have channels as `inner`; others have channels among the images.
struct Resample {
  long images = 1, inner = 1;
  std::vector<ResampleAxis> axes;  // the last one moves fastest; one at least
};

std::size_t resample_scratch_size(const Resample& resample, int threads);  // bytes
void resample(const Resample& resample, const float* x, float* y, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
