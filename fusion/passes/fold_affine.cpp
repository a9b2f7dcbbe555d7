// Scales and shifts per output channel fold into the operator that made the channels.
//   batch_norm(x) = x * s + t            with s = weight / sqrt(var + eps), t = bias - mean * s
//   conv(x, w, b) * s + t = conv(x, w * s, b * s + t)
// To meet it, they pass bounds:
//   relu(y) * s = relu(y * s)            with s > 0
//   relu(y) + t = clamp(y + t, min=t)    with one t for all channels
#include <algorithm>
#include <cmath>

#include "fusion/passes.h"
#include "fusion/rule.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"
#include "ir/ops/norm.h"

namespace tenon {
namespace {

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) { out.push_back(t.get_double(i)); });
  return out;
}

Tensor tensor_of(DType dtype, Index shape, const std::vector<double>& values) {
  Tensor t = Tensor::empty(dtype, std::move(shape));
  std::size_t k = 0;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) { t.set_double(i, values[k++]); });
  return t;
}

Rule batch_norm_to_affine() {
  return {.name = "batch_norm_to_affine",
          .patterns = {op<BatchNorm>(hole("x"), hole("mean"), hole("var"), hole("weight"), hole("bias"))},
          .refuse = [](const Match& m) -> std::string {
            for (const char* name : {"mean", "var", "weight", "bias"})
              if (!has_numbers(m[name])) return std::string("its ") + name + " is computed, not a weight";
            return {};
          },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const auto mean = numbers(m["mean"]->tensor()), var = numbers(m["var"]->tensor());
                auto scale = numbers(m["weight"]->tensor()), shift = numbers(m["bias"]->tensor());
                for (std::size_t c = 0; c < scale.size(); ++c) {
                  scale[c] /= std::sqrt(var[c] + m.op<BatchNorm>().eps);
                  shift[c] -= mean[c] * scale[c];
                }
                Index shape(m["x"]->rank(), 1);
                shape[1] = static_cast<std::int64_t>(scale.size());
                Graph& graph = point.region->graph();
                const DType dtype = m["x"]->dtype();
                const auto weight = [&](const char* of, const std::vector<double>& values) {
                  return Ref(graph.add_weight(m[of]->name() + "'", tensor_of(dtype, shape, values)), point);
                };
                return Ref(m["x"], point) * weight("weight", scale) + weight("bias", shift);
              }};
}

// The operators that make channels, and where these stand.
struct Producer {
  Node* node;
  std::int64_t channels;     // of the output
  std::size_t channel_axis;  // of the output
};

std::optional<Producer> producer(Value* v) {
  Node* n = v->node();
  if (!n || n->inputs().size() < 2 || !has_numbers(n->input(1))) return std::nullopt;
  const bool conv = n->is<Conv>() || n->is<ConvTranspose>();
  if (!conv && !n->is<Linear>()) return std::nullopt;
  const std::size_t axis = conv ? 1 : v->rank() - 1;
  if (!v->shape()[axis].is_known()) return std::nullopt;
  return Producer{n, v->shape()[axis].value(), axis};
}

// One number per channel, when the constant differs along the channel axis only.
std::optional<std::vector<double>> per_channel(const Value* constant, const Producer& p, std::size_t rank) {
  if (!constant->is_constant() || !constant->tensor().defined() || constant->rank() > rank)
    return std::nullopt;
  const Tensor& t = constant->tensor();
  for (std::size_t i = 0; i < t.rank(); ++i) {
    const std::size_t axis = rank - t.rank() + i;
    if (t.shape()[i] != 1 && (axis != p.channel_axis || t.shape()[i] != p.channels)) return std::nullopt;
  }
  std::vector<double> values = numbers(t);
  values.resize(static_cast<std::size_t>(p.channels), values[0]);
  return values;
}

// Weight elements times the scale of the output channel they make.
Tensor scaled(const Node& node, const Tensor& weight, const std::vector<double>& scale) {
  const Tensor dense = weight.contiguous();
  Tensor out = Tensor::empty(weight.dtype(), weight.shape());
  const auto* transposed = node.as<ConvTranspose>();
  const std::int64_t rows = weight.shape()[0], columns = weight.shape()[1];
  const auto channel_of = [&](std::int64_t block) {
    return transposed ? block / columns / (rows / transposed->groups) * columns + block % columns : block;
  };
  const std::int64_t blocks = transposed ? rows * columns : rows;
  const std::int64_t inner = blocks == 0 ? 0 : weight.numel() / blocks;
  dispatch_real(weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = dense.data<T>();
    T* to = out.mutable_data<T>();
    for (std::int64_t b = 0; b < blocks; ++b) {
      const double factor = scale[static_cast<std::size_t>(channel_of(b))];
      for (std::int64_t k = 0; k < inner; ++k) *to++ = convert<T>(convert<double>(*from++) * factor);
    }
  });
  return out;
}

std::string refuse_more_uses(const Value* v) {
  if (v->uses().size() <= 1) return {};
  return "the result of the " + std::string(v->node()->op().name()) + " is used more than once";
}

std::string refuse_fold_into(Value* y) {
  const auto p = producer(y);
  const std::string what(p->node->op().name());
  if (std::string why = refuse_more_uses(y); !why.empty()) return why;
  for (std::size_t i = 1; i < p->node->inputs().size(); ++i)
    if (p->node->input(i)->uses().size() > 1)
      return "@" + p->node->input(i)->name() + " is shared with another operator";
  if (p->node->inputs().size() > 2 && !has_numbers(p->node->input(2)))
    return "the bias of the " + what + " is computed";
  return {};
}

std::string refuse_fold(const Match& m) { return refuse_fold_into(m["y"]); }

bool folds(const Match& m) {
  const auto p = producer(m["y"]);
  return p && per_channel(m["c"], *p, m["y"]->rank()) && m.root()->output()->type() == m["y"]->type();
}

// "conv1.weight'" -> "conv1.bias"
std::string bias_of(const std::string& weight) {
  const auto dot = weight.rfind('.');
  return (dot == std::string::npos ? weight : weight.substr(0, dot)) + ".bias";
}

// The producer again with scaled weight and shifted bias.
Ref with_affine(const Match& m, const InsertionPoint& point, std::optional<std::vector<double>> scale,
                std::optional<std::vector<double>> shift) {
  const Producer p = *producer(m["y"]);
  Graph& graph = point.region->graph();
  Source source = p.node->source;
  source.merge(m.root()->source);
  std::vector<Value*> inputs = p.node->inputs();
  const std::string weight_name = inputs[1]->name();
  std::vector<double> bias(static_cast<std::size_t>(p.channels), 0.0);
  if (inputs.size() > 2) bias = numbers(inputs[2]->tensor());
  const std::string bias_name = inputs.size() > 2 ? inputs[2]->name() : bias_of(weight_name);
  const DType dtype = inputs[1]->dtype();
  if (scale) {
    inputs[1] = graph.add_weight(weight_name + "'", scaled(*p.node, inputs[1]->tensor(), *scale));
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] *= (*scale)[c];
  }
  if (shift)
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] += (*shift)[c];
  if (shift || inputs.size() > 2) {
    inputs.resize(2);
    inputs.push_back(graph.add_weight(bias_name + "'", tensor_of(dtype, {p.channels}, bias)));
  }
  Node* node = point.region->insert(p.node->op(), std::move(inputs), point.before, std::move(source));
  return Ref(node->output(), point);
}

Rule fold_scale() {
  return {.name = "fold_scale",
          .patterns = {hole("y") * hole("c"), hole("c") * hole("y")},
          .when = folds,
          .refuse = refuse_fold,
          .build = [](const Match& m, const InsertionPoint& point) {
            return with_affine(m, point, per_channel(m["c"], *producer(m["y"]), m["y"]->rank()),
                               std::nullopt);
          }};
}

Rule fold_shift() {
  return {.name = "fold_shift",
          .patterns = {hole("y") + hole("c"), hole("c") + hole("y")},
          .when = folds,
          .refuse = refuse_fold,
          .build = [](const Match& m, const InsertionPoint& point) {
            return with_affine(m, point, std::nullopt,
                               per_channel(m["c"], *producer(m["y"]), m["y"]->rank()));
          }};
}

// What a node leaves of the result of a producer.
struct Bounds {
  Value* of;
  std::optional<double> min, max;

  bool is_relu() const { return min == 0 && !max; }
};

std::optional<Bounds> bounds(const Value* v) {
  if (!v->node()) return std::nullopt;
  const auto* const clamp = v->node()->as<Clamp>();
  if (!clamp && !v->node()->is<Relu>()) return std::nullopt;
  Value* const of = v->node()->input(0);
  if (!producer(of)) return std::nullopt;
  return clamp ? Bounds{of, clamp->min, clamp->max} : Bounds{of, 0, std::nullopt};
}

// The numbers of the channels of a scale or shift that may pass the bounds in front of it.
std::optional<std::vector<double>> passing(const Match& m) {
  const Value* const z = m["z"];
  const auto b = bounds(z);
  if (!b || m.root()->output()->type() != z->type()) return std::nullopt;
  return per_channel(m["c"], *producer(b->of), z->rank());
}

bool are_one(const std::vector<double>& numbers) {
  return std::isfinite(numbers[0]) && std::ranges::all_of(numbers, [&](double x) { return x == numbers[0]; });
}

std::string refuse_pass(const Match& m) {
  std::string why = refuse_more_uses(m["z"]);
  return why.empty() ? refuse_fold_into(bounds(m["z"])->of) : why;
}

std::optional<double> changed(std::optional<double> bound, const auto& change) {
  return bound ? std::optional(change(*bound)) : std::nullopt;
}

Rule scale_before_bounds() {
  return {.name = "scale_before_bounds",
          .patterns = {hole("z") * hole("c"), hole("c") * hole("z")},
          .when =
              [](const Match& m) {
                const auto scale = passing(m);
                const auto is_positive = [](double s) { return s > 0 && std::isfinite(s); };
                return scale && std::ranges::all_of(*scale, is_positive) &&
                       (bounds(m["z"])->is_relu() || are_one(*scale));
              },
          .refuse = refuse_pass,
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Bounds b = *bounds(m["z"]);
                const Ref y = Ref(b.of, point) * Ref(m["c"], point);
                if (b.is_relu()) return apply(Relu{}, {y});
                const auto scaled = [scale = passing(m)->front()](double x) { return x * scale; };
                return apply(Clamp{.min = changed(b.min, scaled), .max = changed(b.max, scaled)}, {y});
              }};
}

Rule shift_before_bounds() {
  return {.name = "shift_before_bounds",
          .patterns = {hole("z") + hole("c"), hole("c") + hole("z")},
          .when =
              [](const Match& m) {
                const auto shift = passing(m);
                return shift && are_one(*shift);
              },
          .refuse = refuse_pass,
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Bounds b = *bounds(m["z"]);
                const auto shifted = [shift = passing(m)->front()](double x) { return x + shift; };
                return apply(Clamp{.min = changed(b.min, shifted), .max = changed(b.max, shifted)},
                             {Ref(b.of, point) + Ref(m["c"], point)});
              }};
}

const std::vector<Rule>& affine_rules() {
  static const std::vector<Rule> list = {batch_norm_to_affine(), fold_scale(), fold_shift(),
                                         scale_before_bounds(), shift_before_bounds()};
  return list;
}

}  // namespace

Pass fold_affine() {
  return {"fold_affine", names(affine_rules()),
          [](Rewriter& rewriter) { apply_rules(rewriter, affine_rules()); }};
}

}  // namespace tenon
