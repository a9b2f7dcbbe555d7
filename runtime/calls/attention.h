// Attention, whatever the device.
#pragma once
#include <optional>

#include "kernels/attention_shape.h"
#include "runtime/planner.h"

namespace tenon {

struct AttentionCall {
  const Value* q = nullptr;
  const Value* k = nullptr;
  const Value* v = nullptr;
  const Value* mask = nullptr;  // null: none
  const Value* sink = nullptr;  // null: none
  AttentionShape shape;

  /// nullopt where the group is no attention of four axes at most, or there is nothing to compute.
  static std::optional<AttentionCall> match(const Group&);
  Work work() const;
};

/// An operand or the result as [batch, heads, rows, size], with leading axes broadcast to these ones.
template <class Array>
Array as_heads(const Array& t, const Index& leading) {
  Index shape = leading;
  shape[shape.size() - 2] = t.shape()[t.rank() - 2];
  shape[shape.size() - 1] = t.shape()[t.rank() - 1];
  const Array full = t.expand(shape);
  Index four(4 - shape.size(), 1);
  four.insert(four.end(), shape.begin(), shape.end());
  return full.expand(four);
}

HeadStrides head_strides(const Strided& heads);

/// Where the operands and the result of a call lie, as heads. The elements of a row of q, k, v and the result
/// are contiguous; where those of an operand are not, it is copied. k and v have kv_heads.
struct PlacedAttention {
  PlannedTensor q, k, v, out;
  std::optional<PlannedTensor> mask;  // [batch, heads, queries, keys]
  std::optional<PlannedTensor> sink;  // [heads], contiguous
  std::vector<PlannedTensor> reads;
  PlannedTensor result;
};
PlacedAttention place_attention(Planner&, const Group&, const AttentionCall&);
/// What the copies cost, in seconds.
double estimate_copies(const Planner&, const AttentionCall&);

}  // namespace tenon
