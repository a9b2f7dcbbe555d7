// Binding symbols: stand-alone symbols first, then expressions, then the checks.
#include "ir/bind.h"

#include <algorithm>

#include "base/count.h"
#include "base/error.h"
#include "base/utf8.h"
#include "ir/hint.h"

namespace tenon {
namespace {

std::vector<std::string> unbound(const Dim& dim, const Bindings& bindings) {
  std::vector<std::string> names = dim.symbols();
  std::erase_if(names, [&](const std::string& name) { return bindings.contains(name); });
  return names;
}

// The value of the one unbound symbol that makes the dim equal to size, where the dim is linear in it.
std::optional<std::int64_t> solve(const Dim& dim, const std::string& symbol, std::int64_t size,
                                  Bindings bindings) {
  const auto at = [&](std::int64_t value) {
    bindings[symbol] = value;
    return dim.eval(bindings);
  };
  const std::int64_t slope = at(2) - at(1);
  if (slope == 0) return std::nullopt;
  const std::int64_t value = 1 + (size - at(1)) / slope;
  return at(value) == size ? std::optional(value) : std::nullopt;
}

class Binder {
 public:
  Binder(const Graph& graph, std::span<const Index> shapes) : graph_(graph), shapes_(shapes) {}

  Bindings run() {
    check_ranks();
    // Symbols that stand alone first: expressions may hold them.
    each_dim([&](std::size_t, std::size_t, const Dim& dim, std::int64_t size) {
      const auto symbols = dim.symbols();
      if (symbols.size() == 1 && dim == Dim::symbol(symbols[0])) bindings_.emplace(symbols[0], size);
    });
    each_dim([&](std::size_t, std::size_t, const Dim& dim, std::int64_t size) {
      const auto symbols = unbound(dim, bindings_);
      if (symbols.size() != 1) return;
      if (const auto value = solve(dim, symbols[0], size, bindings_)) bindings_.emplace(symbols[0], *value);
    });
    each_dim([&](std::size_t i, std::size_t axis, const Dim& dim, std::int64_t size) {
      check(i, axis, dim, size);
    });
    check_bounds();
    return std::move(bindings_);
  }

 private:
  const Value& parameter(std::size_t i) const { return *graph_.body().parameter(i); }

  template <class F>
  void each_dim(F&& f) const {
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      for (std::size_t axis = 0; axis < shapes_[i].size(); ++axis)
        f(i, axis, parameter(i).shape()[axis], shapes_[i][axis]);
  }

  Error mismatch(std::size_t i, const std::string& what) const {
    const std::string& name = parameter(i).name();
    return error("input {} has shape {}, the graph expects {}: {}", name.empty() ? std::to_string(i) : name,
                 str(to_shape(shapes_[i])), str(parameter(i).shape()), what);
  }

  std::string turned(std::size_t i) const {
    const Type& wanted = parameter(i).type();
    return hint::array({wanted.dtype, to_shape(shapes_[i])}, wanted);
  }

  // What lets a size vary that the conversion fixed.
  std::string varying(std::size_t i, std::size_t axis) const {
    return "if it may vary, convert the model with a name for it: " + hint::varying(parameter(i), axis);
  }

  void check_ranks() const {
    const std::size_t expected = graph_.body().parameters().size();
    if (shapes_.size() != expected)
      throw error("{} given, the graph has {}", counted(shapes_.size(), "input is", "inputs are"), expected);
    for (std::size_t i = 0; i < expected; ++i)
      if (shapes_[i].size() != parameter(i).rank())
        throw mismatch(i, fmt::format("its rank is {}, not {}", shapes_[i].size(), parameter(i).rank()))
            .hint(turned(i));
  }

  void check(std::size_t i, std::size_t axis, const Dim& dim, std::int64_t size) const {
    const auto missing = unbound(dim, bindings_);
    if (!missing.empty())
      throw mismatch(i, fmt::format("dim {} is {}, which gives no {}", axis, size, missing[0]));
    const std::int64_t expected = dim.eval(bindings_);
    if (expected == size) return;
    std::string reason;
    for (const std::string& symbol : dim.symbols())
      reason += fmt::format(" ({} is {})", symbol, bindings_.find(symbol)->second);
    Error e = mismatch(i, fmt::format("dim {} is {}, not {}{}", axis, size, expected, reason));
    if (const std::string axes = turned(i); !axes.empty()) throw e.hint(axes);
    throw dim.is_known() ? e.hint(varying(i, axis)) : e;
  }

  void check_bounds() const {
    for (const auto& [name, info] : graph_.symbols) {
      const auto bound = bindings_.find(name);
      if (bound == bindings_.end() || (bound->second >= info.min && bound->second <= info.max)) continue;
      throw error("{}{} is {}, the graph allows {}", name,
                  info.note.empty() ? "" : " (" + printable(info.note) + ")", bound->second,
                  hint::range(info))
          .hint(outside(name, info, bound->second));
    }
  }

  static std::string outside(const std::string& name, const SymbolInfo& info, std::int64_t size) {
    const std::string within = hint::shape({{name, std::clamp(size, info.min, info.max)}});
    if (size != 0 || info.min != 1) return within;
    return fmt::format("{}, or convert the source for empty inputs too: {}", within,
                       hint::shape({{name, 0}}));
  }

  const Graph& graph_;
  std::span<const Index> shapes_;
  Bindings bindings_;
};

// Replaces symbolic sizes; true when there was one.
bool evaluate_in_place(Attr& attr, const Bindings& bindings) {
  if (const Dim* dim = attr.get<Dim>()) {
    attr = Attr{bind(*dim, bindings)};
    return true;
  }
  auto* list = std::get_if<Attr::List>(&attr.value);
  bool changed = false;
  if (list)
    for (Attr& a : *list) changed = evaluate_in_place(a, bindings) || changed;
  return changed;
}

}  // namespace

Bindings bind_symbols(const Graph& graph, std::span<const Index> shapes) {
  return Binder(graph, shapes).run();
}

Bindings bind_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Index> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& parameters = graph.body().parameters();
    const std::string name = i < parameters.size() ? parameters[i]->name() : "";
    if (!inputs[i].defined()) throw error("input {} {} is missing", i, name);
    if (i < parameters.size() && inputs[i].dtype() != parameters[i]->dtype())
      throw error("input {} is {}, the graph expects {}", name.empty() ? std::to_string(i) : name,
                  inputs[i].type_string(), parameters[i]->type().str())
          .hint(hint::array({inputs[i].dtype(), to_shape(inputs[i].shape())}, parameters[i]->type()));
    shapes.push_back(inputs[i].shape());
  }
  return bind_symbols(graph, shapes);
}

Dim bind(const Dim& dim, const Bindings& bindings) {
  if (!has_data_size(dim)) return dim.eval(bindings);
  std::map<std::string, Dim, std::less<>> known;
  for (const std::string& symbol : dim.symbols())
    if (const auto at = bindings.find(symbol); at != bindings.end()) known.emplace(symbol, at->second);
  return dim.substitute(known);
}

Op bind(const Op& op, const Bindings& bindings) {
  std::vector<std::pair<std::string, Attr>> known;
  for (const FieldInfo& field : op.info().fields) {
    Attr attr = field.get(op.self());
    if (evaluate_in_place(attr, bindings)) known.emplace_back(field.name, std::move(attr));
  }
  return op.with(known);
}

}  // namespace tenon
