// Recurrent layers: a few steps are written out, many or a symbolic number of them are a loop.
#include <array>

#include "base/error.h"
#include "converter/aten/packed.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/index.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/shape.h"
#include "ir/random.h"

namespace tenon::converter {

namespace {

/// The parameters of one direction of one layer.
struct Weights {
  Ref input, hidden, input_bias, hidden_bias, projection;
};

Ref affine(const Ref& x, const Ref& weight, const Ref& bias) {
  return bias ? linear(x, weight, bias) : linear(x, weight);
}

Ref gate(const Ref& gates, std::int64_t i, std::int64_t count) {
  const auto axis = static_cast<std::int64_t>(gates.rank()) - 1;
  const Dim size = floor_div(gates.shape().back(), Dim(count));
  return slice(gates, axis, Dim(i) * size, Dim(i + 1) * size);
}

/// h, and c for an LSTM.
using State = std::vector<Ref>;
/// The next state from the input's part of the gates and the state.
using Cell = State (*)(const Ref& from_input, const State&, const Weights&);

State lstm_step(const Ref& from_input, const State& state, const Weights& w) {
  const Ref gates = from_input + affine(state[0], w.hidden, w.hidden_bias);
  const Ref input = sigmoid(gate(gates, 0, 4));
  const Ref forget = sigmoid(gate(gates, 1, 4));
  const Ref candidate = tanh(gate(gates, 2, 4));
  const Ref output = sigmoid(gate(gates, 3, 4));
  const Ref c = forget * state[1] + input * candidate;
  Ref h = output * tanh(c);
  if (w.projection) h = linear(h, w.projection);
  return {h, c};
}

State gru_step(const Ref& from_input, const State& state, const Weights& w) {
  const Ref from_hidden = affine(state[0], w.hidden, w.hidden_bias);
  const Ref reset = sigmoid(gate(from_input, 0, 3) + gate(from_hidden, 0, 3));
  const Ref update = sigmoid(gate(from_input, 1, 3) + gate(from_hidden, 1, 3));
  const Ref candidate = tanh(gate(from_input, 2, 3) + reset * gate(from_hidden, 2, 3));
  return {candidate + update * (state[0] - candidate)};
}

/// The gate acts before the hidden state is multiplied with its weight: ONNX's GRU without
/// linear_before_reset.
State gru_reset_first_step(const Ref& from_input, const State& state, const Weights& w) {
  const Dim size = floor_div(w.hidden.shape()[0], Dim(3)), gates = size * Dim(2), all = size * Dim(3);
  const auto rows = [](const Ref& r, const Dim& from, const Dim& to) {
    return r ? slice(r, 0, from, to) : r;
  };
  const Ref from_hidden = affine(state[0], rows(w.hidden, Dim(0), gates), rows(w.hidden_bias, Dim(0), gates));
  const Ref reset = sigmoid(gate(from_input, 0, 3) + gate(from_hidden, 0, 2));
  const Ref update = sigmoid(gate(from_input, 1, 3) + gate(from_hidden, 1, 2));
  const Ref candidate = tanh(gate(from_input, 2, 3) + affine(reset * state[0], rows(w.hidden, gates, all),
                                                             rows(w.hidden_bias, gates, all)));
  return {candidate + update * (state[0] - candidate)};
}

State tanh_step(const Ref& from_input, const State& state, const Weights& w) {
  return {tanh(from_input + affine(state[0], w.hidden, w.hidden_bias))};
}
State relu_step(const Ref& from_input, const State& state, const Weights& w) {
  return {relu(from_input + affine(state[0], w.hidden, w.hidden_bias))};
}

/// x[i] along an axis, without the axis.
Ref step_of(const Ref& x, std::int64_t axis, std::int64_t i) {
  return reshape(slice(x, axis, Dim(i), Dim(i + 1)), without_axis(x.shape(), axis));
}

Ref stacked(const std::vector<Ref>& parts, std::int64_t axis) {
  std::vector<Ref> out;
  for (const Ref& part : parts) out.push_back(reshape(part, with_axis(part.shape(), axis)));
  return out.size() == 1 ? out[0] : concat(out, axis);
}

/// Where a sequence has ended, its state stays what it was.
State kept_where_ended(State after, const State& before, const Ref& active) {
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = where(active, after[i], before[i]);
  return after;
}

/// The outputs of all steps, stacked along `time`, and the last state. `active` is bool[steps, batch, 1], or
/// empty when all sequences are as long.
struct Steps {
  Ref outputs;
  State last;
};

/// A layer of more steps is a loop, as one over a symbolic number of them: it runs as fast, and each step
/// written out takes some ten nodes.
constexpr std::int64_t most_written_out = 256;

/// A layer written out.
Steps run_layer(Cell cell, const Ref& x, std::int64_t time, std::int64_t steps, bool backward, State state,
                const Weights& w, const Ref& active) {
  const Ref from_input = affine(x, w.input, w.input_bias);
  std::vector<Ref> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t n = 0; n < steps; ++n) {
    const std::int64_t i = backward ? steps - 1 - n : n;
    State next = cell(step_of(from_input, time, i), state, w);
    state = active ? kept_where_ended(std::move(next), state, step_of(active, 0, i)) : std::move(next);
    outputs[static_cast<std::size_t>(i)] = state[0];
  }
  return {stacked(outputs, time), std::move(state)};
}

Ref time_first(const Ref& x, std::int64_t time) { return time == 0 ? x : permute(x, {1, 0, 2}); }

/// A layer as a loop over its steps.
Steps run_loop(Builder& build, Cell cell, const Ref& x, std::int64_t time, const Dim& length, bool backward,
               const State& state, Weights w, Ref active) {
  Ref rows = time_first(affine(x, w.input, w.input_bias), time);
  if (backward) rows = flip(rows, {0});
  if (backward && active) active = flip(active, {0});
  const auto states = static_cast<std::int64_t>(state.size());
  std::vector<Value*> operands = {build.literal(std::int64_t{1}, DType::boolean).value()};
  for (const Ref& s : state) operands.push_back(s.value());
  operands.push_back(rows.value());
  Node* loop = build.region().insert_typed(Loop{.carried = states, .limit = length}, operands, {}, 1, nullptr,
                                           build.place().source);
  Region& body = loop->region();
  const Place place{&body, nullptr, build.place().source};
  const auto parameter = [&](const Type& type) { return Ref(body.add_parameter(type), place); };
  const Ref step = parameter({DType::i64, {}});
  State before;
  for (const Ref& s : state) before.push_back(parameter(s.type()));
  const Ref row = index_select(parameter(rows.type()), 0, step);
  for (Ref* r : {&w.hidden, &w.hidden_bias, &w.projection, &active}) {
    if (!*r || r->value()->kind() == Value::Kind::weight) continue;
    loop->add_input(r->value());
    *r = parameter(r->type());
  }
  State after = cell(row, before, w);
  if (active) after = kept_where_ended(std::move(after), before, index_select(active, 0, step));
  body.add_result(body.literal(DType::boolean, 1));
  for (const Ref& s : after) body.add_result(s.value());
  body.add_result(after[0].value());
  loop->add_outputs(loop->infer());
  Steps out;
  for (std::size_t i = 0; i < state.size(); ++i) out.last.push_back(build.ref(loop->output(i)));
  out.outputs = build.ref(loop->output(state.size()));
  if (backward) out.outputs = flip(out.outputs, {0});
  out.outputs = time_first(out.outputs, time);
  return out;
}

struct Layers {
  std::vector<Weights> weights;  // layer by layer, forward before backward
  bool bidirectional = false;
  bool batch_first = false;
  double dropout = 0;  // between layers, in training mode
};

Layers layers_of(Call& call) {
  const bool biases = call.flag("has_biases", true);
  Layers out{{}, call.flag("bidirectional", false), call.flag("batch_first", false)};
  const auto layers = static_cast<std::size_t>(call.integer("num_layers"));
  if (layers == 0) throw error("no layers");
  if (call.flag("train", false)) out.dropout = call.number("dropout", 0);
  call.ignore({"dropout"});
  const auto params = call.tensors("params");
  const std::size_t count = layers * (out.bidirectional ? 2 : 1);
  const std::size_t plain = biases ? 4 : 2;
  const bool projected = params.size() == count * (plain + 1);
  if (!projected && params.size() != count * plain)
    throw error("{} parameters for {} layers", params.size(), layers);
  auto next = params.begin();
  const auto take = [&] { return call.build.read(*next++); };
  for (std::size_t i = 0; i < count; ++i) {
    Weights w;
    w.input = take();
    w.hidden = take();
    if (biases) w.input_bias = take();
    if (biases) w.hidden_bias = take();
    if (projected) w.projection = take();
    out.weights.push_back(w);
  }
  return out;
}

/// All layers; `initial` holds h (and c), each [layers * directions, batch, size]. The result is the outputs
/// of the last layer, then the last states.
std::vector<Ref> run_layers(Builder& build, Cell cell, const Layers& layers, Ref x,
                            const std::vector<Ref>& initial, const Ref& active = {}) {
  const std::int64_t time = layers.batch_first ? 1 : 0;
  const Dim length = x.shape()[static_cast<std::size_t>(time)];
  const bool written_out = length.is_known() && length.value() > 0 && length.value() <= most_written_out;
  const std::size_t directions = layers.bidirectional ? 2 : 1;
  std::vector<std::vector<Ref>> last(initial.size());
  for (std::size_t i = 0; i < layers.weights.size(); i += directions) {
    std::vector<Ref> sides;
    for (std::size_t side = 0; side < directions; ++side) {
      State state;
      for (const Ref& h : initial) state.push_back(step_of(h, 0, static_cast<std::int64_t>(i + side)));
      const Weights& w = layers.weights[i + side];
      const Steps steps = written_out ? run_layer(cell, x, time, length.value(), side == 1, state, w, active)
                                      : run_loop(build, cell, x, time, length, side == 1, state, w, active);
      sides.push_back(steps.outputs);
      for (std::size_t s = 0; s < last.size(); ++s) last[s].push_back(steps.last[s]);
    }
    x = sides.size() == 1 ? sides[0] : concat(sides, 2);
    if (layers.dropout != 0 && i + directions < layers.weights.size()) x = dropout(x, layers.dropout)[0];
  }
  std::vector<Ref> results = {x};
  for (const auto& states : last) results.push_back(stacked(states, 0));
  return results;
}

/// Beside PyTorch's forms: "masked", of padded sequences, with `active` (bool[steps, batch, 1]) where they
/// have not ended.
Results run(Call& call, Cell cell, const std::vector<Ref>& initial) {
  const Layers layers = layers_of(call);
  if (call.overload != "data")
    return run_layers(call.build, cell, layers, call.tensor("input"), initial,
                      call.overload == "masked" ? call.tensor("active") : Ref());
  const PackedPlaces places(call.build, call.tensor("batch_sizes"), initial[0].shape()[1]);
  Shape mask = places.active().shape();
  mask.emplace_back(1);
  auto results = run_layers(call.build, cell, layers, places.padded(call.tensor("data")), initial,
                            reshape(places.active(), mask));
  results[0] = places.packed(results[0]);
  return results;
}

std::vector<Ref> initial_states(Call& call) {
  std::vector<Ref> out;
  for (const TensorPtr& t : call.tensors("hx")) out.push_back(call.build.read(t));
  return out;
}

Results lstm(Call& call) { return run(call, lstm_step, initial_states(call)); }
/// Beside PyTorch's arguments: `reset_first`.
Results gru(Call& call) {
  const bool reset_first = call.flag("reset_first", false);
  return run(call, reset_first ? gru_reset_first_step : gru_step, {call.tensor("hx")});
}
template <Cell cell>
Results simple(Call& call) {
  return run(call, cell, {call.tensor("hx")});
}

Weights cell_weights(Call& call) {
  return {call.tensor("w_ih"),
          call.tensor("w_hh"),
          call.optional_tensor("b_ih"),
          call.optional_tensor("b_hh"),
          {}};
}
Results lstm_cell(Call& call) {
  const Weights w = cell_weights(call);
  return lstm_step(affine(call.tensor("input"), w.input, w.input_bias), initial_states(call), w);
}
template <Cell cell>
Results simple_cell(Call& call) {
  const Weights w = cell_weights(call);
  return cell(affine(call.tensor("input"), w.input, w.input_bias), {call.tensor("hx")}, w);
}

constexpr Entry entries[] = {
    {"lstm", lstm},
    {"gru", gru},
    {"rnn_tanh", simple<tanh_step>},
    {"rnn_relu", simple<relu_step>},
    {"lstm_cell", lstm_cell},
    {"gru_cell", simple_cell<gru_step>},
    {"rnn_tanh_cell", simple_cell<tanh_step>},
    {"rnn_relu_cell", simple_cell<relu_step>},
};

}  // namespace

std::span<const Entry> rnn_entries() { return entries; }

}  // namespace tenon::converter
