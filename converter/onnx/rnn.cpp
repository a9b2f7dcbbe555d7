// Recurrent layers: PyTorch's, with their gates in another order and more activations.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/aten/recurrent.h"
#include "converter/onnx/round_trip.h"
#include "converter/onnx/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"

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
  std::vector<Ref> states;                // [directions, batch, hidden]
  std::vector<RecurrentWeights> weights;  // of each direction
};

/// A layer's attributes activations, activation_alpha and activation_beta: a style for each direction.
/// Numbers are taken in the order of the functions that have them.
class Styles {
 public:
  /// `count` activations a direction.
  Styles(const Call& call, std::size_t count) : count_(count) {
    names_ = call.texts("activations");
    alphas_ = call.numbers("activation_alpha");
    betas_ = call.numbers("activation_beta");
    if (call.has("clip")) clip_ = call.number("clip", 0);
    forgets_what_it_takes_ = call.integer("input_forget", 0) != 0;
  }

  /// Of the next direction: gate, candidate, output; a layer without gates has the candidate alone.
  CellStyle next() {
    CellStyle style{.clip = clip_, .forgets_what_it_takes = forgets_what_it_takes_};
    if (names_.empty()) return style;
    if (names_.size() % count_ != 0)
      throw error("it names {} activations; a direction has {}", names_.size(), count_);
    if (count_ > 1) style.gate = activation();
    style.candidate = activation();
    if (count_ > 2) style.output = activation();
    return style;
  }

 private:
  static double take(const std::vector<float>& numbers, std::size_t& at, double otherwise) {
    return at < numbers.size() ? round_trip_double(numbers[at++]) : otherwise;
  }
  double alpha(double otherwise) { return take(alphas_, alpha_, otherwise); }
  double beta(double otherwise) { return take(betas_, beta_, otherwise); }

  CellStyle::Activation activation() {
    const std::string& name = names_[taken_++ % names_.size()];
    const auto of = [](Op op) { return [op](const Ref& x) { return tenon::apply(op, {x}); }; };
    if (name == "Tanh") return of(Tanh{});
    if (name == "Sigmoid") return of(Sigmoid{});
    if (name == "Relu") return of(Relu{});
    if (name == "Softsign") return of(Softsign{});
    if (name == "Softplus") return of(Softplus{});
    if (name == "LeakyRelu") return of(LeakyRelu{.slope = alpha(0.01)});
    if (name == "ThresholdedRelu") return of(Threshold{.threshold = alpha(1)});
    if (name == "Elu") return of(Elu{.alpha = alpha(1)});
    if (name != "Affine" && name != "ScaledTanh" && name != "HardSigmoid")
      throw unsupported("the activation {} is not supported here", name);
    const bool is_hard = name == "HardSigmoid";
    const double a = alpha(is_hard ? 0.2 : 1), b = beta(is_hard ? 0.5 : name == "Affine" ? 0 : 1);
    if (name == "ScaledTanh") return [a, b](const Ref& x) { return tanh(x * b) * a; };
    if (name == "Affine") return [a, b](const Ref& x) { return x * a + b; };
    return [a, b](const Ref& x) { return tenon::apply(Clamp{.min = 0, .max = 1}, {x * a + b}); };
  }

  std::size_t count_, taken_ = 0, alpha_ = 0, beta_ = 0;
  std::vector<std::string> names_;
  std::vector<float> alphas_, betas_;
  double clip_ = std::numeric_limits<double>::infinity();
  bool forgets_what_it_takes_ = false;
};

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
  return reshape(iota(steps, call.build.insertion_point()), {steps, Dim(1), Dim(1)}) <
         reshape(lengths, {Dim(1), batch, Dim(1)});
}

Layer layer_of(const Call& call, std::span<const std::int64_t> gates, std::size_t num_states) {
  Layer layer{.x = call.tensor(0)};
  check_rank("X", layer.x.type(), 3);
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
    RecurrentWeights& one = layer.weights.emplace_back();
    one.input = reordered(row(w, d), gates, layer.hidden);
    one.hidden = reordered(row(r, d), gates, layer.hidden);
    if (const Ref p = call.optional_tensor(7)) {
      if (p.rank() != 2 || known_equal(p.shape()[1], Dim(3 * layer.hidden)) == false)
        throw error("peepholes {} for 3 gates of {}", p.type().str(), layer.hidden);
      one.peephole = row(p, d);
    }
    if (!b) continue;
    one.input_bias = reordered(slice(row(b, d), 0, Dim(0), Dim(width)), gates, layer.hidden);
    one.hidden_bias = reordered(slice(row(b, d), 0, Dim(width), Dim(2 * width)), gates, layer.hidden);
  }
  const Shape state = {Dim(layer.directions), layer.x.shape()[1], Dim(layer.hidden)};
  for (std::size_t i = 0; i < num_states; ++i) {
    const Ref given = call.optional_tensor(5 + i);
    layer.states.push_back(!given              ? full(state, 0, layer.x.dtype(), call.build.insertion_point())
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

/// `cell_of` makes a direction's cell; it has `activations` of its own.
Operands run(const Call& call, const Layer& layer, std::size_t activations,
             const std::function<Cell(CellStyle)>& cell_of) {
  Styles styles(call, activations);
  RecurrentLayers layers{.parts = {}, .bidirectional = layer.directions == 2};
  for (const RecurrentWeights& w : layer.weights) layers.parts.push_back({cell_of(styles.next()), w});
  const auto from_start = [&](const Ref& r) { return r && layer.reversed ? flip(r, {0}) : r; };
  std::vector<Ref> out =
      run_layers(call.build, layers, from_start(layer.x), layer.states, from_start(layer.active));
  const Ref all = out.at(0);
  out.erase(out.begin());
  return results(layer, all, std::move(out));
}

Operands lstm(Call& call) { return run(call, layer_of(call, lstm_gates, 2), 3, lstm_cell); }

Operands rnn(Call& call) { return run(call, layer_of(call, rnn_gates, 1), 1, plain_cell); }

Operands gru(Call& call) {
  const bool reset_first = call.integer("linear_before_reset", 0) == 0;
  return run(call, layer_of(call, gru_gates, 1), 2,
             [&](CellStyle style) { return gru_cell(std::move(style), reset_first); });
}

}  // namespace

std::span<const OnnxEntry> rnn_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"GRU", gru},
      OnnxEntry{"LSTM", lstm},
      OnnxEntry{"RNN", rnn},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
