// Recurrent layers as both formats have them: a cell, its parameters, and a walk over the steps.
#pragma once
#include <functional>
#include <limits>

#include "converter/builder.h"

namespace tenon::converter {

/// x as one side of the gates.
Ref affine(const Ref& x, const Ref& weight, const Ref& bias);

/// The parameters of one direction of one layer; only `input` and `hidden` must be given. A peephole is three
/// vectors in one: how the input, the output and the forget gate see the cell.
struct RecurrentWeights {
  Ref input, hidden, input_bias, hidden_bias, projection, peephole;
  /// What the products see of the input and of h; empty: these as they are.
  std::function<Ref(const Ref&)> seen;
  Ref from_input(const Ref& x) const { return affine(seen ? seen(x) : x, input, input_bias); }
  Ref from_hidden(const Ref& h) const { return affine(seen ? seen(h) : h, hidden, hidden_bias); }
};

/// h, and c for an LSTM.
using State = std::vector<Ref>;
/// The next state from the input's part of the gates and the state.
using Cell = std::function<State(const Ref& from_input, const State&, const RecurrentWeights&)>;

/// The activations of the gates, of the candidate for the new state, and of an LSTM's cell before its output.
/// The inputs of the first two are clamped to [-clip, clip].
struct CellStyle {
  using Activation = std::function<Ref(const Ref&)>;
  Activation gate, candidate, output;  // empty: sigmoid, tanh, tanh
  double clip = std::numeric_limits<double>::infinity();
  bool forgets_what_it_takes = false;  // an LSTM's forget gate is 1 - the input gate
};

/// Gates in PyTorch's order: input, forget, candidate, output.
Cell lstm_cell(CellStyle = {});
/// Reset, update, candidate. With `reset_first` the gate acts before the hidden state is multiplied with its
/// weight: ONNX's GRU without linear_before_reset.
Cell gru_cell(CellStyle = {}, bool reset_first = false);
/// One candidate that is the new state.
Cell plain_cell(CellStyle = {});

struct RecurrentLayers {
  struct Part {
    Cell cell;
    RecurrentWeights weights;
  };
  std::vector<Part> parts;  // layer by layer, forward before backward
  bool bidirectional = false;
  bool batch_first = false;
  double dropout = 0;  // between layers, in training mode
};

/// All layers; `initial` holds h (and c), each [layers * directions, batch, size]. The result is the outputs
/// of the last layer, then the last states. `active`, bool[steps, batch, 1], says where padded sequences have
/// not ended.
std::vector<Ref> run_layers(Builder&, const RecurrentLayers&, Ref x, const std::vector<Ref>& initial,
                            const Ref& active = {});

}  // namespace tenon::converter
