// What the attention operators of all domains share: heads, masks, and softmax attention over them.
#pragma once
#include <optional>

#include "ir/build.h"

namespace tenon::converter::onnx {

/// [batch, length, heads * width] as [batch, heads, length, width]; what has 4 axes stays.
Ref with_heads(const Ref& x, std::int64_t heads);
Ref without_heads(const Ref& x);
/// Repeats each head for all the queries that share it.
Ref shared(const Ref& x, const Dim& heads);

/// x with this size along an axis, or 1. Where its symbols do not say so, a check in the graph does.
Ref fitted(const Ref& x, std::int64_t axis, const Dim& size);

/// What a query may see: bools that allow and a bias that is added; both may be missing.
struct Mask {
  Ref allowed, bias;

  void allow(const Ref& more);
  void add(const Ref& more);
  Ref joined() const;
};

/// Which keys a query may see by their places; a negative number of keys behind or ahead is no bound.
struct Reach {
  bool causal = false;  // none ahead
  std::int64_t left = -1, right = -1;
};

/// softmax(q k^T * scale + mask) v, with q, k and v[batch, heads, length, width]; q may have more heads.
struct HeadAttention {
  Ref q, k, v;
  Mask mask;
  bool is_causal = false;       // query i sees key j when j <= i
  std::optional<double> scale;  // 1 / sqrt(width) when none
  double softcap = 0;           // scores become softcap * tanh(score / softcap)
  Ref sink;                     // [heads]: a score of each head that takes a share of nothing

  /// Query i stands at place i + offset; the offset may be missing, and may differ between samples.
  void restrict_places(const Reach&, const Ref& offset);
  Ref result() const;
};

}  // namespace tenon::converter::onnx
