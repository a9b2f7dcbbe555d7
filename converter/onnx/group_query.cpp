// com.microsoft.GroupQueryAttention: few heads of keys and values, kept in a cache.
#include <array>

#include "base/error.h"
#include "converter/onnx/heads.h"
#include "converter/onnx/rotary.h"
#include "converter/onnx/table.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"

namespace tenon::converter::onnx {

namespace {

/// Operands by their places.
enum Input : std::size_t {
  past_key_at = 3,
  past_value_at,
  lengths_at,
  total_at,
  cosines_at,
  sines_at,
  positions_at,
  bias_at,
  sink_at,
  key_scale_at,
  value_scale_at,
  query_norm_at,
  key_norm_at,
};

void refuse_what_is_not_done(const Call& call) {
  if (call.integer("sliding_window_cache", 0) != 0) throw unsupported("a cache that slides");
  if (call.has(past_key_at) != call.has(past_value_at)) throw error("a past of keys or of values alone");
  if (call.has(key_scale_at) || call.has(value_scale_at)) throw unsupported("a cache that is quantised");
  if (call.has(query_norm_at) || call.has(key_norm_at))
    throw unsupported("norms of queries and keys inside")
        .hint("let the model call SimplifiedLayerNormalization before it");
  if (call.wants(3)) throw unsupported("its output of scores (output_qk)");
}

/// [batch, length, heads, width]
struct Projections {
  Ref q, k, v;
};

Projections projections(const Call& call) {
  const std::int64_t heads = call.integer("num_heads"), few = call.integer("kv_num_heads");
  if (heads < 1 || few < 1 || heads % few != 0) throw error("{} heads that share {}", heads, few);
  const auto split = [](const Ref& x, std::int64_t count) {
    check_rank("a query, key or value", x.type(), 3);
    const auto s = x.shape();
    return reshape(x, {s[0], s[1], Dim(count), floor_div(s[2], Dim(count))});
  };
  if (call.has(1))
    return {split(call.tensor(0), heads), split(call.tensor(1), few), split(call.tensor(2), few)};
  const Ref all = split(call.tensor(0), heads + 2 * few);
  return {slice(all, 2, Dim(0), Dim(heads)), slice(all, 2, Dim(heads), Dim(heads + few)),
          slice(all, 2, Dim(heads + few), Dim(heads + 2 * few))};
}

/// Where the new keys stand among all of their sample, and how many there are in the end.
struct Cache {
  Dim past, added, size;  // places in the cache before, of the new keys, and in the cache after
  Ref begins;             // [batch, 1]: the place of the first new key
  Ref lengths;            // [batch, 1]: keys that count in the end
};

/// The total length decides the cache's size: known, or checked to be what is there and what is added.
Cache cache_of(const Call& call, const Dim& batch, const Dim& added) {
  if (call.has(past_key_at)) check_rank("past_key", call.tensor(past_key_at).type(), 4);
  Cache c{.past = call.has(past_key_at) ? call.tensor(past_key_at).shape()[2] : Dim(0),
          .added = added,
          .size = Dim(0)};
  c.lengths = reshape(cast(DType::i64, call.tensor(lengths_at)), {batch, Dim(1)}) + 1.0;
  const Dim sum = c.past + added;
  const auto known = call.values.sizes(call.operand(total_at), Values::Effort::compute);
  const std::optional<Dim> total =
      known && known->elements.size() == 1 ? std::optional(known->elements[0]) : std::nullopt;
  const Ref given = reshape(cast(DType::i64, call.tensor(total_at)), {});
  if (total && (*total == sum || (total->is_known() && sum.is_known()))) {
    c.size = max(*total, c.past);
  } else {
    c.size = sum;
    const std::string text =
        "total_sequence_length is not the length of the past and of the new keys; a cache with room for more "
        "needs its sizes when the model is converted";
    tenon::apply_all(Check{.message = text}, std::array{equal(given, call.build.size(sum))});
  }
  const Ref fits = logical_and(c.lengths > c.lengths.literal(0), c.lengths <= dim_value(c.size, c.lengths));
  tenon::apply_all(Check{.message = "a number in seqlens_k is no place of the cache"},
                   std::array{all(fits, {0, 1})});
  const Ref before = c.lengths - dim_value(added, c.lengths);
  const Ref is_prompt = equal(given, call.build.size(added));
  c.begins = where(is_prompt, before.literal(0), before);
  return c;
}

/// The past, the new ones, and zeros: [batch, size, heads, width].
Ref cached(const Cache& c, const Ref& past, const Ref& added) {
  if (!past && c.size == c.added) return added;
  const Ref all = past ? concat(std::array{permute(past, {0, 2, 1, 3}), added}, 1) : added;
  const Ref at = iota(c.size, added.insertion_point()), since = at - c.begins;
  const Ref is_new = since >= since.literal(0);
  const Ref last = dim_value(c.added - 1, since);
  const Ref source = where(is_new, minimum(since, last) + dim_value(c.past, since), at);
  const Ref sample = reshape(iota(added.shape()[0], added.insertion_point()), {added.shape()[0], Dim(1)});
  const Ref found = tenon::apply(IndexAt{.axes = {0, 1}}, std::array{all, sample, source});
  const Ref is_there = since <= last;
  return where(reshape(is_there, {is_there.shape()[0], c.size, Dim(1), Dim(1)}), found, 0);
}

/// Turned by their places in the sample.
void rotate(const Call& call, Projections& p, const Cache& c) {
  const Ref cosine = call.tensor(cosines_at), sine = call.tensor(sines_at);
  check_rank("cos_cache", cosine.type(), 2);
  const Ref places = call.has(positions_at) ? cast(DType::i64, call.tensor(positions_at))
                                            : c.begins + iota(c.added, call.build.insertion_point());
  const Rotation r{.cosines = index_select(cosine, 0, places),
                   .sines = index_select(sine, 0, places),
                   .width = cosine.shape()[1] * Dim(2),
                   .interleaved = call.integer("rotary_interleaved", 0) != 0};
  p.q = rotated(p.q, r);
  p.k = rotated(p.k, r);
}

Operands group_query_attention(Call& call) {
  refuse_what_is_not_done(call);
  Projections p = projections(call);
  const Cache c = cache_of(call, p.q.shape()[0], p.k.shape()[1]);
  if (call.integer("do_rotary", 0) != 0) rotate(call, p, c);
  const auto heads_first = [](const Ref& x) { return permute(x, {0, 2, 1, 3}); };
  HeadAttention a{.q = heads_first(p.q),
                  .k = heads_first(cached(c, call.optional_tensor(past_key_at), p.k)),
                  .v = heads_first(cached(c, call.optional_tensor(past_value_at), p.v)),
                  .softcap = call.number("softcap", 0),
                  .sink = call.optional_tensor(sink_at)};
  if (call.number("scale", 0) != 0) a.scale = call.number("scale", 0);
  if (call.integer("smooth_softmax", 0) != 0 && !a.sink)
    a.sink = full({a.q.shape()[1]}, 0, a.q.dtype(), call.build.insertion_point());
  if (call.has(bias_at)) a.mask.add(fitted(call.tensor(bias_at), -1, c.size));
  const Ref offset = reshape(c.begins, {c.begins.shape()[0], Dim(1), Dim(1), Dim(1)});
  const std::int64_t window = call.integer("local_window_size", -1);
  const bool causal = call.integer("causal", 1) != 0;
  if (window == 0 || (window > 0 && !causal)) throw error("a window of {} places", window);
  if (causal && !call.has(past_key_at) && window < 0 && !call.has(bias_at))
    a.is_causal = true;
  else if (causal)
    a.restrict_places({.causal = true, .left = window < 0 ? -1 : window - 1}, offset);
  else
    a.mask.allow(iota(c.size, call.build.insertion_point()) < reshape(c.lengths, offset.shape()));
  return {without_heads(a.result()), a.k, a.v};
}

}  // namespace

std::span<const OnnxEntry> group_query_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.GroupQueryAttention", group_query_attention},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
