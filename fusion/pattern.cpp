#include "fusion/pattern.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/literal.h"

namespace tenon {

class Matcher {
 public:
  std::optional<Match> run(const Pattern& pattern, Node& root) {
    if (root.num_outputs() != 1 || !value(pattern, root.output(), [] { return true; })) return std::nullopt;
    for (std::size_t i = 1; i < match_.nodes_.size(); ++i)
      for (const Use& u : match_.nodes_[i]->output()->uses())
        if (std::find(match_.nodes_.begin(), match_.nodes_.end(), u.node) == match_.nodes_.end())
          return std::nullopt;
    return std::move(match_);
  }

 private:
  using Rest = std::function<bool()>;

  // Matches v and then the rest; undoes its bindings when that fails, so that another order can be tried.
  bool value(const Pattern& p, Value* v, const Rest& rest) {
    const Pattern::Node& n = p.node();
    switch (n.kind) {
      case Pattern::Kind::literal: return is_literal(v, n.literal) && rest();
      case Pattern::Kind::number:
        if (!is_number(v)) return false;
        [[fallthrough]];
      case Pattern::Kind::any: return bind(n.name, v, rest);
      case Pattern::Kind::op: return operation(n, v, rest);
    }
    return false;
  }

  bool bind(const std::string& name, Value* v, const Rest& rest) {
    const auto [it, fresh] = match_.values_.try_emplace(name, v);
    if (!fresh) return it->second == v && rest();
    if (rest()) return true;
    match_.values_.erase(name);
    return false;
  }

  bool operation(const Pattern::Node& n, Value* v, const Rest& rest) {
    Node* node = v->node();
    if (!node || &node->op().info() != n.op || node->inputs().size() != n.args.size()) return false;
    const std::size_t mark = match_.nodes_.size();
    if (std::find(match_.nodes_.begin(), match_.nodes_.end(), node) == match_.nodes_.end())
      match_.nodes_.push_back(node);
    if (arguments(n, *node, false, 0, rest)) return true;
    const bool commutes = n.op == &op_info<Add>() || n.op == &op_info<Mul>();
    if (commutes && arguments(n, *node, true, 0, rest)) return true;
    match_.nodes_.resize(mark);
    return false;
  }

  bool arguments(const Pattern::Node& n, Node& node, bool swapped, std::size_t i, const Rest& rest) {
    if (i == n.args.size()) return rest();
    Value* v = node.input(swapped ? n.args.size() - 1 - i : i);
    return value(n.args[i], v, [&] { return arguments(n, node, swapped, i + 1, rest); });
  }

  static bool is_number(const Value* v) {
    return v->kind() == Value::Kind::literal && !is_string(v->dtype());
  }

  static bool is_literal(const Value* v, double wanted) {
    if (!is_number(v)) return false;
    const double is = v->tensor().get_double();
    return is == wanted || (std::isfinite(wanted) && std::abs(is - wanted) <= 1e-6 * std::abs(wanted));
  }

  Match match_;
};

double Match::number(const std::string& hole) const {
  const Tensor& t = values_.at(hole)->tensor();
  return t.dtype() == DType::f32 ? shortest(static_cast<float>(t.get_double())) : t.get_double();
}

Node* Match::find(const OpInfo& info, std::size_t index) const {
  for (Node* n : nodes_)
    if (&n->op().info() == &info && index-- == 0) return n;
  return nullptr;
}

Source Match::source() const {
  Source s;
  for (auto n = nodes_.rbegin(); n != nodes_.rend(); ++n) s.merge((*n)->source);
  s.file = root()->source.file;
  s.line = root()->source.line;
  return s;
}

std::optional<Match> match(const Pattern& pattern, Node& root) { return Matcher().run(pattern, root); }

}  // namespace tenon
