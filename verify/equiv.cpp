#include "verify/equiv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/logic.h"
#include "ir/print.h"
#include "runtime/compare.h"

namespace tenon {
namespace {

struct Port {
  std::string name;
  Type type;
};

std::vector<Port> inputs_of(const Graph& graph) {
  std::vector<Port> ports;
  for (const auto& p : graph.body().parameters()) ports.push_back({p->name(), p->type()});
  return ports;
}

std::vector<Port> outputs_of(const Graph& graph) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    ports.push_back({output_name(graph, i), graph.body().results()[i]->type()});
  return ports;
}

std::string text(const std::vector<Port>& ports) {
  std::string out;
  for (const Port& p : ports) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", p.name, p.type.str());
  return out;
}

// A symbol may take the size that the other model fixed.
bool fits(const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.rank() == b.rank() &&
         std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(),
                    [](const Dim& x, const Dim& y) { return !x.is_known() || !y.is_known() || x == y; });
}

std::vector<std::size_t> match(const std::vector<Port>& a, const std::vector<Port>& b, const char* what) {
  const auto place = [&](const Port& port) {
    return static_cast<std::size_t>(
        std::find_if(a.begin(), a.end(), [&](const Port& p) { return p.name == port.name; }) - a.begin());
  };
  std::vector<std::size_t> from(b.size());
  std::iota(from.begin(), from.end(), 0);
  if (std::all_of(b.begin(), b.end(), [&](const Port& p) { return place(p) < a.size(); }))
    std::transform(b.begin(), b.end(), from.begin(), place);
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < b.size(); ++i) same = fits(a[from[i]].type, b[i].type);
  if (!same) throw error("the models have other {}: {}; and {}", what, text(a), text(b));
  return from;
}

bool same_content(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.bytes() == y.bytes() ||
         std::memcmp(x.bytes(), y.bytes(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

// Whether the value is T(p, number).
template <class T>
bool is_with_number(const Value* v, const Value* p, double number) {
  const Node* n = v->node();
  return n && n->is<T>() && n->input(0) == p && n->input(1)->kind() == Value::Kind::literal &&
         n->input(1)->tensor().get_double() == number;
}

// p, when the value is where(p < 0, p + size, p): indices of an axis, as ONNX and NumPy count them.
const Value* counted_from_the_end(const Value* v, std::int64_t size) {
  const Node* where = v->node();
  if (!where || !where->is<Where>() || !is_integral(v->dtype())) return nullptr;
  const Value* p = where->input(2);
  const bool is_so = is_with_number<Less>(where->input(0), p, 0) &&
                     is_with_number<Add>(where->input(1), p, static_cast<double>(size));
  return is_so ? p : nullptr;
}

// The indices before such a step, which may be fused by now; else null.
const Value* indices_before(const Value* v, std::int64_t size) {
  const Node* n = v->node();
  if (!n || !n->is<Fused>()) return counted_from_the_end(v, size);
  const Value* p = counted_from_the_end(n->region().results()[v->index()], size);
  const auto& parameters = n->region().parameters();
  for (std::size_t i = 0; p && i < parameters.size(); ++i)
    if (parameters[i].get() == p) return n->input(i);
  return nullptr;
}

// The size of the axis that a node takes elements from by these indices; nullopt where it does no such thing.
std::optional<std::int64_t> indexed_axis(const Node* user, const Value* indices) {
  if (!user) return std::nullopt;
  if (user->is<Fused>()) {
    for (std::size_t i = 0; i < user->inputs().size(); ++i)
      if (user->input(i) == indices)
        for (const Use& inside : user->region().parameter(i)->uses())
          if (const auto axis = indexed_axis(inside.node, user->region().parameter(i))) return axis;
    return std::nullopt;
  }
  const auto* select = user->as<IndexSelect>();
  const auto* gather = user->as<Gather>();
  if ((!select && !gather) || user->input(1) != indices) return std::nullopt;
  const Dim& size = user->input(0)->shape()[static_cast<std::size_t>(select ? select->axis : gather->axis)];
  return size.is_known() ? std::optional(size.value()) : std::nullopt;
}

// Whether the nodes are sums at indices that count from the end in one of them only.
bool one_counts_from_the_end(const Node& a, const Node& b) {
  const auto *x = a.as<IndexAdd>(), *y = b.as<IndexAdd>();
  return x && y && x->axis == y->axis && x->from_end != y->from_end;
}

// Each element within some units in the last place, of itself or of an ordinary element: what another order
// of roundings leaves.
bool differs_in_last_bits(const Tensor& a, const Tensor& b) {
  constexpr double units = 8 * 0x1p-23;
  std::vector<double> x, y, sizes;
  for_each_index(a.shape(), [&](std::span<const std::int64_t> i) {
    x.push_back(a.get_double(i));
    y.push_back(b.get_double(i));
    sizes.push_back(std::abs(y.back()));
  });
  if (x.empty()) return true;
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
  const double ordinary = sizes[sizes.size() / 2];
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::abs(x[i] - y[i]) <= units * std::max(std::abs(y[i]), ordinary))) return false;
  return true;
}

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : graph_a_(a), graph_b_(b) {}

  void pair(const Value* a, const Value* b) { twins_[a] = b; }

  // Operands before the node: what is reported lies nearest to the inputs. The nodes on the way lie on a
  // stack of its own: a chain may be as long as it likes.
  bool same(const Value* a, const Value* b, const Node* user_a, const Node* user_b) {
    std::vector<Pair> open;
    if (!visit(a, b, user_a, user_b, open)) return false;
    while (!open.empty()) {
      const Pair pair = open.back();
      if (pair.next < pair.a->inputs().size()) {
        ++open.back().next;
        if (!visit(pair.a->input(pair.next), pair.b->input(pair.next), pair.a, pair.b, open)) return false;
      } else {
        open.pop_back();
        if (!same_after_operands(*pair.a, *pair.b)) return false;
      }
    }
    return true;
  }

  bool same(const Region& a, const Region& b, const Node* owner_a, const Node* owner_b) {
    if (a.results().size() != b.results().size() || a.parameters().size() != b.parameters().size())
      return differ("the operands differ", owner_a, owner_b);
    for (std::size_t i = 0; i < a.results().size(); ++i)
      if (!same(a.results()[i], b.results()[i], owner_a, owner_b)) return false;
    return true;
  }

  GraphComparison found;

 private:
  bool alike(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    if (same_content(a, b)) return true;
    if (!is_float(a.dtype())) return false;
    if (!differs_in_last_bits(a, b)) return false;
    ++found.near_weights;
    found.last_bits = std::max(found.last_bits, tenon::compare(a, b).relative());
    return true;
  }

  // Two nodes whose operands are compared, from `next` on.
  struct Pair {
    const Node *a, *b;
    std::size_t next = 0;
  };

  // Compares two values; nodes whose operands come first go onto the stack.
  bool visit(const Value* a, const Value* b, const Node* user_a, const Node* user_b,
             std::vector<Pair>& open) {
    if (const auto known = twins_.find(a); known != twins_.end() && known->second == b) return true;
    if (const auto axis = indexed_axis(user_b, b)) {
      const Value *before_a = indices_before(a, *axis), *before_b = indices_before(b, *axis);
      if (!before_a != !before_b) {
        if (counted_.insert(before_a ? a : b).second) ++found.from_the_end;
        return visit(before_a ? before_a : a, before_b ? before_b : b, user_a, user_b, open);
      }
    }
    if (a->kind() == Value::Kind::result && b->kind() == Value::Kind::result) {
      if (a->index() != b->index())
        return differ("another result of the operator is used", a->node(), b->node());
      return same_before_operands(*a->node(), *b->node(), open);
    }
    if (a->is_constant() && b->is_constant()) {
      if (alike(a->tensor(), b->tensor())) return pair(a, b), true;
      return differ(constants(*a, *b), user_a, user_b);
    }
    return differ("the operands differ", user_a, user_b);
  }

  bool same_before_operands(const Node& a, const Node& b, std::vector<Pair>& open) {
    if (const auto known = nodes_.find(&a); known != nodes_.end())
      return known->second == &b || differ("one value is used where the other has two", &a, &b);
    nodes_[&a] = &b;
    if (a.inputs().size() != b.inputs().size() || a.num_outputs() != b.num_outputs())
      return differ(operators(a, b), &a, &b);
    open.push_back({&a, &b});
    return true;
  }

  bool same_after_operands(const Node& a, const Node& b) {
    if (one_counts_from_the_end(a, b))
      ++found.from_the_end;
    else if (!(a.op() == b.op()) || a.regions().size() != b.regions().size())
      return differ(operators(a, b), &a, &b);
    for (std::size_t r = 0; r < a.regions().size(); ++r) {
      const auto &x = a.region(r).parameters(), &y = b.region(r).parameters();
      for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) pair(x[i].get(), y[i].get());
      if (!same(a.region(r), b.region(r), &a, &b)) return false;
    }
    for (std::size_t i = 0; i < a.num_outputs(); ++i)
      if (a.output(i)->type() != b.output(i)->type()) return differ("the types differ", &a, &b);
    return true;
  }

  static std::string operators(const Node& a, const Node& b) {
    return a.op().name() == b.op().name() ? "the attributes or operands differ" : "the operators differ";
  }

  static std::string constants(const Value& a, const Value& b) {
    if (a.kind() == Value::Kind::literal || b.kind() == Value::Kind::literal) return "the constants differ";
    return fmt::format("the weights @{} and @{} differ", a.name(), b.name());
  }

  bool differ(std::string why, const Node* a, const Node* b) {
    if (found.difference) return false;
    GraphDifference& first = found.difference.emplace(GraphDifference{.why = std::move(why)});
    // Nodes inside a fused one are printed as part of it.
    const auto outer = [](const Node* n) {
      while (n && n->parent().owner()) n = n->parent().owner();
      return n;
    };
    if ((a = outer(a))) {
      first.a = print(graph_a_, *a, {.sources = false});
      first.location_a = a->source.str();
    }
    if ((b = outer(b))) {
      first.b = print(graph_b_, *b, {.sources = false});
      first.location_b = b->source.str();
    }
    return false;
  }

  const Graph &graph_a_, &graph_b_;
  std::unordered_map<const Value*, const Value*> twins_;
  std::unordered_map<const Node*, const Node*> nodes_;
  std::unordered_set<const Value*> counted_;  // those from the end
};

}  // namespace

std::vector<std::size_t> match_inputs(const Graph& a, const Graph& b) {
  return match(inputs_of(a), inputs_of(b), "inputs");
}

std::vector<std::size_t> match_outputs(const Graph& a, const Graph& b) {
  return match(outputs_of(a), outputs_of(b), "outputs");
}

std::string GraphComparison::but_for() const {
  std::string text;
  if (near_weights > 0)
    text = fmt::format("weights or numbers in their last bits ({}, at most {:.1e})", near_weights, last_bits);
  if (from_the_end > 0)
    text += fmt::format("{}negative indices that count from the end ({})", text.empty() ? "" : "; ",
                        from_the_end);
  return text;
}

GraphComparison compare_graphs(const Graph& a, const Graph& b, const std::vector<std::size_t>& inputs,
                               const std::vector<std::size_t>& outputs) {
  Comparison comparison(a, b);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    comparison.pair(a.body().parameter(inputs[i]), b.body().parameter(i));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!comparison.same(a.body().results()[outputs[i]], b.body().results()[i], nullptr, nullptr)) break;
  return comparison.found;
}

}  // namespace tenon
