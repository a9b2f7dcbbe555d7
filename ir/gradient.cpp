// Reverse-mode differentiation over the values that the results depend on.
#include "ir/gradient.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/clone.h"
#include "ir/ops/functions.h"

namespace tenon {
namespace {

std::vector<Ref> of_node(const Op& op, std::span<const Ref> in, std::span<const Ref> out,
                         std::span<const Ref> grads);

// Walks from the results back to the values of interest. With `stop` those are treated as independent of each
// other, which makes the result partial derivatives.
class Backward {
 public:
  Backward(std::span<const Ref> wrt, bool stop, const InsertionPoint& point)
      : insertion_point_(&point), stop_(stop) {
    for (const Ref& r : wrt) wanted_.insert(r.value());
  }

  void seed(const Ref& result, const Ref& grad) {
    visit(result.value());
    if (depends_[result.value()]) add(result.value(), grad);
  }

  void run() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) step(**it);
  }

  Ref of(const Value* v) const {
    const auto it = grads_.find(v);
    return it == grads_.end() ? Ref() : it->second;
  }

 private:
  // What is known of a value without its node; nullopt: what is known of its node's inputs.
  std::optional<bool> known(const Value* v) const {
    if (const auto it = depends_.find(v); it != depends_.end()) return it->second;
    const bool wanted = wanted_.contains(v);
    if (!is_float(v->dtype()) || !v->node() || (wanted && stop_)) return wanted && is_float(v->dtype());
    return std::nullopt;
  }

  // Finds which values depend on wanted ones, and lists their nodes, each after its producers.
  void visit(Value* result) {
    std::vector<Value*> open = {result};
    while (!open.empty()) {
      Value* v = open.back();
      if (const auto k = known(v)) {
        depends_[v] = *k;
        open.pop_back();
        continue;
      }
      Node* node = v->node();
      if (!visited_.contains(node) && !expand(node, open)) continue;
      depends_[v] = visited_.at(node) || wanted_.contains(v);
      open.pop_back();
    }
  }

  // True when all inputs of the node are known; the others are to be visited first.
  bool expand(Node* node, std::vector<Value*>& open) {
    const std::size_t before = open.size();
    bool depends = false;
    for (Value* v : node->inputs()) {
      const auto k = known(v);
      if (!k) open.push_back(v);
      if (k) depends_[v] = *k;
      depends = depends || k.value_or(false);
    }
    if (open.size() > before) return false;
    if (depends) order_.push_back(node);
    visited_[node] = depends;
    return true;
  }

  void add(const Value* v, const Ref& grad) {
    const auto [it, is_new] = grads_.emplace(v, grad);
    if (!is_new) it->second = it->second + grad;
  }

  void step(const Node& node) {
    std::vector<Ref> in, out, grads;
    bool any = false;
    for (Value* v : node.inputs()) in.emplace_back(v, *insertion_point_);
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      out.emplace_back(node.output(i), *insertion_point_);
      grads.push_back(of(node.output(i)));
      any = any || grads.back();
    }
    if (!any) return;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!grads[i] && is_float(out[i].dtype())) grads[i] = zeros_like(out[i]);
    std::vector<Ref> results;
    try {
      results = of_node(node.op(), in, out, grads);
    } catch (Error& e) {
      if (e.where().empty()) e.at(node.source.str());
      throw;
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] && depends_[node.input(i)]) add(node.input(i), results[i]);
  }

  const InsertionPoint* insertion_point_;
  bool stop_;
  std::unordered_set<const Value*> wanted_;
  std::unordered_map<const Value*, bool> depends_;
  std::unordered_map<const Node*, bool> visited_;
  std::vector<Node*> order_;
  std::unordered_map<const Value*, Ref> grads_;
};

std::vector<Ref> backward(std::span<const Ref> results, std::span<const Ref> seeds, std::span<const Ref> wrt,
                          bool stop) {
  TENON_CHECK(results.size() == seeds.size());
  if (results.empty()) return std::vector<Ref>(wrt.size());
  Backward walk(wrt, stop, seeds[0].insertion_point());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (seeds[i]) walk.seed(results[i], seeds[i]);
  walk.run();
  std::vector<Ref> grads;
  for (const Ref& r : wrt) grads.push_back(walk.of(r.value()));
  return grads;
}

std::vector<Ref> of_pointwise(const Op& op, std::span<const Ref> in, const Ref& grad) {
  const Expr e = expr_of(op);
  std::vector<Ref> operands(in.begin(), in.end());
  operands.push_back(grad);
  const Expr upstream = Expr::input(static_cast<int>(in.size()));
  std::vector<Ref> grads(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!is_float(in[i].dtype())) continue;
    const Expr d = derivative(e, static_cast<int>(i));
    if (d.is_constant(0)) continue;
    const Ref g = emit(d.is_constant(1) ? upstream : upstream * d, operands);
    grads[i] = cast(in[i].dtype(), sum_to(g, in[i].shape()));
  }
  return grads;
}

std::vector<Ref> of_node(const Op& op, std::span<const Ref> in, std::span<const Ref> out,
                         std::span<const Ref> grads) {
  const OpInfo& info = op.info();
  if (info.gradient) return info.gradient(op.self(), in, out, grads);
  if (info.op_kind == OpKind::pointwise) return of_pointwise(op, in, grads[0]);
  if (info.op_kind == OpKind::composite) return backward(info.decompose(op.self(), in), grads, in, true);
  throw unsupported("{} has no gradient", op.name());
}

}  // namespace

std::vector<Ref> gradient(std::span<const Ref> results, std::span<const Ref> seeds,
                          std::span<const Ref> wrt) {
  return backward(results, seeds, wrt, false);
}

std::unique_ptr<Graph> gradient_graph(const Graph& graph) {
  auto copy = clone(graph);
  Region& body = copy->body();
  const InsertionPoint point{&body};
  std::vector<Ref> results, seeds, wrt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < body.results().size(); ++i) {
    const Ref result(body.results()[i], point);
    names.push_back(output_name(graph, i));
    if (!is_float(result.dtype())) continue;
    results.push_back(result);
    seeds.push_back(full(result.shape(), 1, result.dtype(), point));
  }
  for (const auto& p : body.parameters())
    if (is_float(p->dtype())) wrt.emplace_back(p.get(), point);
  const std::vector<Ref> grads = gradient(results, seeds, wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    body.add_result((grads[i] ? grads[i] : zeros_like(wrt[i])).value());
    names.push_back("d_" + wrt[i].value()->name());
  }
  copy->output_names = std::move(names);
  return copy;
}

}  // namespace tenon
