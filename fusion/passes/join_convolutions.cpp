// Branches of one image that are added become one convolution, as in nets that are trained with several
// branches:
//   conv(x, v) + conv(x, w) = conv(x, v + w)              each tap of v at the tap of w that reads the same
//   pixel x * s + t + conv(x, w) = conv(x, w + s, t)            s at the tap that reads the pixel itself
#include <algorithm>

#include "fusion/passes.h"
#include "fusion/rule.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"

namespace tenon {
namespace {

// Where a convolution reads, seen from an output's place: a number for each spatial dim.
struct Reach {
  Index kernel;
  Axes stride, dilation;
  Index before;  // padding

  std::int64_t taps() const {
    std::int64_t n = 1;
    for (const auto k : kernel) n *= k;
    return n;
  }
};

Reach reach_of(const Node& node) {
  const auto& conv = *node.as<Conv>();
  const Index& weight = node.input(1)->tensor().shape();
  const std::size_t dims = weight.size() - 2;
  const Pads pads = spatial_pads(conv.pad, dims);
  return {.kernel = Index(weight.begin() + 2, weight.end()),
          .stride = spatial("stride", conv.stride, dims),
          .dilation = spatial("dilation", conv.dilation, dims),
          .before = Index(pads.begin.begin(), pads.begin.end())};
}

// The pixel itself.
Reach one_pixel(std::size_t dims) {
  return {
      .kernel = Index(dims, 1), .stride = Axes(dims, 1), .dilation = Axes(dims, 1), .before = Index(dims, 0)};
}

// For each tap of `part`, the tap of `whole` that reads the same pixel; nothing if one has none.
std::optional<std::vector<std::size_t>> taps_within(const Reach& part, const Reach& whole) {
  if (part.stride != whole.stride) return std::nullopt;
  std::vector<std::size_t> taps = {0};
  for (std::size_t dim = 0; dim < whole.kernel.size(); ++dim) {
    std::vector<std::size_t> longer;
    for (const std::size_t tap : taps) {
      for (std::int64_t k = 0; k < part.kernel[dim]; ++k) {
        const std::int64_t place = k * part.dilation[dim] - part.before[dim] + whole.before[dim];
        const std::int64_t at = place / whole.dilation[dim];
        if (place < 0 || place % whole.dilation[dim] != 0 || at >= whole.kernel[dim]) return std::nullopt;
        longer.push_back(tap * static_cast<std::size_t>(whole.kernel[dim]) + static_cast<std::size_t>(at));
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

// A convolution by weights that are known.
Node* convolution(Value* v) {
  Node* const node = v->node();
  return node && node->is<Conv>() && has_numbers(node->input(1)) ? node : nullptr;
}

std::string refuse_branch(Value* v) {
  const Node& node = *v->node();
  if (v->uses().size() > 1) return "the result of the conv is used more than once";
  if (node.inputs().size() > 2 && !has_numbers(node.input(2))) return "the bias of the conv is computed";
  return {};
}

// A convolution with these weights in place of `node`'s, and with a bias that has more added to it.
Ref convolution_with(const Match& m, const InsertionPoint& point, const Node& node, Tensor weights,
                     const std::vector<Value*>& more) {
  Graph& graph = point.region->graph();
  std::vector<Value*> inputs = {node.input(0),
                                graph.add_weight(node.input(1)->name() + "'", std::move(weights))};
  if (!more.empty()) {
    Tensor bias = Tensor::empty(node.input(1)->dtype(), {inputs[1]->tensor().shape()[0]});
    for (std::int64_t c = 0; c < bias.numel(); ++c) {
      double sum = 0;
      for (const Value* v : more) {
        const Tensor flat = v->tensor().contiguous().reshape({v->tensor().numel()});
        sum += flat.get_double(Index{flat.numel() == 1 ? 0 : c});
      }
      bias.set_double(Index{c}, sum);
    }
    inputs.push_back(graph.add_weight(more.front()->name() + "'", std::move(bias)));
  }
  Node* const made = point.region->insert(node.op(), std::move(inputs), point.before, m.source());
  return Ref(made->output(), point);
}

std::vector<Value*> biases(std::initializer_list<const Node*> nodes) {
  std::vector<Value*> found;
  for (const Node* node : nodes)
    if (node->inputs().size() > 2) found.push_back(node->input(2));
  return found;
}

struct Pair {
  Node* part;
  Node* whole;
  std::vector<std::size_t> taps;  // of the part, in the whole
};

std::optional<Pair> pair_of(const Match& m) {
  Node* const a = convolution(m["a"]);
  Node* const b = convolution(m["b"]);
  if (!a || !b || a->input(0) != b->input(0) || a->as<Conv>()->groups != b->as<Conv>()->groups)
    return std::nullopt;
  if (m["a"]->type() != m["b"]->type() || !is_float(m["a"]->dtype())) return std::nullopt;
  for (const auto& [part, whole] : {std::pair{a, b}, std::pair{b, a}})
    if (auto taps = taps_within(reach_of(*part), reach_of(*whole)))
      return Pair{part, whole, std::move(*taps)};
  return std::nullopt;
}

Tensor sum_of_weights(const Pair& pair) {
  const Tensor part = pair.part->input(1)->tensor().contiguous();
  Tensor sum = pair.whole->input(1)->tensor().contiguous().clone();
  const auto filters = static_cast<std::size_t>(part.shape()[0] * part.shape()[1]);
  const auto taps = static_cast<std::size_t>(reach_of(*pair.whole).taps());
  dispatch_real(sum.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = part.data<T>();
    T* const to = sum.mutable_data<T>();
    for (std::size_t filter = 0; filter < filters; ++filter)
      for (const std::size_t tap : pair.taps) {
        T& x = to[filter * taps + tap];
        x = convert<T>(convert<double>(x) + convert<double>(*from++));
      }
  });
  return sum;
}

Rule sum_of_convolutions() {
  return {.name = "sum_of_convolutions",
          .patterns = {hole("a") + hole("b")},
          .when = [](const Match& m) { return pair_of(m).has_value(); },
          .refuse =
              [](const Match& m) {
                const std::string reason = refuse_branch(m["a"]);
                return reason.empty() ? refuse_branch(m["b"]) : reason;
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Pair pair = *pair_of(m);
                return convolution_with(m, point, *pair.whole, sum_of_weights(pair),
                                        biases({pair.whole, pair.part}));
              }};
}

// A number for each channel of an image, or one for all.
bool is_per_channel(const Value* v, const Value* image) {
  if (!has_numbers(v) || v->rank() > image->rank()) return false;
  const Index& shape = v->tensor().shape();
  const auto channels = image->shape()[1];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = image->rank() - shape.size() + i;
    if (shape[i] != 1 && (axis != 1 || !channels.is_known() || shape[i] != channels.value())) return false;
  }
  return true;
}

bool scales_what_it_reads(const Match& m) {
  const Node* const conv = convolution(m["y"]);
  if (!conv || conv->input(0) != m["x"] || m["x"]->type() != m["y"]->type()) return false;
  if (!is_float(m["x"]->dtype())) return false;
  if (!is_per_channel(m["s"], m["x"]) || (m.has("t") && !is_per_channel(m["t"], m["x"]))) return false;
  return taps_within(one_pixel(m["x"]->rank() - 2), reach_of(*conv)).has_value();
}

Tensor with_pixel(const Node& conv, const Tensor& scale) {
  Tensor sum = conv.input(1)->tensor().contiguous().clone();
  const Reach reach = reach_of(conv);
  const std::int64_t tap =
      static_cast<std::int64_t>(taps_within(one_pixel(reach.kernel.size()), reach)->front());
  const std::int64_t inputs = sum.shape()[1], taps = reach.taps();
  const Tensor factors = scale.contiguous().reshape({scale.numel()});
  Tensor flat = sum.reshape({sum.numel()});
  for (std::int64_t c = 0; c < sum.shape()[0]; ++c) {
    const Index at = {(c * inputs + c % inputs) * taps + tap};
    flat.set_double(at, flat.get_double(at) + factors.get_double(Index{factors.numel() == 1 ? 0 : c}));
  }
  return flat.reshape(sum.shape());
}

Rule scaled_image_and_convolution() {
  const Pattern scaled = hole("x") * hole("s");
  return {.name = "scaled_image_and_convolution",
          .patterns = {scaled + hole("y"), scaled + hole("t") + hole("y")},
          .when = scales_what_it_reads,
          .refuse = [](const Match& m) { return refuse_branch(m["y"]); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Node& conv = *convolution(m["y"]);
                std::vector<Value*> added = biases({&conv});
                if (m.has("t")) added.push_back(m["t"]);
                return convolution_with(m, point, conv, with_pixel(conv, m["s"]->tensor()), added);
              }};
}

const std::vector<Rule>& branch_rules() {
  static const std::vector<Rule> list = {sum_of_convolutions(), scaled_image_and_convolution()};
  return list;
}

}  // namespace

Pass join_convolutions() {
  return {"join_convolutions", names(branch_rules()),
          [](Rewriter& rewriter) { apply_rules(rewriter, branch_rules()); }};
}

}  // namespace tenon
