// Attention, and contractions in index notation.
#include "ir/ops/attention.h"

#include "base/error.h"
#include "converter/aten/einsum.h"
#include "converter/aten/table.h"
#include "ir/ops/cast.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

/// Grouped queries: each head of keys and values serves several heads of queries.
Ref repeated_heads(const Ref& x, const Ref& query) {
  const std::size_t heads = x.rank() - 3;
  const Dim times = floor_div(query.shape().at(heads), x.shape().at(heads));
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
  if (call.number("dropout_p", 0) != 0)
    throw unsupported("attention with dropout").hint("call model.eval() before exporting");
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
  return tenon::apply(op, operands);
}

Results einsum_op(Call& call) {
  call.ignore({"path"});
  std::vector<Ref> operands;
  for (const TensorPtr& t : call.tensors("tensors")) operands.push_back(call.build.read(t));
  return einsum(call.word("equation", ""), operands);
}

/// Sums of products over pairs of axes.
Results tensordot(Call& call) {
  const Ref a = call.tensor("self");
  const Ref b = call.tensor("other");
  auto left = call.integers("dims_self");
  auto right = call.integers("dims_other");
  std::string of_a, of_b, result;
  for (std::size_t i = 0; i < a.rank(); ++i) of_a += static_cast<char>('a' + i);
  for (std::size_t i = 0; i < b.rank(); ++i) of_b += static_cast<char>('A' + i);
  for (std::size_t i = 0; i < left.size(); ++i)
    of_b[static_cast<std::size_t>(normalize_axis(right.at(i), b.rank()))] =
        of_a[static_cast<std::size_t>(normalize_axis(left[i], a.rank()))];
  for (char c : of_a)
    if (of_b.find(c) == std::string::npos) result += c;
  for (char c : of_b)
    if (of_a.find(c) == std::string::npos) result += c;
  return einsum(of_a + "," + of_b + "->" + result, std::array{a, b});
}

constexpr Entry entries[] = {
    {"scaled_dot_product_attention", scaled_dot_product_attention},
    {"einsum", einsum_op},
    {"tensordot", tensordot},
};

}  // namespace

std::span<const Entry> attention_entries() { return entries; }

}  // namespace tenon::converter
