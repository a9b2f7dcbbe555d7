// Regions of images, places in them, and deformable convolutions: what ONNX and PyTorch share.
#pragma once
#include <array>
#include <span>

#include "converter/builder.h"

namespace tenon::converter {

struct RoiAlign {
  std::array<std::int64_t, 2> bins;  // down, then right
  std::int64_t samples;              // of a bin, along each axis
  double scale = 1;                  // from the places of boxes to those of x
  bool aligned = true;               // pixels have their centres at halves; boxes may be small
  bool largest = false;              // the largest corner of all samples, not their mean
};

/// Regions of images, each read at the same number of places and pooled: [regions, channels, bins]. x is
/// [N, channels, H, W], boxes [regions, 4] with x before y, images the number of each region's image.
Ref roi_align(Builder&, const Ref& x, const Ref& boxes, const Ref& images, const RoiAlign&);

/// Where bin i of n begins in a region: torchvision rounds the size of a bin to a float, ONNX Runtime does
/// not.
enum class BinEdges : std::uint8_t { times_size, exact };

/// The same boxes, moved to whole places (halves away from zero); the largest of each bin, zero of an empty
/// one.
Ref roi_pool(Builder&, const Ref& x, const Ref& boxes, const Ref& images,
             const std::array<std::int64_t, 2>& bins, double scale, BinEdges);

struct DeformConv {
  std::array<std::int64_t, 2> stride{1, 1}, pads{0, 0}, dilation{1, 1};
  std::int64_t groups = 1, parts = 1;  // of channels, and of channels with offsets of their own
};

/// A deformable convolution: each tap is read at a position of its own and weighted by a mask. `bias` and
/// `mask` may be empty.
Ref deform_conv(Builder&, const Ref& x, const Ref& weight, const Ref& offset, const Ref& bias,
                const Ref& mask, const DeformConv&);

/// Where each place of images of these sizes (batch, channels, two or three spatial axes) lies in others,
/// from -1 to 1, by an affine map for each: [batch, spatial axes..., x y (z)]. theta is [batch, n, n + 1].
Ref affine_grid(Builder&, const Ref& theta, std::span<const Dim> sizes, bool align_corners);

}  // namespace tenon::converter
