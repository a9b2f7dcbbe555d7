// Spelled-out operators become the operator: small ones first, since big ones are made of them.
#include "fusion/passes.h"
#include "fusion/rules/rules.h"

namespace tenon {

namespace {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list = {
      raise_gelu(),     raise_gelu_tanh(), raise_silu(),       raise_softmax(), raise_layer_norm(),
      raise_rms_norm(), raise_attention(), causal_attention(), mean_to_pool(),
  };
  return list;
}

}  // namespace

Pass raise() {
  return {"raise", names(rules()), [](Rewriter& rewriter) { apply_rules(rewriter, rules()); }};
}

}  // namespace tenon
