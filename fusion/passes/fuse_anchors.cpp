// An anchor takes the pointwise operators behind it: they run on each tile of its result while it is hot.
#include <algorithm>
#include <unordered_set>

#include "fusion/passes.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/linear.h"
#include "ir/ops/slices_by_index.h"
#include "ir/outline.h"

namespace tenon {
namespace {

constexpr std::size_t max_anchor_group = 64;

// A growing set of nodes, in graph order.
class Epilogue {
 public:
  explicit Epilogue(Node& anchor) : anchor_(anchor) {
    add(anchor);
    complete_ = members_;
  }

  /// Grows while a set with one live result can be reached; keeps the largest such set.
  void grow() {
    while (members_.size() < max_anchor_group) {
      Node* next = next_user();
      if (!next) break;
      if (!joins(*next)) {
        reason_ = reason_of(*next);
        break;
      }
      take_gather(*next);
      take_casts(*next);
      add(*next);
      if (live_results() == 1 && may_be_result(*next->output())) complete_ = members_;
    }
    if (reason_.empty() && complete_.size() < members_.size() && !may_be_result(*members_.back()->output()))
      reason_ = std::string(members_.back()->op().name()) + " changes the dtype";
  }

  const std::vector<Node*>& members() const { return complete_; }
  const std::string& reason() const { return reason_; }

 private:
  void add(Node& n) {
    members_.push_back(&n);
    inside_.insert(&n);
  }

  // The first node, in graph order, that uses a member's result and is no member.
  Node* next_user() const {
    std::unordered_set<const Node*> users;
    for (const Node* m : members_)
      for (const Use& u : m->output()->uses()) {
        if (!u.node) return nullptr;
        if (!inside_.contains(u.node)) users.insert(u.node);
      }
    for (Node* n = members_.back(); n && !users.empty(); n = n->parent().next(n))
      if (users.contains(n)) return n;
    return nullptr;
  }

  // Right behind a linear, rows that indices choose are added from where they lie: what chooses them becomes
  // a member.
  void take_gather(const Node& next) {
    const Value* result = anchor_.output();
    const bool is_first = members_.size() == 1 && next.is<Add>() && result->uses().size() == 1;
    if (!is_first || !anchor_.is<Linear>() || !anchor_.input(1)->is_constant() ||
        result->dtype() != DType::f32)
      return;
    const Value* rows = next.input(next.input(0) == result ? 1 : 0);
    Node* gather = rows->node();
    if (!gather || rows->uses().size() != 1 || rows->type() != result->type() || !chooses_rows(*gather))
      return;
    take_operand(*gather);
  }

  // Floats of another size that `next` reads are cast where they are read.
  void take_casts(const Node& next) {
    for (const Value* operand : next.inputs()) {
      Node* cast = operand->node();
      if (!cast || !cast->is<Cast>() || operand->uses().size() != 1 || inside_.contains(cast)) continue;
      if (is_float(cast->input()->dtype()) && operand->shape() == anchor_.output()->shape())
        take_operand(*cast);
    }
  }

  // A node that reads no member.
  void take_operand(Node& n) {
    members_.insert(is_before(n, anchor_) ? members_.begin() : members_.end(), &n);
    inside_.insert(&n);
  }

  static bool is_before(const Node& a, const Node& b) {
    const Node* n = &a;
    while (n && n != &b) n = n->parent().next(n);
    return n;
  }

  bool joins(const Node& n) const { return reason_of(n).empty(); }

  std::string reason_of(const Node& n) const {
    const std::string what(n.op().name());
    if (!n.op().is_pointwise()) return what + " is not pointwise";
    if (n.output()->shape() != anchor_.output()->shape()) return what + " changes the shape";
    return {};
  }

  // A number of the anchor's size; or float32, in which kernels hold what they sum up to 16 bits. Loops read
  // the 16 bits, which are half as many, and cast them at no cost.
  bool may_be_result(const Value& v) const {
    const DType sum = anchor_.output()->dtype();
    if (size_of(v.dtype()) == size_of(sum)) return true;
    return v.dtype() == DType::f32 && is_small_float(sum) && !is_read_by_loops(v);
  }
  static bool is_read_by_loops(const Value& v) {
    return std::any_of(v.uses().begin(), v.uses().end(), [](const Use& use) {
      return use.node && (use.node->op().is_pointwise() || use.node->op().info().row_axes);
    });
  }

  std::size_t live_results() const {
    return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), [&](const Node* m) {
      const auto& uses = m->output()->uses();
      return std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !inside_.contains(u.node); });
    }));
  }

  Node& anchor_;
  std::vector<Node*> members_, complete_;
  std::unordered_set<const Node*> inside_;
  std::string reason_;
};

void fuse_all_anchors(Rewriter& rewriter) {
  constexpr std::string_view rule = "epilogue";
  const auto& nodes = rewriter.region().nodes();
  for (auto it = nodes.begin(); it != nodes.end();) {
    Node& anchor = **it;
    ++it;
    if (!anchor.op().info().anchor) continue;
    Epilogue epilogue(anchor);
    epilogue.grow();
    if (!epilogue.reason().empty()) rewriter.refuse(rule, anchor, epilogue.reason());
    const auto& members = epilogue.members();
    if (members.size() == 1 || !rewriter.allowed(rule, anchor)) continue;
    while (it != nodes.end() && std::find(members.begin(), members.end(), it->get()) != members.end()) ++it;
    const Node* fused = outline(members);
    rewriter.record(rule, fused->source, fused);
  }
}

}  // namespace

Pass fuse_anchors() {
  return {.name = "fuse_anchors", .rules = {"epilogue"}, .run = fuse_all_anchors, .groups = true};
}

}  // namespace tenon
