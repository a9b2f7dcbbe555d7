// Attention, and contractions in index notation.
#include "ir/ops/attention.h"

#include "base/error.h"
#include "compose/einsum.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/functions.h"
#include "ir/ops/norm.h"
#include "ir/ops/reduce.h"
#include "ir/ops/softmax.h"
#include "ir/ops/working_dtype.h"
#include "ir/random.h"

namespace tenon::converter {

namespace {

/// Grouped queries: each head of keys and values serves several heads of queries.
Ref repeated_heads(const Ref& x, const Ref& query) {
  const std::size_t heads = x.rank() - 3;
  const Dim times = floor_div(query.shape()[heads], x.shape()[heads]);
  if (times == Dim(1)) return x;
  Shape single = x.shape();
  single.insert(single.begin() + static_cast<std::ptrdiff_t>(heads) + 1, Dim(1));
  Shape wide = single;
  wide[heads + 1] = times;
  Shape result = x.shape();
  result[heads] = result[heads] * times;
  return reshape(expand(reshape(x, single), wide), result);
}

Results scaled_dot_product_attention(Call& call) {
  const Ref query = call.tensor("query");
  Ref key = call.tensor("key");
  Ref value = call.tensor("value");
  if (call.flag("enable_gqa", false)) {
    key = repeated_heads(key, query);
    value = repeated_heads(value, query);
  }
  Attention op;
  op.causal = call.flag("is_causal", false);
  if (call.has("scale")) op.scale = call.number("scale");
  std::vector<Ref> operands = {query, key, value};
  if (const Ref mask = call.optional_tensor("attn_mask"))
    operands.push_back(is_bool(mask.dtype()) ? mask : cast(query.dtype(), mask));
  if (const double p = call.number("dropout_p", 0)) {
    const Ref kept = dropout(op.weights(operands), p)[0];
    return cast(query.dtype(), matmul(kept, working(value)));
  }
  return tenon::apply(op, operands);
}

/// With the logarithms of the sums that the softmax divides by.
Results flash_attention_for_cpu(Call& call) {
  const Ref y = scaled_dot_product_attention(call).fresh.at(0);
  const Ref q = working(call.tensor("query")), k = working(call.tensor("key"));
  const Ref width = dim_value(q.shape().back(), q);
  Ref scores = matmul(q, transpose(k, -1, -2));
  scores = call.has("scale") ? scores * call.number("scale") : scores / sqrt(width);
  const Dim queries = q.shape()[q.rank() - 2], keys = k.shape()[k.rank() - 2];
  const Ref lowest = scores.literal(-std::numeric_limits<double>::infinity());
  if (call.flag("is_causal", false)) {
    const Ref row = reshape(iota(queries, q.insertion_point()), {queries, Dim(1)});
    scores = where(row >= iota(keys, q.insertion_point()), scores, lowest);
  }
  if (const Ref mask = call.optional_tensor("attn_mask"))
    scores = is_bool(mask.dtype()) ? where(mask, scores, lowest) : scores + cast(scores.dtype(), mask);
  return std::vector{y, apply(LogSumExp{.axes = {static_cast<std::int64_t>(scores.rank()) - 1}}, {scores})};
}

/// With the weights.
Results attention_math(Call& call) {
  call.ignore({"dropout_mask"});
  const Ref y = scaled_dot_product_attention(call).fresh.at(0);
  Attention op{.causal = call.flag("is_causal", false)};
  if (call.has("scale")) op.scale = call.number("scale");
  std::vector<Ref> operands = {call.tensor("query"), call.tensor("key"), call.tensor("value")};
  if (const Ref mask = call.optional_tensor("attn_mask")) operands.push_back(mask);
  return std::vector{y, cast(y.dtype(), op.weights(operands))};
}

/// x[N, L, E] as heads: [N, H, L, E / H].
Ref as_heads(const Ref& x, std::int64_t heads) {
  const auto s = x.shape();
  return permute(reshape(x, {s[0], s[1], Dim(heads), floor_div(s[2], Dim(heads))}), {0, 2, 1, 3});
}

/// What PyTorch's fast path does inside one operator: self-attention with the projections of query, key and
/// value in one weight. The mask is true (or not 0) where nothing is to be seen; `mask_type` says whether it
/// is [L, L] (0), one of the keys, [N, L] (1), or [N, H, L, L] (2).
struct SelfAttention {
  Ref y, weights;  // weights [N, H, L, L] where they are asked for
};

SelfAttention self_attention(Call& call, const Ref& x, std::int64_t heads, bool need_weights = false) {
  const Ref projected = tenon::linear(x, call.tensor("qkv_weight"), call.tensor("qkv_bias"));
  const Dim width = x.shape()[2];
  const auto part = [&](std::int64_t i) {
    return as_heads(slice(projected, 2, width * i, width * (i + 1)), heads);
  };
  const Ref query = part(0), key = part(1), value = part(2);
  const std::int64_t mask_type = call.integer("mask_type", 2);
  Ref seen = call.optional_tensor("mask");
  if (seen) {
    seen = logical_not(cast(DType::boolean, seen));
    if (mask_type == 1) seen = reshape(seen, {seen.shape()[0], Dim(1), Dim(1), seen.shape()[1]});
  }
  SelfAttention out;
  if (need_weights) {
    Ref scores = matmul(query, transpose(key, -1, -2)) / sqrt(dim_value(query.shape()[3], query));
    if (seen) scores = where(seen, scores, -std::numeric_limits<double>::infinity());
    out.weights = apply(Softmax{.axis = 3}, {scores});
    out.y = matmul(out.weights, value);
  } else {
    const Attention op{.nan_rows = true};
    out.y = seen ? apply(op, {query, key, value, seen}) : apply(op, {query, key, value});
  }
  const Ref joined = reshape(permute(out.y, {0, 2, 1, 3}), x.shape());
  out.y = tenon::linear(joined, call.tensor("proj_weight"), call.tensor("proj_bias"));
  return out;
}

Ref batch_first(Call& call, std::string_view argument) {
  const Ref x = call.tensor(argument);
  if (x.rank() != 3) throw unsupported("{} of {}: [N, L, E] is needed", call.name, x.type().str());
  return x;
}

Results native_multi_head_attention(Call& call) {
  const Ref x = batch_first(call, "query");
  const bool same = call.tensor("key").value() == x.value() && call.tensor("value").value() == x.value();
  if (!same) throw unsupported("_native_multi_head_attention of different query, key and value");
  call.ignore({"embed_dim"});
  const bool need_weights = call.flag("need_weights", true);
  const SelfAttention found = self_attention(call, x, call.integer("num_head"), need_weights);
  std::vector<AbstractValue> results = {AbstractValue(call.build.tensor(found.y)), AbstractValue(None{})};
  const bool average = call.flag("average_attn_weights", true);
  if (need_weights) results[1] = call.build.tensor(average ? mean(found.weights, {1}) : found.weights);
  return Results::many(std::move(results));
}

Results transformer_encoder_layer(Call& call) {
  call.ignore({"embed_dim"});
  const Ref x = batch_first(call, "src");
  const bool first = call.flag("norm_first", false);
  const LayerNorm norm{.rank = 1, .eps = call.number("eps", 1e-5)};
  const auto normed = [&](const Ref& y, const std::string& which) {
    return apply(norm, {y, call.tensor("norm_weight_" + which), call.tensor("norm_bias_" + which)});
  };
  const auto feed_forward = [&](const Ref& y) {
    const Ref hidden = tenon::linear(y, call.tensor("ffn_weight_1"), call.tensor("ffn_bias_1"));
    const Ref active = call.flag("use_gelu", false) ? apply(Gelu{}, {hidden}) : relu(hidden);
    return tenon::linear(active, call.tensor("ffn_weight_2"), call.tensor("ffn_bias_2"));
  };
  const std::int64_t heads = call.integer("num_heads");
  if (first) {
    const Ref y = x + self_attention(call, normed(x, "1"), heads).y;
    return y + feed_forward(normed(y, "2"));
  }
  const Ref y = normed(x + self_attention(call, x, heads).y, "1");
  return normed(y + feed_forward(y), "2");
}

TensorPtr diagonal_of(Builder& build, const TensorPtr& x, std::size_t first, std::size_t second) {
  const auto axis = [](std::size_t i) { return AbstractValue(Dim(static_cast<std::int64_t>(i))); };
  Call call(build, "diagonal", "",
            {{"self", AbstractValue(x)}, {"offset", axis(0)}, {"dim1", axis(first)}, {"dim2", axis(second)}});
  return *find_entry("diagonal", "")->handler(call).values.at(0).get<TensorPtr>();
}

/// Of one operand of which nothing is summed.
TensorPtr einsum_view(Builder& build, TensorPtr x, std::string axes, const std::string& result) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t again = axes.find(axes[i], i + 1);
    if (again == std::string::npos) continue;
    x = diagonal_of(build, x, i, again);
    axes += axes[i];
    axes.erase(again, 1).erase(i--, 1);
  }
  std::vector<std::int64_t> order;
  for (const char c : result) order.push_back(static_cast<std::int64_t>(axes.find(c)));
  return permuted(build, x, std::move(order));
}

Results einsum_op(Call& call) {
  call.ignore({"path"});
  const std::vector<TensorPtr> given = call.tensors("tensors");
  if (given.size() == 1)
    if (const auto view = einsum_of_view(call.word("equation", ""), given[0]->rank()))
      return einsum_view(call.build, given[0], view->first, view->second);
  std::vector<Ref> operands;
  for (const TensorPtr& t : given) operands.push_back(call.build.read(t));
  return einsum(call.word("equation", ""), operands);
}

/// Sums of products over pairs of axes.
Results tensordot(Call& call) {
  const Ref a = call.tensor("self");
  const Ref b = call.tensor("other");
  const auto of_a = call.integers("dims_self"), of_b = call.integers("dims_other");
  return einsum(tensordot_equation(a.rank(), b.rank(), of_a, of_b), std::array{a, b});
}

constexpr AtenEntry attention_table[] = {
    {"scaled_dot_product_attention", scaled_dot_product_attention},
    {"_scaled_dot_product_flash_attention_for_cpu", flash_attention_for_cpu},
    {"_scaled_dot_product_attention_math", attention_math},
    {"_native_multi_head_attention", native_multi_head_attention},
    {"_transformer_encoder_layer_fwd", transformer_encoder_layer},
    {"einsum", einsum_op},
    {"tensordot", tensordot},
};

}  // namespace

std::span<const AtenEntry> attention_entries() { return attention_table; }

}  // namespace tenon::converter
