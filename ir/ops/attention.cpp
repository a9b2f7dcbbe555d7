// The type rule of attention and what it is made of.
#include "ir/ops/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "ir/ops/functions.h"
#include "ir/ops/rules.h"
#include "ir/ops/working_dtype.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// bool [L, S]: key j is not after query i.
Ref causal_mask(const Dim& queries, const Dim& keys, const InsertionPoint& point) {
  const Ref i = reshape(iota(queries, point), {queries, 1});
  return i >= iota(keys, point);
}

// How many heads of queries each head of keys and values serves; 1: they broadcast.
std::int64_t served(const Shape& queries, const Shape& keys) {
  if (queries.empty() || keys.empty() || !queries.back().is_known() || !keys.back().is_known()) return 1;
  const std::int64_t heads = queries.back().value(), fewer = keys.back().value();
  return fewer > 1 && heads % fewer == 0 ? heads / fewer : 1;
}

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

Shape broadcast_heads(const Shape& queries, Shape keys) {
  if (served(queries, keys) > 1) keys.back() = queries.back();
  return broadcast(queries, keys);
}

// a[..., H, m, k] times b[..., G, k, n]: a matrix of b multiplies H / G of a, without copies of it.
Ref matmul_of_heads(const Ref& a, const Ref& b) {
  const std::int64_t times = served(leading(a.shape()), leading(b.shape()));
  if (times == 1) return matmul(a, b);
  Shape split = a.shape(), single = b.shape();
  split[split.size() - 3] = single[single.size() - 3];
  split.insert(split.end() - 2, Dim(times));
  single.insert(single.end() - 2, Dim(1));
  const Ref y = matmul(reshape(a, split), reshape(b, single));
  Shape merged = y.shape();
  merged.erase(merged.end() - 3);
  merged[merged.size() - 3] = a.shape()[a.rank() - 3];
  return reshape(y, merged);
}

// Softmax over the scores and the sink of their head, without the sink's share.
Ref shares_beside_sink(const Ref& scores, const Ref& sink) {
  const auto last = static_cast<std::int64_t>(scores.rank()) - 1;
  Shape column = scores.shape();
  column.back() = Dim(1);
  const Ref of_heads = expand(reshape(sink, {sink.shape()[0], Dim(1), Dim(1)}), column);
  return slice(softmax(concat(std::array{scores, of_heads}, last), last), last, Dim(0),
               scores.shape().back());
}

}  // namespace

std::vector<Type> Attention::infer(TypeSpan in) const {
  const Type &q = in[0], &k = in[1], &v = in[2];
  check_float("the query", q);
  check_same_dtype("the query", q, "the key", k);
  check_same_dtype("the query", q, "the value", v);
  for (const Type& t : in.first(3))
    if (t.rank() < 2) throw error("{} must have at least 2 axes", t.str());
  check_same_size("the width of the query", q.shape.back(), "that of the key", k.shape.back());
  check_same_size("the number of keys", k.shape[k.rank() - 2], "that of the values", v.shape[v.rank() - 2]);
  Shape out = broadcast_heads(leading(q.shape), broadcast(leading(k.shape), leading(v.shape)));
  if (in.size() > 3) {
    Shape scores = broadcast_heads(leading(q.shape), leading(k.shape));
    scores.push_back(q.shape[q.rank() - 2]);
    scores.push_back(k.shape[k.rank() - 2]);
    if (!is_bool(in[3].dtype)) check_same_dtype("the query", q, "the mask", in[3]);
    if (broadcast(in[3].shape, scores) != scores)
      throw error("the mask {} does not broadcast to the scores {}", in[3].str(), str(scores));
  }
  if (in.size() > 4) {
    check_same_dtype("the query", q, "the sink", in[4]);
    if (out.empty() || in[4].shape != Shape{out.back()})
      throw error("the sink {} is not one score for each head of {}", in[4].str(), str(out));
  }
  out.push_back(q.shape[q.rank() - 2]);
  out.push_back(v.shape.back());
  return {Type{q.dtype, std::move(out)}};
}

std::vector<Ref> Attention::decompose(RefSpan in) const {
  return {cast(in[0].dtype(), matmul_of_heads(weights(in), working(in[2])))};
}

Ref Attention::weights(RefSpan in) const {
  const Ref q = working(in[0]), k = working(in[1]);
  const Dim width = q.shape().back();
  Ref scores = matmul_of_heads(q, transpose(k, -2, -1));
  if (scale)
    scores = scores * *scale;
  else if (width.is_known())
    scores = scores * (1 / std::sqrt(static_cast<double>(width.value())));
  else
    scores = scores * rsqrt(dim_value(width, scores));
  if (softcap > 0) scores = tanh(scores * (1 / softcap)) * softcap;
  if (causal)
    scores = where(causal_mask(q.shape()[q.rank() - 2], k.shape()[k.rank() - 2], q.insertion_point()), scores,
                   minus_infinity);
  if (in.size() > 3)
    scores = is_bool(in[3].dtype()) ? where(in[3], scores, minus_infinity) : scores + working(in[3]);
  const auto last = static_cast<std::int64_t>(scores.rank()) - 1;
  if (in.size() > 4) return shares_beside_sink(scores, working(in[4]));
  if (in.size() < 4 || nan_rows) return softmax(scores, last);
  const Ref zero = scores.literal(0);
  const Ref nothing = all(equal(scores, scores.literal(minus_infinity)), {last}, true);
  return where(nothing, zero, softmax(where(nothing, zero, scores), last));
}

std::vector<const OpInfo*> attention_ops() { return family(Attentions{}); }

}  // namespace tenon
