// Scaled dot-product attention. 16-bit floats are computed in f32; what multiplies v may be rounded to them.
#pragma once
#include <optional>

#include "ir/ops/spans.h"

namespace tenon {

/// softmax(q k^T * scale + mask) v with q[..., L, E], k[..., S, E], v[..., S, Ev], leading axes broadcast.
/// The last of these are heads: where those of k and v divide the queries' (8 and 2), each serves as many of
/// the queries' in turn (the first serves four).
/// The scale is 1 / sqrt(E) when none. A bool mask keeps where true, a float mask is added. `causal` keeps
/// key j for query i when j <= i. A row of which the mask keeps nothing gives 0.
/// The operand behind the mask, [heads], is a sink: a score of each head that takes a share and has no value.
struct Attention : Composite<3, 5> {
  static constexpr std::string_view name = "attention";
  std::optional<double> scale;
  /// Scores before the mask become softcap * tanh(score / softcap); 0: they stay.
  double softcap = 0;
  bool causal = false;
  /// A query whose keys are all masked gives NaN, as a softmax written out does, instead of 0.
  bool nan_rows = false;
  static constexpr auto fields =
      std::tuple{field("scale", &Attention::scale), field("softcap", &Attention::softcap),
                 field("causal", &Attention::causal), field("nan_rows", &Attention::nan_rows)};
  std::vector<Type> infer(TypeSpan in) const;
  std::vector<Ref> decompose(RefSpan in) const;
  /// What is multiplied by v: softmax(q k^T * scale + mask), without the sink's share.
  Ref weights(RefSpan in) const;
};

using Attentions = OpList<Attention>;

}  // namespace tenon
