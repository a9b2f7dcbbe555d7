#include "runtime/inputs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <unordered_set>

#include "base/count.h"
#include "base/error.h"
#include "ir/hint.h"
#include "ir/literal.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/logic.h"
#include "ir/ops/shape.h"
#include "ir/string_tensor.h"
#include "runtime/stateful_session.h"

namespace tenon {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t samples_above = 7;  // a number that a check bounds from below alone goes so far beyond

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
  return n.is<Less>() || n.is<LessEqual>() || n.is<Greater>() || n.is<GreaterEqual>() || n.is<Equal>();
}

// An integer that is written down, or that sizes decide.
std::optional<std::int64_t> known_number(const Value* v, const Bindings& bindings) {
  while (v->node() && v->node()->inputs().size() == 1 && (v->node()->is<Cast>() || v->node()->is<Reshape>()))
    v = v->node()->input();
  if (v->node() && v->node()->is<DimValue>()) return bound_size(v->node()->as<DimValue>()->value, bindings);
  if (v->is_constant() && v->tensor().defined() && v->tensor().numel() == 1 && is_integral(v->dtype()))
    return v->tensor().get_int(Index(v->rank(), 0));
  return std::nullopt;
}

// Calls visit(node, operand) for each use of the value, by itself or moved, converted, or handed into a
// region.
template <class Visit>
void for_each_use(const Value& value, Visit visit) {
  std::unordered_set<const Value*> seen = {&value};
  std::vector<const Value*> open = {&value};
  const auto follow = [&](const Value* v) {
    if (seen.insert(v).second) open.push_back(v);
  };
  const auto use = [&](const Use& u) {
    if (!u.node) {
      const Node* group = u.region->owner();
      if (group && group->is<Fused>()) follow(group->output(u.index));
      return;
    }
    const Node& n = *u.node;
    visit(n, u.index);
    if (const auto& rules = n.op().info().region_rules) {
      for (const auto& region : n.regions())
        for (const auto& p : region->parameters())
          if (rules->input_of(n.op().self(), p->index()) == u.index) follow(p.get());
    } else if (n.inputs().size() == 1 && n.num_outputs() == 1) {
      follow(n.output());
    }
  };
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    for (const Use& u : v->uses()) use(u);
  }
}

// What must hold for the run to go on, or for a loop to take a step, without which its body shows nothing.
bool should_hold(const Value& condition) {
  bool found = false;
  for_each_use(condition, [&](const Node& n, std::size_t operand) {
    found = found || n.is<Check>() || (n.is<Loop>() && operand == 0);
  });
  return found;
}

// What the uses of an input say of its integers.
class Limits {
 public:
  explicit Limits(const Bindings& bindings) : bindings_(bindings) {}

  void take(const Node& n, std::size_t operand) {
    const auto axis_size = [&](std::int64_t axis) {
      return bound_size(n.input()->shape().at(static_cast<std::size_t>(axis)), bindings_);
    };
    const auto below = [&](std::optional<std::int64_t> size) {
      if (size) at_most(std::max<std::int64_t>(*size, 1) - 1);
    };
    if (const auto* op = n.as<IndexSelect>(); op && operand == 1) return below(axis_size(op->axis));
    if (const auto* op = n.as<Gather>(); op && operand == 1) return below(axis_size(op->axis));
    is_size_ = is_size_ || n.op().info().gives_size;
    if (!compares(n)) return;
    const Value* other = n.input(1 - operand);
    const auto places = n.is<Equal>() ? std::nullopt : counted_places(other, bindings_);
    if (places)
      at_most(*places);
    else if (const auto number = known_number(other, bindings_); number && should_hold(*n.output()))
      compared(n, operand == 0, *number);
  }

  IntegerRange range() const {
    const std::int64_t low = min_.value_or(is_size_ ? 1 : 0);
    const std::int64_t high = max_.value_or(min_ ? low + samples_above : 1);
    return {min_ ? low : std::min(low, high), std::max(low, high)};
  }

 private:
  void at_most(std::int64_t number) { max_ = std::min(max_.value_or(highest), number); }
  void at_least(std::int64_t number) { min_ = std::max(min_.value_or(-highest), number); }

  // value OP number, or number OP value.
  void compared(const Node& n, bool is_first, std::int64_t number) {
    const bool strict = n.is<Less>() || n.is<Greater>();
    const bool value_is_less = (n.is<Less>() || n.is<LessEqual>()) == is_first;
    if (n.is<Equal>() || value_is_less) at_most(number - strict);
    if (n.is<Equal>() || !value_is_less) at_least(number + strict);
  }

  const Bindings& bindings_;
  std::optional<std::int64_t> min_, max_;
  bool is_size_ = false;
};

// A float takes any number, rounded; an integer takes what it can hold; a bool takes true, false, 0 and 1.
Tensor as_number(const Tensor& number, const Value& input) {
  if (is_string(input.dtype()) || input.rank() > 0)
    throw error("input {} is given a number, and the model takes {}", input.name(), input.type().str())
        .hint("give an array: " + hint::file(input.name()));
  if (const auto held = number_as(number, input.dtype())) return *held;
  throw error("input {} is {}, which {} cannot hold", input.name(), number.get_double(), name(input.dtype()));
}

// A .npy file does not say which float8 its bytes are (ir/npy.h): they are the input's.
Tensor as_array(const Tensor& array, const Value& input) {
  if (!is_float8(array.dtype()) || !is_float8(input.dtype())) return array;
  return Tensor::view_of(array.storage(), input.dtype(), array.shape(), array.strides(), array.offset());
}

void bind_sizes(const Shape& shape, const Tensor& value, Bindings& bindings) {
  for (std::size_t i = 0; i < shape.size() && i < value.rank(); ++i)
    if (const auto symbols = shape[i].symbols(); symbols.size() == 1 && shape[i] == Dim::symbol(symbols[0]))
      bindings.emplace(symbols[0], value.shape()[i]);
}

}  // namespace

IntegerRange integer_range(const Value& input, const Bindings& bindings) {
  Limits limits(bindings);
  for_each_use(input, [&](const Node& n, std::size_t operand) { limits.take(n, operand); });
  return limits.range();
}

Tensor random_tensor(DType dtype, const Index& sizes, IntegerRange range, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (is_string(dtype)) {
    std::vector<std::string> words(static_cast<std::size_t>(numel(sizes)));
    for (std::string& word : words) word = sample_words[random() % sample_words.size()];
    return string_tensor(sizes, words);
  }
  const bool is_integer = !is_float(dtype) && !is_complex(dtype);
  Tensor t = Tensor::empty(is_integer ? DType::i64 : is_complex(dtype) ? DType::c64 : DType::f32, sizes);
  if (!is_integer) {
    const std::int64_t floats = is_complex(dtype) ? 2 * t.numel() : t.numel();
    std::normal_distribution<float> normal;
    std::generate_n(t.mutable_data<float>(), floats, [&] { return normal(random); });
  } else {
    if (is_bool(dtype)) range = {};
    std::uniform_int_distribution<std::int64_t> uniform(range.min, range.max);
    std::generate_n(t.mutable_data<std::int64_t>(), t.numel(), [&] { return uniform(random); });
  }
  return t.to(dtype);
}

std::vector<Tensor> input_values(const Graph& graph, std::vector<GivenInput> given, std::uint64_t seed,
                                 const Bindings& sizes, std::vector<std::string>* random) {
  const auto& parameters = graph.body().parameters();
  std::vector<Tensor> values(parameters.size());
  std::string known;
  for (const auto& p : parameters) known += (known.empty() ? "" : ", ") + p->name();
  const auto place = [&](std::size_t i, GivenInput& g) {
    if (values[i].defined()) throw error("input {} is given twice", parameters[i]->name());
    values[i] = g.is_number ? as_number(g.value, *parameters[i]) : as_array(g.value, *parameters[i]);
    if (g.is_random && random) random->push_back(parameters[i]->name());
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
      throw error("{} given, the model takes {}", counted(given.size(), "input is", "inputs are"),
                  values.size())
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
    if (random && !is_state(graph, p)) random->push_back(p.name());
    values[i] = is_state(graph, p) ? Tensor::zeros(p.dtype(), shape)
                                   : random_tensor(p.dtype(), shape, integer_range(p, bindings), seed + i);
  }
  return values;
}

}  // namespace tenon
