// Attention of the standard.
#include "ir/ops/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "converter/onnx/heads.h"
#include "converter/onnx/region_node_builder.h"
#include "converter/onnx/table.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// The mask without its last keys where it is shorter than these.
Ref padded_mask(const Ref& mask, const Dim& keys) {
  const Dim missing = keys - mask.shape().back();
  if (missing == Dim(0) || mask.shape().back() == Dim(1)) return mask;
  Shape pads(mask.rank() * 2, Dim(0));
  pads.back() = missing;
  return pad(mask, pads, is_bool(mask.dtype()) ? 0 : minus_infinity);
}

/// The causal and the window condition compare places of keys with those of queries, moved by an offset.
void restrict_places(const Call& call, HeadAttention& a, const Ref& offset) {
  const Reach reach{.causal = call.integer("is_causal", 0) != 0,
                    .left = call.integer("left_window_size", -1),
                    .right = call.integer("right_window_size", -1)};
  if (reach.causal && reach.left < 0 && reach.right < 0 && !offset && !a.mask.allowed && !a.mask.bias)
    a.is_causal = true;
  else
    a.restrict_places(reach, offset);
}

/// Written out, where more than the result is asked for.
Operands written_out(const Call& call, const HeadAttention& a, const Operands& present, bool flat) {
  const DType dtype = a.q.dtype();
  const Dim& width = a.q.shape()[3];
  if (!call.has("scale") && !width.is_known()) throw unsupported("heads of unknown width ({})", width.str());
  const double scale =
      call.has("scale") ? call.number("scale", 1) : 1 / std::sqrt(static_cast<double>(width.value()));
  const double root = std::sqrt(scale), cap = call.number("softcap", 0);
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  Ref scores = matmul(a.q * root, transpose(a.k * root, -1, -2));
  std::array<Ref, 4> stages;
  stages[0] = scores;
  if (cap > 0) scores = tanh(scores / cap) * cap;
  stages[1] = scores;
  Mask mask = a.mask;
  if (a.is_causal) {
    const Ref at = reshape(iota(a.q.shape()[2], call.build.insertion_point()), {a.q.shape()[2], Dim(1)});
    mask.allow(iota(a.k.shape()[2], call.build.insertion_point()) <= at);
  }
  if (mask.bias) scores = scores + mask.bias;
  if (mask.allowed) scores = where(mask.allowed, scores, minus_infinity);
  stages[2] = scores;
  const Ref wide = cast(call.dtype("softmax_precision", dtype), scores);
  const Ref nothing = all(equal(wide, wide.literal(minus_infinity)), {3}, true);
  const Ref zero = wide.literal(0);
  stages[3] = cast(dtype, where(nothing, zero, softmax(where(nothing, zero, wide), 3)));
  if (mode < 0 || mode > 3) throw error("its qk_matmul_output_mode is {}", mode);
  const Ref y = matmul(stages[3], a.v);
  Operands out = {flat ? without_heads(y) : y};
  out.insert(out.end(), present.begin(), present.end());
  out.emplace_back(stages[static_cast<std::size_t>(mode)]);
  return out;
}

Operands attention(Call& call) {
  HeadAttention a{.q = call.tensor(0), .k = call.tensor(1), .v = call.tensor(2)};
  const bool flat = a.q.rank() == 3;
  a.q = with_heads(a.q, call.integer("q_num_heads", 0));
  a.k = with_heads(a.k, call.integer("kv_num_heads", 0));
  a.v = with_heads(a.v, call.integer("kv_num_heads", 0));
  Ref offset;
  if (call.has(4)) {
    const Ref past = call.tensor(4);
    offset = call.build.size(past.shape()[2]);
    a.k = concat(std::array{past, a.k}, 2);
    a.v = concat(std::array{call.tensor(5), a.v}, 2);
  }
  const Operands present = {a.k, a.v};
  a.k = shared(a.k, a.q.shape()[1]);
  a.v = shared(a.v, a.q.shape()[1]);
  const Dim keys = a.k.shape()[2];
  if (call.has(3)) {
    const Ref mask = padded_mask(call.tensor(3), keys);
    if (is_bool(mask.dtype()))
      a.mask.allowed = mask;
    else
      a.mask.bias = cast(a.q.dtype(), mask);
  }
  if (call.has(6)) {
    const Ref length = reshape(cast(DType::i64, call.tensor(6)), {a.q.shape()[0], Dim(1), Dim(1), Dim(1)});
    a.mask.allow(iota(keys, call.build.insertion_point()) < length);
    if (!offset) offset = length - dim_value(a.q.shape()[2], length);
  }
  restrict_places(call, a, offset);
  const bool is_plain = !call.wants(3) && !call.has("softmax_precision");
  if (!is_plain) return written_out(call, a, present, flat);
  if (call.has("scale")) a.scale = call.number("scale", 1);
  a.softcap = call.number("softcap", 0);
  const Ref y = a.result();
  return {flat ? without_heads(y) : y, present[0], present[1]};
}

/// Attention whose scores and probabilities go through graphs of the model's own.
Operands flex_attention(Call& call) {
  const Ref q = call.tensor(0);
  check_rank("Q", q.type(), 4);
  const Ref k = shared(call.tensor(1), q.shape()[1]), v = shared(call.tensor(2), q.shape()[1]);
  const Dim& width = q.shape()[3];
  if (!call.has("scale") && !width.is_known()) throw unsupported("heads of unknown width ({})", width.str());
  const double scale =
      call.has("scale") ? call.number("scale", 1) : 1 / std::sqrt(static_cast<double>(width.value()));
  const DType wide = call.dtype("softmax_precision", size_of(q.dtype()) < 4 ? DType::f32 : q.dtype());
  const auto through = [&](const char* graph, const Ref& x) {
    if (!call.has(graph)) return x;
    const Operands out = call.run_graph(call.graph(graph), {x});
    if (out.size() != 1) throw error("its graph {} gives {} values, not one", graph, out.size());
    return cast(wide, call.values.read(out[0]));
  };
  const double root = std::sqrt(scale);
  const Ref scores = through("score_mod", cast(wide, matmul(q * root, transpose(k * root, -1, -2))));
  const Ref shares = through("prob_mod", softmax(scores, 3));
  return {cast(q.dtype(), matmul(shares, cast(wide, v)))};
}

/// What linear attention is given for each step, with heads before places and in f32.
struct Recurrence {
  Ref q, k, v;
  Ref decay, beta;  // may be missing
  double scale = 1;
};

/// x[:, :, i] of [batch, heads, length, width].
Ref at_step(const Ref& x, const Ref& i) { return index_select(x, 2, i); }

/// One step on the state [batch, heads, width of keys, width of values]: the new state and the output.
std::pair<Ref, Ref> linear_step(const Recurrence& r, Ref state, const Ref& i) {
  const auto row = [](const Ref& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], Dim(1), x.shape()[2]});
  };
  const auto column = [](const Ref& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], x.shape()[2], Dim(1)});
  };
  const Ref k = at_step(r.k, i);
  Ref v = row(at_step(r.v, i));
  if (r.decay) state = state * column(exp(at_step(r.decay, i)));
  if (r.beta) v = row(at_step(r.beta, i)) * (v - matmul(row(k), state));
  state = state + column(k) * v;
  const Ref q = row(at_step(r.q, i));
  const Ref out = matmul(q, shared(state, q.shape()[1])) * r.scale;
  return {state, reshape(out, {out.shape()[0], out.shape()[1], out.shape()[3]})};
}

/// Attention without a softmax: a state that each place reads and writes, step by step.
Operands linear_attention(Call& call) {
  const std::int64_t q_heads = call.integer("q_num_heads"), heads = call.integer("kv_num_heads");
  const std::string rule = call.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") throw error("its update_rule is '{}'", rule);
  if (gated != call.has(4) || delta != call.has(5))
    throw error("its decay and beta do not fit its rule {}", rule);
  const DType dtype = call.type(0).dtype;
  const auto wide = [&](std::size_t i, std::int64_t count) {
    return cast(DType::f32, with_heads(call.tensor(i), count));
  };
  Recurrence r{.q = wide(0, q_heads), .k = wide(1, heads), .v = wide(2, heads)};
  if (gated) r.decay = wide(4, heads);
  if (delta) r.beta = wide(5, ShapeView(call.type(5).shape)[2] == Dim(1) ? 1 : heads);
  const Dim &batch = r.k.shape()[0], &width = r.k.shape()[3], &steps = r.k.shape()[2];
  if (!width.is_known()) throw unsupported("heads of unknown width ({})", width.str());
  r.scale = call.number("scale", 0) != 0 ? call.number("scale", 0)
                                         : 1 / std::sqrt(static_cast<double>(width.value()));
  Builder& build = call.build;
  const Ref past = call.has(3) ? call.tensor(3) : Ref();
  const Shape shape = {batch, Dim(heads), width, r.v.shape()[3]};
  const Ref state = past ? cast(DType::f32, past) : full(shape, 0, DType::f32, build.insertion_point());
  RegionNodeBuilder open(build, Loop{.carried = 1, .limit = steps},
                         {build.literal(std::int64_t{1}, DType::boolean).value(), state.value()}, 1);
  Region& region = open.node().region();
  {
    const auto inside = build.enter(region);
    const Ref i = build.ref(region.add_parameter({DType::i64, {}}));
    const Ref before = build.ref(region.add_parameter(state.type()));
    const auto [after, out] = linear_step(r, before, i);
    region.add_result(build.literal(std::int64_t{1}, DType::boolean).value());
    region.add_result(after.value());
    region.add_result(out.value());
  }
  const Operands done = open.finish();
  const Ref rows = permute(call.values.read(done[1]), {1, 0, 2, 3});  // [batch, length, heads, width]
  const Ref y = reshape(rows, {batch, steps, Dim(q_heads) * shape[3]});
  return {cast(dtype, y), cast(past ? past.dtype() : dtype, call.values.read(done[0]))};
}

}  // namespace

std::span<const OnnxEntry> attention_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Attention", attention},
      OnnxEntry{"LinearAttention", linear_attention},
      OnnxEntry{"ai.onnx.preview.FlexAttention", flex_attention},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
