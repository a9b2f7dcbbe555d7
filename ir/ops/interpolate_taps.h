// Which elements along an axis a resized one is made of.
#pragma once
#include <vector>

#include "ir/ops/interpolate.h"

namespace tenon {

struct Tap {
  std::int64_t place;
  double weight;
};
/// Of one index along an axis: an element is the sum of its taps' products over all spatial axes.
using Taps = std::vector<Tap>;

/// The taps of each index along a spatial axis (0: the first behind N and C) of the result. Each index has as
/// many. Data of f64 have weights computed in f64, others in f32, as PyTorch has it.
std::vector<Taps> taps_along(const Interpolate&, DType data, std::size_t axis, std::int64_t in,
                             std::int64_t out);
std::vector<Taps> taps_along(const InterpolateAntialiased&, std::size_t axis, std::int64_t in,
                             std::int64_t out);

}  // namespace tenon
