#include "converter/onnx/heads.h"

#include <array>
#include <limits>

#include "base/error.h"
#include "ir/ops/attention.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"
#include "ir/ops/functions.h"
#include "ir/ops/rules.h"

namespace tenon::converter::onnx {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

}  // namespace

Ref with_heads(const Ref& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  check_rank("a query, key or value", x.type(), 3);
  if (heads < 1) throw error("{} heads", heads);
  const auto s = x.shape();
  return permute(reshape(x, {s[0], s[1], Dim(heads), floor_div(s[2], Dim(heads))}), {0, 2, 1, 3});
}

Ref without_heads(const Ref& x) {
  const auto s = x.shape();
  return reshape(permute(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Ref shared(const Ref& x, const Dim& heads) {
  const auto s = x.shape();
  if (s[1] == heads) return x;
  const Dim times = floor_div(heads, s[1]);
  return reshape(expand(reshape(x, {s[0], s[1], Dim(1), s[2], s[3]}), {s[0], s[1], times, s[2], s[3]}),
                 {s[0], heads, s[2], s[3]});
}

Ref fitted(const Ref& x, std::int64_t axis, const Dim& size) {
  const Dim& is = x.shape()[static_cast<std::size_t>(normalize_axis(axis, x.rank()))];
  if (is == size || is == Dim(1)) return x;
  if (is.is_known() && size.is_known())
    throw unsupported("a mask or bias {} for {} keys", x.type().str(), size.str());
  const Ref count = apply(DimValue{.value = size}, x.insertion_point());
  const std::string text =
      fmt::format("a mask or bias is {} long, and there are {} keys", is.str(), size.str());
  tenon::apply_all(Check{.message = text},
                   std::array{equal(apply(DimValue{.value = is}, x.insertion_point()), count)});
  return index_select(x, normalize_axis(axis, x.rank()), iota(size, x.insertion_point()));
}

void Mask::allow(const Ref& more) { allowed = allowed ? logical_and(allowed, more) : more; }

void Mask::add(const Ref& more) { bias = bias ? bias + more : more; }

Ref Mask::joined() const {
  if (!bias) return allowed;
  return allowed ? where(allowed, bias, minus_infinity) : bias;
}

void HeadAttention::restrict_places(const Reach& reach, const Ref& offset) {
  const Dim queries = q.shape()[2], keys = k.shape()[2];
  Ref at = reshape(iota(queries, q.insertion_point()), {queries, Dim(1)});
  if (offset) at = at + offset;
  const Ref ahead = iota(keys, q.insertion_point()) - at;
  if (reach.causal) mask.allow(ahead <= ahead.literal(0));
  if (reach.left >= 0) mask.allow(ahead >= ahead.literal(static_cast<double>(-reach.left)));
  if (reach.right >= 0) mask.allow(ahead <= ahead.literal(static_cast<double>(reach.right)));
}

Ref HeadAttention::result() const {
  HeadAttention a = *this;
  a.k = shared(k, q.shape()[1]);
  a.v = shared(v, q.shape()[1]);
  std::vector<Ref> operands = {a.q, a.k, a.v};
  if (const Ref joined = mask.joined()) operands.push_back(joined);
  if (sink && operands.size() == 3) operands.push_back(q.literal(1, DType::boolean));
  if (sink) operands.push_back(cast(q.dtype(), sink));
  return tenon::apply(Attention{.scale = scale, .softcap = softcap, .causal = is_causal}, operands);
}

}  // namespace tenon::converter::onnx
