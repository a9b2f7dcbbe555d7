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
  AttentionShape shape;

  /// nullopt where the group is no attention of four axes at most, or there is nothing to compute.
  static std::optional<AttentionCall> match(const Group&);
  Work work() const;
};

/// An operand or the result as [batch, heads, rows, size], with leading axes broadcast to those of the
/// result.
template <class Array>
Array as_heads(const Array& t, const Index& result) {
  Index shape = result;
  shape[shape.size() - 2] = t.shape()[t.rank() - 2];
  shape[shape.size() - 1] = t.shape()[t.rank() - 1];
  const Array full = t.expand(shape);
  Index four(4 - shape.size(), 1);
  four.insert(four.end(), shape.begin(), shape.end());
  return full.expand(four);
}

HeadStrides head_strides(const Strided& heads);

}  // namespace tenon
