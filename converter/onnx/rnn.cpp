// Recurrent layers: PyTorch's, with their gates in another order.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon::converter::onnx {

namespace {

/// ONNX's gates in PyTorch's order.
constexpr std::array<std::int64_t, 4> lstm_gates = {0, 2, 3, 1};  // input, forget, cell, output
constexpr std::array<std::int64_t, 3> gru_gates = {1, 0, 2};      // reset, update, new
constexpr std::array<std::int64_t, 1> rnn_gates = {0};

Ref reordered(const Ref& x, std::span<const std::int64_t> gates, std::int64_t hidden) {
  if (gates.size() == 1) return x;
  std::vector<Ref> parts;
  for (const std::int64_t g : gates) parts.push_back(slice(x, 0, Dim(g * hidden), Dim((g + 1) * hidden)));
  return concat(parts, 0);
}

/// x[i] of the first axis.
Ref row(const Ref& x, std::int64_t i) {
  return reshape(slice(x, 0, Dim(i), Dim(i + 1)), Shape(x.shape().begin() + 1, x.shape().end()));
}

/// A layer's operands with time first and directions before samples.
struct Layer {
  Ref x, active;
  Ref begins;  // bool[1, batch, 1]: a sequence has a step; with `active` only
  std::int64_t hidden = 0, directions = 1;
  bool reversed = false, batch_first = false;
  std::vector<Ref> states;  // [directions, batch, hidden]
  struct Weights {
    Ref input, hidden, input_bias, hidden_bias;
  };
  std::vector<Weights> weights;  // of each direction
};

void check_plain(const Call& call, std::span<const std::string_view> activations) {
  if (call.has("clip")) throw unsupported("its attribute clip is not supported");
  if (call.integer("input_forget", 0) != 0) throw unsupported("its attribute input_forget is not supported");
  if (call.has(7)) throw unsupported("peepholes are not supported");
  if (const auto* given = call.find("activations"))
    for (std::size_t i = 0; i < given->strings.size(); ++i)
      if (given->strings[i] != activations[i % activations.size()])
        throw unsupported("the activation {} is not supported here", given->strings[i]);
}

/// Where sequences of several lengths have not ended: bool[steps, batch, 1]; empty when all are as long as x.
Ref active_steps(const Call& call, const Ref& x) {
  const Dim steps = x.shape()[0], batch = x.shape()[1];
  if (!call.has(4)) return {};
  if (const auto known = call.values.sizes(call.operand(4)))
    if (std::all_of(known->elements.begin(), known->elements.end(), [&](const Dim& d) { return d == steps; }))
      return {};
  const Ref lengths = cast(DType::i64, call.tensor(4));
  const Ref all_steps = call.build.size(steps);
  tenon::apply_all(Check{.message = "a length in sequence_lens is larger than the number of steps"},
                   std::array{all(lengths <= all_steps, {0})});
  return reshape(iota(steps, call.build.place()), {steps, Dim(1), Dim(1)}) <
         reshape(lengths, {Dim(1), batch, Dim(1)});
}

Layer layer_of(const Call& call, std::span<const std::int64_t> gates, std::size_t num_states,
               std::span<const std::string_view> activations) {
  Layer layer{.x = call.tensor(0)};
  check_rank("X", layer.x.type(), 3);
  check_plain(call, activations);
  const std::string direction = call.text("direction", "forward");
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reversed = direction == "reverse";
  layer.batch_first = call.integer("layout", 0) != 0;
  if (layer.batch_first) layer.x = permute(layer.x, {1, 0, 2});
  layer.active = active_steps(call, layer.x);
  if (layer.active) {
    const Ref lengths = reshape(call.tensor(4), {Dim(1), layer.x.shape()[1], Dim(1)});
    layer.begins = lengths > lengths.literal(0);
  }
  const Ref w = call.tensor(1), r = call.tensor(2), b = call.optional_tensor(3);
  if (w.rank() != 3 || r.rank() != 3 || !r.shape()[2].is_known() || w.shape()[0] != Dim(layer.directions))
    throw error("weights {} and {} for {} directions", w.type().str(), r.type().str(), layer.directions);
  if (b) check_rank("B", b.type(), 2);
  layer.hidden = r.shape()[2].value();
  const auto width = static_cast<std::int64_t>(gates.size()) * layer.hidden;
  if (known_equal(w.shape()[1], Dim(width)) == false || known_equal(r.shape()[1], Dim(width)) == false ||
      (b && known_equal(b.shape()[1], Dim(2 * width)) == false))
    throw error("weights {} and {} for {} gates of {}", w.type().str(), r.type().str(), gates.size(),
                layer.hidden);
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    Layer::Weights& one = layer.weights.emplace_back();
    one.input = reordered(row(w, d), gates, layer.hidden);
    one.hidden = reordered(row(r, d), gates, layer.hidden);
    if (!b) continue;
    one.input_bias = reordered(slice(row(b, d), 0, Dim(0), Dim(width)), gates, layer.hidden);
    one.hidden_bias = reordered(slice(row(b, d), 0, Dim(width), Dim(2 * width)), gates, layer.hidden);
  }
  const Shape state = {Dim(layer.directions), layer.x.shape()[1], Dim(layer.hidden)};
  for (std::size_t i = 0; i < num_states; ++i) {
    const Ref given = call.optional_tensor(5 + i);
    layer.states.push_back(!given              ? full(state, 0, layer.x.dtype(), call.build.place())
                           : layer.batch_first ? permute(given, {1, 0, 2})
                                               : given);
  }
  return layer;
}

/// Y, Y_h and Y_c from all outputs [steps, batch, directions * hidden] and the last states.
Operands results(const Layer& layer, Ref all, std::vector<Ref> last) {
  if (layer.reversed) all = flip(all, {0});
  if (layer.active) all = where(layer.active, all, 0);
  const Dim steps = all.shape()[0], batch = all.shape()[1];
  all = reshape(all, {steps, batch, Dim(layer.directions), Dim(layer.hidden)});
  all = permute(all, layer.batch_first ? Axes{1, 0, 2, 3} : Axes{0, 2, 1, 3});
  Operands out = {all};
  for (Ref& state : last) {
    if (layer.begins)
      state = where(layer.begins, state, 0);  // as ONNX Runtime: an empty sequence leaves zeros
    out.emplace_back(layer.batch_first ? permute(state, {1, 0, 2}) : state);
  }
  return out;
}

Operands by_aten(const Call& call, const Layer& layer, std::string_view name,
                 std::vector<Argument> more = {}) {
  std::vector<Datum> params, states;
  for (const auto& w : layer.weights)
    for (const Ref& r : {w.input, w.hidden, w.input_bias, w.hidden_bias})
      if (r) params.push_back(call.datum(r));
  for (const Ref& s : layer.states) states.push_back(call.datum(s));
  const bool has_biases = static_cast<bool>(layer.weights[0].input_bias);
  const Datum hx = states.size() > 1 ? list_of(states) : states[0];
  const auto from_start = [&](const Ref& r) { return call.datum(layer.reversed ? flip(r, {0}) : r); };
  std::vector<Argument> arguments = {{"input", from_start(layer.x)},
                                     {"hx", hx},
                                     {"params", list_of(std::move(params))},
                                     {"has_biases", has_biases},
                                     {"num_layers", 1},
                                     {"dropout", 0.0},
                                     {"train", false},
                                     {"bidirectional", layer.directions == 2},
                                     {"batch_first", false}};
  if (layer.active) arguments.push_back({"active", from_start(layer.active)});
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<Ref> out = call.aten_all(name, layer.active ? "masked" : "input", std::move(arguments));
  const Ref all = out.at(0);
  out.erase(out.begin());
  return results(layer, all, std::move(out));
}

Operands lstm(Call& call) {
  constexpr std::array<std::string_view, 3> activations = {"Sigmoid", "Tanh", "Tanh"};
  return by_aten(call, layer_of(call, lstm_gates, 2, activations), "lstm");
}

Operands rnn(Call& call) {
  const auto* given = call.find("activations");
  const bool is_relu = given && !given->strings.empty() && given->strings[0] == "Relu";
  const std::array<std::string_view, 1> activations = {is_relu ? "Relu" : "Tanh"};
  return by_aten(call, layer_of(call, rnn_gates, 1, activations), is_relu ? "rnn_relu" : "rnn_tanh");
}

Operands gru(Call& call) {
  constexpr std::array<std::string_view, 2> activations = {"Sigmoid", "Tanh"};
  const Layer layer = layer_of(call, gru_gates, 1, activations);
  return by_aten(call, layer, "gru", {{"reset_first", call.integer("linear_before_reset", 0) == 0}});
}

}  // namespace

std::span<const Entry> rnn_entries() {
  static constexpr std::array entries = {
      Entry{"GRU", gru},
      Entry{"LSTM", lstm},
      Entry{"RNN", rnn},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
