// Biases of attention scores that depend on the distance between places, of com.microsoft.
#include <array>
#include <cmath>

#include "base/error.h"
#include "converter/onnx/heads.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// The bucket of each distance behind a query: half of the buckets for the nearest places, the others in
/// logarithmic steps (Raffel et al. 2020, as in T5).
Ref buckets_of(const Ref& behind, std::int64_t buckets, std::int64_t farthest) {
  const std::int64_t exact = buckets / 2;
  if (exact < 1 || farthest <= exact) throw error("{} buckets for distances up to {}", buckets, farthest);
  const double steps = std::log(static_cast<double>(farthest) / static_cast<double>(exact));
  const Ref distance = cast(DType::f32, maximum(behind, behind.literal(1)));
  const Ref share = log(distance / static_cast<double>(exact)) / steps;
  const Ref far = cast(DType::i64, share * static_cast<double>(buckets - exact)) + static_cast<double>(exact);
  const Ref near = behind < behind.literal(static_cast<double>(exact));
  return where(near, behind, minimum(far, far.literal(static_cast<double>(buckets - 1))));
}

/// [1, heads, queries, keys]
Operands relative_position_bias(Call& call) {
  const Ref table = call.tensor(0);
  check_rank("bias_table", table.type(), 2);
  if (!table.shape()[0].is_known()) throw unsupported("an unknown number of buckets");
  const Dim queries = call.size(1), keys = call.size(2);
  const InsertionPoint& point = call.build.insertion_point();
  const Ref ahead = iota(keys, point) - reshape(iota(queries, point), {queries, Dim(1)});
  const Ref zero = ahead.literal(0);
  const std::int64_t all = table.shape()[0].value(), farthest = call.integer("max_distance");
  Ref bucket;
  if (call.integer("is_bidirectional", 0) != 0) {
    const Ref first = where(ahead > zero, zero.literal(static_cast<double>(all / 2)), zero);
    bucket = first + buckets_of(abs(ahead), all / 2, farthest);
  } else {
    bucket = buckets_of(maximum(-ahead, zero), all, farthest);
  }
  const Ref bias = permute(index_select(table, 0, bucket), {2, 0, 1});
  return {reshape(bias, {Dim(1), table.shape()[1], queries, keys})};
}

/// A bias of places that two gates scale, which each query computes.
Operands gated_position_bias(Call& call) {
  if (call.has(6)) throw unsupported("places without padding (token_offset)");
  const Ref bias = call.tensor(2), weight = call.tensor(3);
  const std::int64_t heads = call.integer("num_heads");
  const Ref q = with_heads(call.tensor(0) + call.tensor(1), heads);
  const Ref y = matmul(q, weight) + call.tensor(4);
  const auto s = y.shape();
  const Ref gates = sigmoid(sum(reshape(y, {s[0], s[1], s[2], Dim(2), floor_div(s[3], Dim(2))}), {4}));
  const auto gate = [&](std::int64_t i) { return slice(gates, 3, Dim(i), Dim(i + 1)); };
  return {(gate(0) * (gate(1) * call.tensor(5) - 1.0) + 2.0) * bias};
}

}  // namespace

std::span<const OnnxEntry> position_bias_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.GatedRelativePositionBias", gated_position_bias},
      OnnxEntry{"com.microsoft.RelativePositionBias", relative_position_bias},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
