#include "ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/data_size.h"
#include "ir/ops/control.h"
#include "ir/print.h"

namespace tenon {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {
    for (const auto& w : graph.weights()) visible_.insert(w.get());
  }

  void run() {
    region(graph_.body());
    const std::size_t results = graph_.body().results().size();
    if (!graph_.output_names.empty() && graph_.output_names.size() != results)
      fail(nullptr, fmt::format("{} output names for {} results", graph_.output_names.size(), results));
  }

 private:
  [[noreturn]] void fail(const Node* node, const std::string& what) const {
    throw InternalError(node ? fmt::format("broken graph at {}: {}", node->op().name(), what)
                             : fmt::format("broken graph: {}", what));
  }

  void region(const Region& r) {
    std::vector<const Value*> own;
    const auto define = [&](const Value* v) {
      own.push_back(v);
      visible_.insert(v);
    };
    for (const auto& p : r.parameters()) define(p.get());
    for (const auto& n : r.nodes()) {
      node(*n, r);
      for (std::size_t i = 0; i < n->num_outputs(); ++i) define(n->output(i));
    }
    for (std::size_t i = 0; i < r.results().size(); ++i)
      use(r.results()[i], Use{nullptr, const_cast<Region*>(&r), i});
    for (const Value* v : own) visible_.erase(v);
  }

  // Uses mostly stand in the order of their nodes: each is looked for where the last one of the value was
  // found.
  bool knows(const Value* v, const Use& use) {
    const auto& uses = v->uses();
    std::size_t& next = next_use_[v];
    if (next >= uses.size() || uses[next] != use)
      next = static_cast<std::size_t>(std::find(uses.begin(), uses.end(), use) - uses.begin());
    return next++ < uses.size();
  }

  void use(const Value* v, const Use& use) {
    if (v->kind() != Value::Kind::literal && !visible_.contains(v))
      fail(use.node, fmt::format("operand {} is not defined above its use in this region", use.index));
    if (!knows(v, use)) fail(use.node, fmt::format("operand {} does not know of this use", use.index));
  }

  void node(const Node& n, const Region& r) {
    if (&n.parent() != &r) fail(&n, "the node stands in another region than it says");
    for (std::size_t i = 0; i < n.inputs().size(); ++i)
      use(n.input(i), Use{const_cast<Node*>(&n), nullptr, i});
    if (n.regions().size() != static_cast<std::size_t>(n.op().info().regions))
      fail(&n, "wrong number of regions");
    // Regions see the weights and their own values only.
    std::unordered_set<const Value*> outside;
    if (!n.regions().empty()) {
      outside.swap(visible_);
      for (const auto& w : graph_.weights()) visible_.insert(w.get());
    }
    for (const GivenSize& s : sizes_of_parameters(n)) given_.insert(s.symbol);
    for (const auto& inner : n.regions()) region(*inner);
    if (!n.regions().empty()) visible_.swap(outside);
    types(n);
    sizes(n);
    if (n.is<Fused>()) fused(n);
    if (n.is<Loop>()) loop(n);
  }

  void fused(const Node& n) const {
    if (n.region().nodes().empty()) fail(&n, "an empty body");
    for (const Value* result : n.region().results())
      if (!result->node()) fail(&n, "a result of the body is computed by none of its nodes");
  }

  void loop(const Node& n) const {
    bool stacks = false;  // as many as its limit says
    for (auto i = static_cast<std::size_t>(n.as<Loop>()->carried); i < n.num_outputs(); ++i)
      stacks = stacks || !n.as<Loop>()->given().find(i, 0);
    if (stacks && !runs_to_its_limit(n)) fail(&n, "slices are stacked, but the loop may stop early");
  }

  void types(const Node& n) const {
    std::vector<Type> inferred;
    try {
      inferred = n.infer();
    } catch (const Error& e) { fail(&n, e.message()); }
    if (inferred.size() != n.num_outputs()) fail(&n, "wrong number of outputs");
    for (std::size_t i = 0; i < inferred.size(); ++i)
      if (inferred[i] != n.output(i)->type())
        fail(&n, fmt::format("output {} is {}, inference gives {}", i, n.output(i)->type().str(),
                             inferred[i].str()));
  }

  // Sizes are given once, before they are needed.
  void sizes(const Node& n) {
    std::set<std::string> needed;
    needed_sizes(n, needed);
    for (const std::string& size : needed)
      if (!given_.contains(size)) fail(&n, fmt::format("no node above gives the size {}", size));
    std::set<std::string> own;
    for (const GivenSize& s : given_sizes(n)) own.insert(s.symbol);
    for (const std::string& size : own)
      if (!given_.insert(size).second) fail(&n, fmt::format("the size {} is given twice", size));
  }

  const Graph& graph_;
  std::unordered_set<const Value*> visible_;
  std::unordered_map<const Value*, std::size_t> next_use_;
  std::set<std::string> given_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace tenon
