// The points of a block of a sampled image. Internal to grid_sample.cpp.
#pragma once
#include "kernels/cpu/grid_sample.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// What one image's points read and write.
template <class T>
struct GridPoints {
  const GridSample<T>* sample;
  const T* image;   // [height, width, channels]
  const T* zeros;   // a pixel
  const T* places;  // [count][2]
  T* y;             // [count][channels]
  long count;
};
template <class T>
using SampleGridPoints = void(const GridPoints<T>& points);
TENON_PER_ISA(SampleGridPoints<float>, sample_grid_points_f32, sample_grid_points_f32)
TENON_PER_ISA(SampleGridPoints<double>, sample_grid_points_f64, sample_grid_points_f64)

}  // namespace tenon::cpu
