// Images of quantised models: 8-bit integers in memory.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tenon {

struct Device;
class WeightStore;

/// A float32 value that is made of bytes: cast, less a zero point, times a scale, which are literals. The
/// scale is above zero: the larger byte stands for the larger number.
struct ScaledBytes {
  Value* bytes;  // i8 or u8
  const Node* scale;

  /// Of a value that a region computes: in terms of that region. nullopt where it is not computed so.
  static std::optional<ScaledBytes> of(const Value* value);
  /// These operators, in order; the first operand of each is the result of the one before.
  std::vector<const Node*> chain() const;
};

/// The result of a group that ends so becomes the bytes, and the groups that read it hold what makes float32
/// of them: where a convolution that multiplies bytes (OpLowering::takes_bytes) or a loop computes it, and
/// such convolutions and loops and what is behind an anchor read it. Maxima of windows are taken of the
/// bytes; where codes are made of a concatenation, they are made of its operands; the same codes are not made
/// again.
void hold_images_in_bytes(Graph& graph, const Device& device, WeightStore& weights);

}  // namespace tenon
