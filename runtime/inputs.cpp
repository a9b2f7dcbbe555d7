#include "runtime/inputs.h"

#include <algorithm>
#include <array>
#include <random>
#include <unordered_set>

#include "base/error.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/logic.h"
#include "ir/string_tensor.h"
#include "runtime/stream.h"

namespace tenon {
namespace {

constexpr std::int64_t default_bound = 2;

// What random strings are drawn from: with and without capitals, blanks, digits and letters beyond ASCII.
const std::array<std::string, 8> sample_words = {
    "the", "Quick", "brown fox", "", "42", "e-mail@example.org", "Straße", "日本"};

std::int64_t default_size(std::size_t axis, std::size_t rank) {
  if (axis == 0) return 1;
  return rank >= 4 && axis + 2 >= rank ? 64 : 16;
}

std::optional<std::int64_t> bound_size(const Dim& d, const Bindings& bindings) {
  for (const std::string& symbol : d.symbols())
    if (!bindings.contains(symbol)) return std::nullopt;
  return d.eval(bindings);
}

// How many places 0, 1, 2, ... a value holds, in any shape.
std::optional<std::int64_t> counted_places(const Value* v, const Bindings& bindings) {
  while (v->node() && v->node()->inputs().size() == 1) v = v->node()->input();
  if (v->node() && v->node()->is<Iota>()) return bound_size(v->node()->as<Iota>()->size, bindings);
  if (!v->is_constant() || !v->tensor().defined() || (v->dtype() != DType::i64 && v->dtype() != DType::i32) ||
      v->rank() == 0)
    return std::nullopt;
  std::int64_t next = 0;
  bool counts = true;
  for_each_index(v->tensor().shape(), [&](std::span<const std::int64_t> at) {
    counts = counts && v->tensor().get_int(at) == next++;
  });
  return counts ? std::optional(next) : std::nullopt;
}

bool compares(const Node& n) {
  return n.is<Less>() || n.is<LessEqual>() || n.is<Greater>() || n.is<GreaterEqual>();
}

// The size of the axis that a value indexes, or one more than the places it is compared with, following it
// through operators that only move or convert it.
std::optional<std::int64_t> indexed_size(const Value& value, const Bindings& bindings) {
  std::optional<std::int64_t> least;
  const auto take = [&](std::optional<std::int64_t> size) {
    if (size && (!least || *size < *least)) least = size;
  };
  std::unordered_set<const Value*> seen = {&value};
  std::vector<const Value*> open = {&value};
  const auto follow = [&](const Value* v) {
    if (seen.insert(v).second) open.push_back(v);
  };
  const auto visit = [&](const Use& u) {
    if (!u.node) {
      const Node* group = u.region->owner();
      if (group && group->is<Fused>()) follow(group->output(u.index));
      return;
    }
    const Node& n = *u.node;
    const auto axis_size = [&](std::int64_t axis) {
      return bound_size(n.input()->shape().at(static_cast<std::size_t>(axis)), bindings);
    };
    if (const auto* op = n.as<IndexSelect>(); op && u.index == 1)
      take(axis_size(op->axis));
    else if (const auto* gather = n.as<Gather>(); gather && u.index == 1)
      take(axis_size(gather->axis));
    else if (const auto places = compares(n) ? counted_places(n.input(1 - u.index), bindings) : std::nullopt)
      take(*places + 1);
    else if (const auto& rules = n.op().info().region_rules)
      for (const auto& region : n.regions())
        for (const auto& p : region->parameters()) {
          if (rules->input_of(n.op().self(), p->index()) == u.index) follow(p.get());
        }
    else if (n.inputs().size() == 1 && n.num_outputs() == 1)
      follow(n.output());
  };
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    for (const Use& u : v->uses()) visit(u);
  }
  return least;
}

// A float takes any number, rounded; an integer takes what it can hold; a bool takes true, false, 0 and 1.
Tensor as_number(const Tensor& number, const Value& input) {
  if (is_string(input.dtype()))
    throw error("input {} holds strings, and is given a number", input.name())
        .hint(fmt::format("save them with NumPy: --input {}=words.npy", input.name()));
  Tensor converted = number.to(input.dtype());
  const bool exact = converted.to(number.dtype()).get_double() == number.get_double();
  if (!is_float(input.dtype()) && !exact)
    throw error("input {} is {}, which {} cannot hold", input.name(), number.get_double(),
                name(input.dtype()));
  return converted;
}

void bind_sizes(const Shape& shape, const Tensor& value, Bindings& bindings) {
  for (std::size_t i = 0; i < shape.size() && i < value.rank(); ++i)
    if (const auto symbols = shape[i].symbols(); symbols.size() == 1 && shape[i] == Dim::symbol(symbols[0]))
      bindings.emplace(symbols[0], value.shape()[i]);
}

}  // namespace

std::int64_t index_bound(const Value& input, const Bindings& bindings) {
  return indexed_size(input, bindings).value_or(default_bound);
}

Tensor random_tensor(DType dtype, const Index& sizes, std::int64_t bound, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (is_string(dtype)) {
    std::vector<std::string> words(static_cast<std::size_t>(numel(sizes)));
    for (std::string& word : words) word = sample_words[random() % sample_words.size()];
    return string_tensor(sizes, words);
  }
  Tensor t = Tensor::empty(is_float(dtype) ? DType::f32 : DType::i64, sizes);
  if (is_float(dtype)) {
    std::normal_distribution<float> normal;
    std::generate_n(t.mutable_data<float>(), t.numel(), [&] { return normal(random); });
  } else {
    std::uniform_int_distribution<std::int64_t> uniform(
        0, (is_bool(dtype) ? 2 : std::max<std::int64_t>(bound, 1)) - 1);
    std::generate_n(t.mutable_data<std::int64_t>(), t.numel(), [&] { return uniform(random); });
  }
  return t.to(dtype);
}

std::vector<Tensor> input_values(const Graph& graph, std::vector<GivenInput> given, std::uint64_t seed,
                                 const Bindings& sizes) {
  const auto& parameters = graph.body().parameters();
  std::vector<Tensor> values(parameters.size());
  std::string known;
  for (const auto& p : parameters) known += (known.empty() ? "" : ", ") + p->name();
  const auto place = [&](std::size_t i, GivenInput& g) {
    if (values[i].defined()) throw error("input {} is given twice", parameters[i]->name());
    values[i] = g.is_number ? as_number(g.value, *parameters[i]) : g.value;
  };
  for (GivenInput& g : given) {
    if (g.name.empty()) continue;
    const auto it = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const auto& p) { return p->name() == g.name; });
    if (it == parameters.end())
      throw error("the model has no input '{}'", g.name)
          .hint(known.empty() ? "it has no inputs" : "its inputs: " + known);
    place(static_cast<std::size_t>(it - parameters.begin()), g);
  }
  std::size_t next = 0;
  for (GivenInput& g : given) {
    if (!g.name.empty()) continue;
    while (next < values.size() && values[next].defined()) ++next;
    if (next == values.size())
      throw error("{} inputs are given, the model takes {}", given.size(), values.size())
          .hint(known.empty() ? "it has no inputs" : "its inputs: " + known);
    place(next, g);
  }
  Bindings bindings;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].defined()) bind_sizes(parameters[i]->shape(), values[i], bindings);
  for (const auto& [symbol, size] : sizes) bindings.emplace(symbol, size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].defined()) continue;
    const Value& p = *parameters[i];
    for (std::size_t axis = 0; axis < p.rank(); ++axis)
      for (const std::string& symbol : p.shape()[axis].symbols()) {
        const auto info = graph.symbols.find(symbol);
        const SymbolInfo limits = info == graph.symbols.end() ? SymbolInfo{} : info->second;
        bindings.emplace(symbol, std::clamp(default_size(axis, p.rank()), limits.min, limits.max));
      }
    const Index shape = eval(p.shape(), bindings);
    values[i] = is_state(graph, p) ? Tensor::zeros(p.dtype(), shape)
                                   : random_tensor(p.dtype(), shape, index_bound(p, bindings), seed + i);
  }
  return values;
}

}  // namespace tenon
