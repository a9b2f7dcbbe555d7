// Rotary embeddings: pairs of elements turned by angles that depend on the place.
#pragma once
#include "ir/build.h"

namespace tenon::converter::onnx {

struct Rotation {
  Ref cosines, sines;        // [batch or 1, length, width / 2]
  Dim width;                 // of what is turned, the first elements of a head
  bool interleaved = false;  // pairs are neighbours, not half a width apart
};

/// x[batch, length, heads, width of a head]; 16-bit floats are turned in f32.
Ref rotated(const Ref& x, const Rotation&);

}  // namespace tenon::converter::onnx
