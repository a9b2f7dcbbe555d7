// Attention of com.microsoft with as many keys as queries: Attention, MultiHeadAttention and their kin.
#include <array>

#include "base/error.h"
#include "converter/onnx/heads.h"
#include "converter/onnx/quantized.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// Keys that count: lengths, ends and starts, or numbers above 0, by the mask's shape.
Ref mask_of_counts(const Ref& given, const Dim& batch, const Dim& keys) {
  const bool is_of_keys = given.rank() == 2 || given.rank() == 3;
  const Ref mask = is_of_keys ? fitted(given, -1, keys) : given;
  const auto s = mask.shape();
  const Ref at = iota(keys, mask.insertion_point());
  const auto bounds = [&](const Ref& v) {
    return reshape(cast(DType::i64, v), {batch, Dim(1), Dim(1), Dim(1)});
  };
  if (s.size() == 1 && s[0] == batch) return at < bounds(mask);
  if (s.size() == 1 && s[0] == batch * Dim(2))
    return logical_and(at < bounds(slice(mask, 0, Dim(0), batch)), at >= bounds(slice(mask, 0, batch, s[0])));
  if (s.size() == 2) return reshape(mask, {s[0], Dim(1), Dim(1), s[1]}) > mask.literal(0);
  if (s.size() == 3) return reshape(mask, {s[0], Dim(1), s[1], s[2]}) > mask.literal(0);
  throw unsupported("a mask {} for {} samples", mask.type().str(), batch.str());
}

/// Padding gets a lower score, not none: where all keys are padding, it is they that are seen.
void lower_padding(const Call& call, HeadAttention& a, const Ref& mask) {
  const Ref score = a.q.literal(call.number("mask_filter_value", -10000));
  a.mask.add(where(mask_of_counts(mask, a.q.shape()[0], a.k.shape()[2]), a.q.literal(0), score));
}

struct Optional {
  Ref mask, bias, past_key, past_value;
};

/// The result, then the keys and values with those of the past before them.
Operands attended(const Call& call, HeadAttention a, const Optional& given) {
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (!given.past_key != !given.past_value) throw error("a past of keys or of values alone");
  Ref offset;
  if (given.past_key) {
    check_rank("the past of keys", given.past_key.type(), 4);
    offset = call.build.size(given.past_key.shape()[2]);
    a.k = concat(std::array{given.past_key, a.k}, 2);
    a.v = concat(std::array{given.past_value, a.v}, 2);
  }
  if (given.mask) lower_padding(call, a, given.mask);
  if (given.bias) a.mask.add(fitted(given.bias, -1, a.k.shape()[2]));
  if (causal && !offset && !a.mask.bias)
    a.is_causal = true;
  else if (causal)
    a.restrict_places({.causal = true}, offset);
  if (call.number("scale", 0) != 0) a.scale = call.number("scale", 0);
  return {without_heads(a.result()), a.k, a.v};
}

/// One product with the weights of queries, keys and values side by side: three linears.
HeadAttention projected(const Call& call, const Ref& x, const Ref& weight, const Ref& bias) {
  check_rank("the weights", weight.type(), 2);
  const std::int64_t heads = call.integer("num_heads");
  const Dim third = floor_div(weight.shape()[1], Dim(3));
  Shape sizes = {third, third, third};
  if (call.has("qkv_hidden_sizes")) {
    const Axes given = call.integers("qkv_hidden_sizes", {});
    sizes.assign(given.begin(), given.end());
  }
  if (sizes.size() != 3 || !(sizes[0] + sizes[1] + sizes[2] == weight.shape()[1]))
    throw error("weights of {} columns for queries, keys and values", weight.shape()[1].str());
  Dim begin(0);
  const auto part = [&](std::size_t i) {
    const Dim end = begin + sizes[i];
    const Ref rows = transpose(slice(weight, 1, begin, end), 0, 1);
    const Ref y = bias ? linear(x, rows, slice(bias, 0, begin, end)) : linear(x, rows);
    begin = end;
    return with_heads(y, heads);
  };
  HeadAttention a;
  a.q = part(0);
  a.k = part(1);
  a.v = part(2);
  return a;
}

void refuse_shared_buffers(const Call& call, std::initializer_list<std::size_t> operands) {
  bool is_given = call.integer("past_present_share_buffer", 0) != 0;
  for (const std::size_t i : operands) is_given = is_given || call.has(i);
  if (is_given)
    throw unsupported("a past and a present that share one buffer")
        .hint("export the model with a present of its own (past_present_share_buffer=0)");
}

/// Past and present are keys and values on a new first axis.
Operands attended_with_past(const Call& call, const HeadAttention& a, Optional given, std::size_t past_at) {
  if (call.integer("do_rotary", 0) != 0)
    throw unsupported("rotary embeddings inside (do_rotary)")
        .hint("let the model call com.microsoft.RotaryEmbedding before it");
  if (call.has(past_at)) {
    const Ref past = call.tensor(past_at);
    check_rank("past", past.type(), 5);
    const Shape one(past.shape().begin() + 1, past.shape().end());
    given.past_key = reshape(slice(past, 0, Dim(0), Dim(1)), one);
    given.past_value = reshape(slice(past, 0, Dim(1), Dim(2)), one);
  }
  const Operands out = attended(call, a, given);
  if (!call.wants(1)) return {out[0]};
  std::array<Ref, 2> states;
  for (const std::size_t i : {0, 1}) {
    const Ref state = call.values.read(out[i + 1]);
    Shape shape = state.shape();
    shape.insert(shape.begin(), Dim(1));
    states[i] = reshape(state, shape);
  }
  return {out[0], concat(states, 0)};
}

Operands attention(Call& call) {
  refuse_shared_buffers(call, {6});
  const HeadAttention a = projected(call, call.tensor(0), call.tensor(1), call.optional_tensor(2));
  return attended_with_past(call, a, {.mask = call.optional_tensor(3), .bias = call.optional_tensor(5)}, 4);
}

Operands attention_quantized(Call& call) {
  refuse_shared_buffers(call, {});
  const Ref x = dequantized(call.tensor(0), call.tensor(3), call.optional_tensor(6));
  const Ref weight = dequantized(call.tensor(1), call.tensor(4), call.optional_tensor(7));
  const HeadAttention a = projected(call, x, weight, call.optional_tensor(2));
  return attended_with_past(call, a, {.mask = call.optional_tensor(5)}, 8);
}

/// Item i of those that stand together before the last axis, as [batch, length, heads * width].
Ref unpacked(const Ref& x, std::int64_t i) {
  const auto s = x.shape();
  return reshape(slice(x, 3, Dim(i), Dim(i + 1)), {s[0], s[1], s[2] * s[4]});
}

/// Queries, keys and values apart, in pairs or all together; the bias is that of all.
HeadAttention heads_of(const Call& call, const Ref& bias) {
  const std::int64_t heads = call.integer("num_heads");
  std::array<Ref, 3> parts = {call.tensor(0), call.optional_tensor(1), call.optional_tensor(2)};
  if (parts[0].rank() == 5) {
    const Ref all = parts[0];
    for (const std::size_t i : {0, 1, 2}) parts[i] = unpacked(all, static_cast<std::int64_t>(i));
  } else if (parts[1] && parts[1].rank() == 5) {
    const Ref both = parts[1];
    for (const std::size_t i : {0, 1}) parts[i + 1] = unpacked(both, static_cast<std::int64_t>(i));
  }
  if (!parts[1] || !parts[2]) throw unsupported("a query {} without keys", parts[0].type().str());
  Dim begin(0);
  for (Ref& part : parts) {
    if (bias && part.rank() == 3) {
      const Dim end = begin + part.shape()[2];
      part = part + slice(bias, 0, begin, end);
      begin = end;
    }
    part = with_heads(part, heads);
  }
  return {.q = parts[0], .k = parts[1], .v = parts[2]};
}

void refuse_scores(const Call& call) {
  if (call.wants(3)) throw unsupported("its output of scores (qk)");
}

Operands multi_head_attention(Call& call) {
  refuse_shared_buffers(call, {8, 9});
  refuse_scores(call);
  return attended(call, heads_of(call, call.optional_tensor(3)),
                  {.mask = call.optional_tensor(4),
                   .bias = call.optional_tensor(5),
                   .past_key = call.optional_tensor(6),
                   .past_value = call.optional_tensor(7)});
}

Operands decoder_masked_attention(Call& call) {
  refuse_shared_buffers(call, {7, 8, 9});
  refuse_scores(call);
  return attended(call, heads_of(call, call.optional_tensor(10)),
                  {.mask = call.optional_tensor(3),
                   .bias = call.optional_tensor(4),
                   .past_key = call.optional_tensor(5),
                   .past_value = call.optional_tensor(6)});
}

}  // namespace

std::span<const OnnxEntry> multi_head_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.Attention", attention},
      OnnxEntry{"com.microsoft.DecoderMaskedMultiHeadAttention", decoder_masked_attention},
      OnnxEntry{"com.microsoft.MultiHeadAttention", multi_head_attention},
      OnnxEntry{"com.microsoft.QAttention", attention_quantized},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
