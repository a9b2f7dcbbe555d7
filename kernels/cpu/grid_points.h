// The points of a block of a sampled image. Internal to grid_sample.cpp.
#pragma once
#include "kernels/cpu/grid_sample.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// What one image's points read and write.
struct GridPoints {
  const GridSample* sample;
  const float* image;   // [height, width, channels]
  const float* zeros;   // a pixel
  const float* places;  // [count][2]
  float* y;             // [count][channels]
  long count;
};
using SampleGridPoints = void(const GridPoints& points);
TENON_PER_ISA(SampleGridPoints, sample_grid_points, sample_grid_points)

}  // namespace tenon::cpu
