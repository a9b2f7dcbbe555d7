// Recurrent layers: a few steps are written out, many or a symbolic number of them are a loop.
#include "converter/aten/recurrent.h"

#include "ir/axis.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/random.h"

namespace tenon::converter {

namespace {

Ref gate(const Ref& gates, std::int64_t i, std::int64_t count) {
  const auto axis = static_cast<std::int64_t>(gates.rank()) - 1;
  const Dim size = floor_div(gates.shape().back(), Dim(count));
  return slice(gates, axis, Dim(i) * size, Dim(i + 1) * size);
}

/// A style whose activations cut what they are given; as in ONNX Runtime not the output's, which is given the
/// cell.
CellStyle completed(CellStyle style) {
  const auto tangent = [](const Ref& x) { return tanh(x); };
  if (!style.gate) style.gate = [](const Ref& x) { return sigmoid(x); };
  if (!style.candidate) style.candidate = tangent;
  if (!style.output) style.output = tangent;
  if (style.clip < std::numeric_limits<double>::infinity())
    for (CellStyle::Activation* f : {&style.gate, &style.candidate})
      *f = [inner = *f, clip = style.clip](const Ref& x) {
        return inner(apply(Clamp{.min = -clip, .max = clip}, {x}));
      };
  return style;
}

State lstm_step(const CellStyle& f, const Ref& from_input, const State& state, const RecurrentWeights& w) {
  const Ref gates = from_input + w.from_hidden(state[0]);
  const auto seeing = [&](std::int64_t of_gates, std::int64_t of_peephole, const Ref& cell) {
    const Ref x = gate(gates, of_gates, 4);
    return w.peephole ? x + gate(w.peephole, of_peephole, 3) * cell : x;
  };
  const Ref input = f.gate(seeing(0, 0, state[1]));
  const Ref forget = f.forgets_what_it_takes ? 1.0 - input : f.gate(seeing(1, 2, state[1]));
  const Ref candidate = f.candidate(gate(gates, 2, 4));
  const Ref c = forget * state[1] + input * candidate;
  Ref h = f.gate(seeing(3, 1, c)) * f.output(c);
  if (w.projection) h = linear(h, w.projection);
  return {h, c};
}

State gru_step(const CellStyle& f, const Ref& from_input, const State& state, const RecurrentWeights& w) {
  const Ref from_hidden = w.from_hidden(state[0]);
  const Ref reset = f.gate(gate(from_input, 0, 3) + gate(from_hidden, 0, 3));
  const Ref update = f.gate(gate(from_input, 1, 3) + gate(from_hidden, 1, 3));
  const Ref candidate = f.candidate(gate(from_input, 2, 3) + reset * gate(from_hidden, 2, 3));
  return {candidate + update * (state[0] - candidate)};
}

State gru_reset_first_step(const CellStyle& f, const Ref& from_input, const State& state,
                           const RecurrentWeights& w) {
  const Dim size = floor_div(w.hidden.shape()[0], Dim(3)), gates = size * Dim(2), all = size * Dim(3);
  const auto rows = [](const Ref& r, const Dim& from, const Dim& to) {
    return r ? slice(r, 0, from, to) : r;
  };
  const Ref from_hidden = affine(state[0], rows(w.hidden, Dim(0), gates), rows(w.hidden_bias, Dim(0), gates));
  const Ref reset = f.gate(gate(from_input, 0, 3) + gate(from_hidden, 0, 2));
  const Ref update = f.gate(gate(from_input, 1, 3) + gate(from_hidden, 1, 2));
  const Ref candidate =
      f.candidate(gate(from_input, 2, 3) +
                  affine(reset * state[0], rows(w.hidden, gates, all), rows(w.hidden_bias, gates, all)));
  return {candidate + update * (state[0] - candidate)};
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
Steps run_layer(const Cell& cell, const Ref& x, std::int64_t time, std::int64_t steps, bool backward,
                State state, const RecurrentWeights& w, const Ref& active) {
  const Ref from_input = w.from_input(x);
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
Steps run_loop(Builder& build, const Cell& cell, const Ref& x, std::int64_t time, const Dim& length,
               bool backward, const State& state, RecurrentWeights w, Ref active) {
  Ref rows = time_first(w.from_input(x), time);
  if (backward) rows = flip(rows, {0});
  if (backward && active) active = flip(active, {0});
  const auto states = static_cast<std::int64_t>(state.size());
  std::vector<Value*> operands = {build.literal(std::int64_t{1}, DType::boolean).value()};
  for (const Ref& s : state) operands.push_back(s.value());
  operands.push_back(rows.value());
  Node* loop = build.region().insert_typed(Loop{.carried = states, .limit = length}, operands, {}, 1, nullptr,
                                           build.insertion_point().source);
  Region& body = loop->region();
  const InsertionPoint point{&body, nullptr, build.insertion_point().source};
  const auto parameter = [&](const Type& type) { return Ref(body.add_parameter(type), point); };
  const Ref step = parameter({DType::i64, {}});
  State before;
  for (const Ref& s : state) before.push_back(parameter(s.type()));
  const Ref row = index_select(parameter(rows.type()), 0, step);
  for (Ref* r : {&w.hidden, &w.hidden_bias, &w.projection, &w.peephole, &active}) {
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

}  // namespace

Ref affine(const Ref& x, const Ref& weight, const Ref& bias) {
  return bias ? linear(x, weight, bias) : linear(x, weight);
}

Cell lstm_cell(CellStyle style) {
  return [f = completed(std::move(style))](const Ref& from_input, const State& state,
                                           const RecurrentWeights& w) {
    return lstm_step(f, from_input, state, w);
  };
}

Cell gru_cell(CellStyle style, bool reset_first) {
  return [f = completed(std::move(style)), reset_first](const Ref& from_input, const State& state,
                                                        const RecurrentWeights& w) {
    return (reset_first ? gru_reset_first_step : gru_step)(f, from_input, state, w);
  };
}

Cell plain_cell(CellStyle style) {
  return [f = completed(std::move(style))](const Ref& from_input, const State& state,
                                           const RecurrentWeights& w) -> State {
    return {f.candidate(from_input + w.from_hidden(state[0]))};
  };
}

std::vector<Ref> run_layers(Builder& build, const RecurrentLayers& layers, Ref x,
                            const std::vector<Ref>& initial, const Ref& active) {
  const std::int64_t time = layers.batch_first ? 1 : 0;
  const Dim length = x.shape()[static_cast<std::size_t>(time)];
  const bool written_out = length.is_known() && length.value() > 0 && length.value() <= most_written_out;
  const std::size_t directions = layers.bidirectional ? 2 : 1;
  std::vector<std::vector<Ref>> last(initial.size());
  for (std::size_t i = 0; i < layers.parts.size(); i += directions) {
    std::vector<Ref> sides;
    for (std::size_t side = 0; side < directions; ++side) {
      State state;
      for (const Ref& h : initial) state.push_back(step_of(h, 0, static_cast<std::int64_t>(i + side)));
      const auto& [cell, w] = layers.parts[i + side];
      const Steps steps = written_out ? run_layer(cell, x, time, length.value(), side == 1, state, w, active)
                                      : run_loop(build, cell, x, time, length, side == 1, state, w, active);
      sides.push_back(steps.outputs);
      for (std::size_t s = 0; s < last.size(); ++s) last[s].push_back(steps.last[s]);
    }
    x = sides.size() == 1 ? sides[0] : concat(sides, 2);
    if (layers.dropout != 0 && i + directions < layers.parts.size()) x = dropout(x, layers.dropout)[0];
  }
  std::vector<Ref> results = {x};
  for (const auto& states : last) results.push_back(stacked(states, 0));
  return results;
}

}  // namespace tenon::converter
