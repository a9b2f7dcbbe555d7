// com.microsoft.MoE: a mixture of experts, of which each token takes a few. All experts are computed.
#include <array>
#include <limits>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/sort.h"

namespace tenon::converter::onnx {

namespace {

/// The share of each expert in each token, [tokens, experts]; 0 for those that are not taken.
Ref shares_of(const Call& call, const Ref& scores) {
  if (call.integer("use_sparse_mixer", 0) != 0) throw unsupported("its sparse mixer");
  check_rank("router_probs", scores.type(), 2);
  const Ref all = softmax(scores, 1);
  const auto taken = apply_all(TopK{.k = Dim(call.integer("k", 1)), .axis = 1}, std::array{all});
  Ref shares = taken[0];
  if (call.integer("normalize_routing_weights", 0) != 0) shares = shares / sum(shares, {1}, true);
  return apply(Scatter{.axis = 1}, {zeros_like(all), taken[1], shares});
}

/// x[experts, tokens, in] with each expert's weights[experts, out, in] and bias[experts, out].
Ref by_experts(const Call& call, const Ref& x, std::size_t weights, std::size_t bias) {
  const Ref w = call.tensor(weights);
  check_rank("the weights of experts", w.type(), 3);
  const Ref y = matmul(x, transpose(w, -1, -2));
  if (!call.has(bias)) return y;
  const Ref b = call.tensor(bias);
  check_rank("the biases of experts", b.type(), 2);
  return y + reshape(b, {b.shape()[0], Dim(1), b.shape()[1]});
}

/// Gates and what they let through are two products, the two halves of one, or its neighbours.
Ref swiglu(const Call& call, const Ref& first, const Ref& tokens) {
  const std::int64_t how = call.integer("swiglu_fusion", 0);
  const double limit = call.number("swiglu_limit", std::numeric_limits<double>::infinity());
  const Dim size = first.shape()[2], half = floor_div(size, Dim(2));
  Ref gate = first, linear;
  if (how == 0) {
    linear = by_experts(call, tokens, 6, 7);
  } else if (how == 1) {
    gate = slice(first, 2, Dim(0), size, 2);
    linear = slice(first, 2, Dim(1), size, 2);
  } else {
    gate = slice(first, 2, Dim(0), half);
    linear = slice(first, 2, half, size);
  }
  if (call.has("swiglu_limit")) {
    gate = apply(Clamp{.max = limit}, {gate});
    linear = apply(Clamp{.min = -limit, .max = limit}, {linear});
  }
  return gate * sigmoid(gate * call.number("activation_alpha", 1)) *
         (linear + call.number("activation_beta", 0));
}

Ref hidden_of(const Call& call, const Ref& tokens) {
  const Ref y = by_experts(call, tokens, 2, 3);
  const std::string activation = call.text("activation_type", "relu");
  if (activation == "swiglu") return swiglu(call, y, tokens);
  if (call.has(6)) throw unsupported("a third product with the activation {}", activation);
  if (activation == "relu") return relu(y);
  if (activation == "gelu") return apply(Gelu{.approximate = GeluForm::tanh}, {y});
  if (activation == "silu") return silu(y);
  if (activation == "identity") return y;
  throw unsupported("the activation {}", activation);
}

Operands mixture(Call& call) {
  const Ref x = call.tensor(0);
  if (x.rank() < 2) throw error("a tensor of rank {}", x.rank());
  const Ref shares = shares_of(call, call.tensor(1));
  const Dim tokens = shares.shape()[0], experts = shares.shape()[1];
  const Ref flat = reshape(x, {Dim(1), tokens, x.shape().back()});
  const Ref y = by_experts(call, hidden_of(call, flat), 4, 5);
  const Ref weights = reshape(transpose(shares, 0, 1), {experts, tokens, Dim(1)});
  return {reshape(sum(y * weights, {0}), x.shape())};
}

}  // namespace

std::span<const OnnxEntry> mixture_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.MoE", mixture},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
