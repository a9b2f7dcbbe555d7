// Images read at computed places: linear, nearest and cubic, of two axes.
#pragma once
#include <cstddef>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

enum class GridMode { linear, nearest, cubic };
/// What stands outside an image: 0, the nearest pixel, or the image mirrored.
enum class GridOutside { zeros, border, reflection };

/// y[image][point][channel], or with y_channels_first y[image][channel][point], is what stands at
/// grid[image][point] = (x, y) of an image [height, width, channels]. All is dense. Places from -1 to 1 are
/// those from the first pixel's centre to the last one's (align_corners), or between their outer edges.
/// T: float or double, which hold the number of each pixel.
template <class T>
struct GridSample {
  long images = 1, channels = 1, height = 1, width = 1;
  long points = 0;  // of each image
  GridMode mode = GridMode::linear;
  bool align_corners = false, y_channels_first = true;
  GridOutside outside = GridOutside::zeros;
  const T* x = nullptr;
  const T* grid = nullptr;
  T* y = nullptr;
};

template <class T>
std::size_t grid_sample_scratch_size(const GridSample<T>& sample, int threads);  // bytes
template <class T>
void grid_sample(const GridSample<T>& sample, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
