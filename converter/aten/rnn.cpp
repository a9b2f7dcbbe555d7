// PyTorch's recurrent layers and their cells.
#include <array>

#include "base/error.h"
#include "converter/aten/packed.h"
#include "converter/aten/quantized.h"
#include "converter/aten/recurrent.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

RecurrentLayers layers_of(Call& call, const Cell& cell) {
  const bool biases = call.flag("has_biases", true);
  RecurrentLayers out{{}, call.flag("bidirectional", false), call.flag("batch_first", false)};
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
    RecurrentWeights w;
    w.input = take();
    w.hidden = take();
    if (biases) w.input_bias = take();
    if (biases) w.hidden_bias = take();
    if (projected) w.projection = take();
    out.parts.push_back({cell, w});
  }
  return out;
}

Results run(Call& call, const Cell& cell, const std::vector<Ref>& initial) {
  const RecurrentLayers layers = layers_of(call, cell);
  if (call.overload != "data") return run_layers(call.build, layers, call.tensor("input"), initial);
  const PackedPlaces places(call.build, call.tensor("batch_sizes"), initial[0].shape()[1]);
  Shape mask = places.active().shape();
  mask.emplace_back(1);
  auto results = run_layers(call.build, layers, places.padded(call.tensor("data")), initial,
                            reshape(places.active(), mask));
  results[0] = places.packed(results[0]);
  return results;
}

std::vector<Ref> initial_states(Call& call) {
  std::vector<Ref> out;
  for (const TensorPtr& t : call.tensors("hx")) out.push_back(call.build.read(t));
  return out;
}

Cell relu_cell() {
  return plain_cell({.gate = {}, .candidate = [](const Ref& x) { return relu(x); }, .output = {}});
}

/// Layers whose packed weights are of 8 bits, and inputs too while they are multiplied.
RecurrentLayers quantized_layers_of(Call& call, const Cell& cell) {
  call.ignore({"has_biases", "dropout", "dtype", "use_dynamic"});
  RecurrentLayers out{{}, call.flag("bidirectional", false), call.flag("batch_first", false)};
  if (call.flag("train", false)) throw unsupported("a quantised recurrent layer in training mode");
  const std::int64_t count = call.integer("num_layers") * (out.bidirectional ? 2 : 1);
  const auto* params = items_of(call.value("params"));
  if (!params || std::ssize(*params) != count)
    throw error("parameters of {} cells for {} layers", params ? params->size() : 0, count);
  for (const AbstractValue& d : *params) {
    const auto* state = items_of(d);  // its kind, biases, doubles, integers, packed weights
    const auto* kind = state && state->size() == 5 ? (*state)[0].get<std::string>() : nullptr;
    const auto* packed = kind ? items_of((*state)[4]) : nullptr;
    const auto* integers = kind ? items_of((*state)[3]) : nullptr;
    if (!packed || packed->size() != 2 || !integers || *kind != "quantized_dynamic")
      throw unsupported("the parameters of a recurrent cell of the kind {}", kind ? *kind : kind_name(d));
    const bool reduced =
        !integers->empty() && !((*integers)[0].get<Dim>() && *(*integers)[0].get<Dim>() == Dim(0));
    const PackedLinear input = packed_linear(call.build, (*packed)[0]),
                       hidden = packed_linear(call.build, (*packed)[1]);
    out.parts.push_back({cell,
                         {.input = input.weight,
                          .hidden = hidden.weight,
                          .input_bias = input.bias,
                          .hidden_bias = hidden.bias,
                          .seen = [reduced](const Ref& x) { return on_own_grid(x, reduced); }}});
  }
  return out;
}

Results quantized_lstm(Call& call) {
  return run_layers(call.build, quantized_layers_of(call, lstm_cell()), call.tensor("input"),
                    initial_states(call));
}
Results quantized_gru(Call& call) {
  return run_layers(call.build, quantized_layers_of(call, gru_cell()), call.tensor("input"),
                    {call.tensor("hx")});
}

Results lstm(Call& call) { return run(call, lstm_cell(), initial_states(call)); }
Results gru(Call& call) { return run(call, gru_cell(), {call.tensor("hx")}); }
Results rnn_tanh(Call& call) { return run(call, plain_cell(), {call.tensor("hx")}); }
Results rnn_relu(Call& call) { return run(call, relu_cell(), {call.tensor("hx")}); }

/// One step.
State step(Call& call, const Cell& cell, const State& state) {
  RecurrentWeights w{.input = call.tensor("w_ih"), .hidden = call.tensor("w_hh")};
  w.input_bias = call.optional_tensor("b_ih");
  w.hidden_bias = call.optional_tensor("b_hh");
  return cell(affine(call.tensor("input"), w.input, w.input_bias), state, w);
}
Results one_lstm(Call& call) { return step(call, lstm_cell(), initial_states(call)); }
Results one_gru(Call& call) { return step(call, gru_cell(), {call.tensor("hx")}); }
Results one_rnn_tanh(Call& call) { return step(call, plain_cell(), {call.tensor("hx")}); }
Results one_rnn_relu(Call& call) { return step(call, relu_cell(), {call.tensor("hx")}); }

constexpr AtenEntry rnn_table[] = {
    {"lstm", lstm},
    {"gru", gru},
    {"rnn_tanh", rnn_tanh},
    {"rnn_relu", rnn_relu},
    {"quantized_lstm.input", quantized_lstm},
    {"quantized_gru.input", quantized_gru},
    {"lstm_cell", one_lstm},
    {"gru_cell", one_gru},
    {"rnn_tanh_cell", one_rnn_tanh},
    {"rnn_relu_cell", one_rnn_relu},
};

}  // namespace

std::span<const AtenEntry> rnn_entries() { return rnn_table; }

}  // namespace tenon::converter
