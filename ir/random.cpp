#include "ir/random.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>

#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/random.h"
#include "ir/ops/reduce.h"
#include "ir/ops/sort.h"
#include "ir/ops/working_dtype.h"

namespace tenon {
namespace {

template <class R, class F>
void each_node(R& region, const F& f) {
  for (auto it = region.nodes().begin(); it != region.nodes().end();) {
    Node& node = **it++;  // which f may replace
    for (const auto& inner : node.regions()) each_node(*inner, f);
    f(node);
  }
}

std::int64_t stream_of(const Op& op) {
  if (const auto* bits = op.as<RandomBits>()) return bits->stream;
  if (const auto* dropout = op.as<Dropout>()) return dropout->stream;
  return 0;
}

// One that no node of the graph has.
std::int64_t next_stream(const InsertionPoint& point) {
  std::int64_t last = 0;
  each_node(point.region->graph().body(),
            [&](const Node& node) { last = std::max(last, stream_of(node.op())); });
  return last + 1;
}

// The number of the step, where the place is in loops: nothing, or one value that differs from step to step.
std::vector<Ref> step_at(const InsertionPoint& point) {
  constexpr double far_apart = 1000003;  // more steps than an inner loop has
  Ref step;
  double factor = 1;
  for (const Region* region = point.region; region->owner(); region = &region->owner()->parent()) {
    if (!region->owner()->is<Loop>()) continue;
    const Ref number(region->parameter(0), point);
    const Ref part = factor == 1 ? number : number * factor;
    step = step ? step + part : part;
    factor *= far_apart;
  }
  return step ? std::vector{step} : std::vector<Ref>();
}

}  // namespace

Ref random_bits(const Shape& shape, std::int64_t bits, const InsertionPoint& point) {
  return apply_all(RandomBits{.shape = shape, .bits = bits, .stream = next_stream(point)}, step_at(point),
                   point)[0];
}

Ref uniform(const Shape& shape, DType dtype, const InsertionPoint& point) {
  return uniform({.shape = shape, .stream = next_stream(point)}, dtype, step_at(point), point);
}

// Box and Muller's: a radius and an angle.
Ref standard_normal(const Shape& shape, DType dtype, const InsertionPoint& point) {
  const DType exact = working_dtype(dtype);
  const Ref radius = sqrt(exponential(shape, exact, point) * 2.0);
  return cast(dtype, radius * cos(uniform(shape, exact, point) * (2 * std::numbers::pi)));
}

// Never 0, as in PyTorch: what is divided by it stays a number.
Ref exponential(const Shape& shape, DType dtype, const InsertionPoint& point) {
  const DType exact = working_dtype(dtype);
  const double least = exact == DType::f64 ? 0x1p-54 : 0x1p-25;
  return cast(dtype, apply(Clamp{.min = least}, {-log1p(-uniform(shape, exact, point))}));
}

namespace {

std::optional<std::int64_t> known_integer(const Ref& x) {
  const Value& v = *x.value();
  if (!v.is_constant() || !v.tensor().defined() || v.tensor().numel() != 1) return std::nullopt;
  return v.tensor().get_int(Index(v.rank(), 0));
}

// Of 2^63 integers or more, whose number as i64 is below zero, or zero where it is 2^64.
Ref random_of_many(const Shape& shape, const Ref& low, std::int64_t count, const InsertionPoint& point) {
  const Ref upper = random_bits(shape, 32, point), lower = random_bits(shape, 32, point);
  const Ref any = apply(BitOr{}, {apply(ShiftLeft{}, {upper, upper.literal(32)}), lower});
  if (count == 0) return any + low;
  const auto number = [&](std::int64_t n) {
    return Ref(point.region->literal(Tensor::scalar(DType::i64, n)), point);
  };
  const Ref sign = number(std::numeric_limits<std::int64_t>::min()), span = number(count);
  const Ref is_below = apply(BitXor{}, {any, sign}) < apply(BitXor{}, {span, sign});
  return where(is_below, any, any - span) + low;
}

}  // namespace

Ref random_integers(const Shape& shape, const Ref& low, const Ref& high, const InsertionPoint& point) {
  if (const auto first = known_integer(low), end = known_integer(high); first && end) {
    const auto count =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(*end) - static_cast<std::uint64_t>(*first));
    if (count <= 0) return random_of_many(shape, low, count, point);
  }
  return apply(Remainder{}, {random_bits(shape, 63, point), high - low}) + low;
}

Ref bernoulli(const Shape& shape, const Ref& p, const InsertionPoint& point) {
  const Ref probability = cast(working_dtype(p.dtype()), p);
  return uniform(shape, probability.dtype(), point) < probability;
}

// The class whose exponential clock of the weight's rate is first; without replacement the first ones.
Ref multinomial(const Ref& weights, const Dim& count, bool with_replacement) {
  const Ref rates = working(weights);
  Shape shape = rates.shape();
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  if (!with_replacement) {
    const Ref clocks = rates / exponential(shape, rates.dtype(), rates.insertion_point());
    return apply_all(TopK{.k = count, .axis = last}, std::array{clocks})[1];
  }
  shape.insert(shape.end() - 1, Dim(1));
  const Ref rows = reshape(rates, shape);
  shape[shape.size() - 2] = count;
  return apply(ArgMax{.axis = last + 1}, {rows / exponential(shape, rates.dtype(), rates.insertion_point())});
}

Ref permutation(const Dim& n, const InsertionPoint& point) {
  return apply_all(Sort{}, std::array{random_bits({n}, 63, point)})[1];
}

std::vector<Ref> dropout(const Ref& x, double p, bool whole_channels, bool alpha) {
  const Dropout op{
      .p = p, .whole_channels = whole_channels, .alpha = alpha, .stream = next_stream(x.insertion_point())};
  std::vector<Ref> operands = step_at(x.insertion_point());
  operands.insert(operands.begin(), x);
  return apply_all(op, operands);
}

bool draws_random(const Op& op) { return op.is<RandomBits>() || op.is<Dropout>(); }

bool draws_random(const Node& node) {
  return draws_random(node.op()) || std::any_of(node.regions().begin(), node.regions().end(),
                                                [](const auto& region) { return draws_random(*region); });
}

bool draws_random(const Region& region) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [](const auto& node) { return draws_random(*node); });
}

std::unordered_set<const Value*> random_values(const Graph& graph) {
  std::unordered_set<const Value*> random;
  for (const auto& node : graph.body().nodes()) {
    const bool is_random =
        draws_random(*node) || std::any_of(node->inputs().begin(), node->inputs().end(),
                                           [&](const Value* v) { return random.contains(v); });
    for (std::size_t i = 0; is_random && i < node->num_outputs(); ++i) random.insert(node->output(i));
  }
  return random;
}

std::vector<bool> random_outputs(const Graph& graph) {
  const auto random = random_values(graph);
  std::vector<bool> out;
  for (const Value* result : graph.body().results()) out.push_back(random.contains(result));
  return out;
}

void set_seed(Graph& graph, std::uint64_t seed) {
  const Attr wanted(static_cast<std::int64_t>(seed));
  each_node(graph.body(), [&](Node& node) {
    if (!draws_random(node.op())) return;
    const std::pair<std::string, Attr> attribute("seed", wanted);
    const Op seeded = node.op().with(std::span(&attribute, 1));
    if (seeded == node.op()) return;
    Node* other = node.parent().insert(seeded, node.inputs(), &node, node.source);
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      other->output(i)->origin = node.output(i)->origin;
      replace_all_uses(node.output(i), other->output(i));
    }
    node.parent().erase(&node);
  });
}

}  // namespace tenon
