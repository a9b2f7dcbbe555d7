// Spelled-out operators become the operator: small ones first, since big ones are made of them.
#include "fusion/passes.h"
#include "fusion/rules/rules.h"

namespace tenon {

namespace {

const std::vector<Rule>& raising_rules() {
  static const std::vector<Rule> list = {
      raise_gelu(),
      raise_gelu_tanh(),
      raise_sigmoid(),
      raise_silu(),
      raise_hardswish(),
      raise_hardsigmoid(),
      hardswish_of_hardsigmoid(),
      raise_softmax(),
      softmax_of_shifted(),
      raise_layer_norm(),
      raise_rms_norm(),
      layer_norm_weight(),
      layer_norm_bias(),
      rms_norm_weight(),
      group_norm_of_groups(),
      group_norm_weight(),
      group_norm_bias(),
      raise_attention(),
      mean_to_pool(),
      pad_of_conv(),
  };
  return list;
}

}  // namespace

Pass raise() {
  return {"raise", names(raising_rules()),
          [](Rewriter& rewriter) { apply_rules(rewriter, raising_rules()); }};
}

}  // namespace tenon
