// Pointwise operators and row reductions that run over the same elements become one loop.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "fusion/passes.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/axis_maps.h"
#include "ir/ops/cast.h"
#include "ir/ops/rules.h"
#include "ir/ops/slices_by_index.h"
#include "ir/outline.h"

namespace tenon {
namespace {

// What a node does to the elements it runs over: the shape it iterates and the axes it reduces (none for
// pointwise operators).
struct Loop {
  Shape space;
  Axes reduced;
};

// Rows of fewer elements cost more in a gather than in a step of its own.
constexpr std::int64_t shortest_row = 16;

// Does it read other elements than it computes? Where maps leave no row as it is, elements would be read one
// by one.
bool gathers(const Node& n) {
  if (slices_by_index(n)) return true;
  const auto axes = mapped_axes(n);
  if (!axes || axes->empty()) return false;
  const Shape& shape = n.output()->shape();
  return axes->back() + 1 < shape.size() && !known_less(shape.back(), shortest_row).value_or(false);
}

// Would the group reduce an axis whose elements are read by a map?
bool reduces_mapped_axis(const Node& n, const Axes& reduced) {
  const auto axes = mapped_axes(n);
  return axes && std::any_of(reduced.begin(), reduced.end(), [&](std::int64_t axis) {
           return std::count(axes->begin(), axes->end(), static_cast<std::size_t>(axis)) > 0;
         });
}

std::optional<Loop> loop_of(const Node& n) {
  const Op& op = n.op();
  if (op.is_pointwise() || gathers(n)) return Loop{n.output()->shape(), {}};
  if (!op.info().row_axes) return std::nullopt;
  return Loop{n.input()->shape(), op.info().row_axes(op.self(), n.input()->rank())};
}

Shape reduced_shape(const Shape& space, const Axes& axes) {
  Shape s = space;
  for (const auto a : axes) s[static_cast<std::size_t>(a)] = 1;
  return s;
}

constexpr std::size_t max_loop_group = 48;

struct Group {
  std::vector<Node*> members;
  Shape space;
  Axes reduced;
};

class Grouper {
 public:
  explicit Grouper(Rewriter& rewriter) : rewriter_(rewriter) {}

  void run() {
    int position = 0;
    for (const auto& n : rewriter_.region().nodes()) {
      position_[n.get()] = position++;
      if (follows_from_known(*n)) known_.insert(n.get());
    }
    for (const auto& n : rewriter_.region().nodes()) location(*n);
    for (std::size_t g = 0; g < groups_.size(); ++g) widen_again(g);
    for (Group& g : groups_) finish(g);
  }

 private:
  static constexpr std::string_view rule = "loop", again_rule = "widened_again";

  /// Is it computed from weights and sizes alone? The planner does that once.
  bool follows_from_known(const Node& n) const {
    return n.regions().empty() && std::all_of(n.inputs().begin(), n.inputs().end(), [&](const Value* v) {
             return v->is_constant() || known_.contains(v->node());
           });
  }

  void location(Node& n) {
    const auto loop = loop_of(n);
    if (!loop || n.num_outputs() != 1) return;
    const bool reads_elsewhere = gathers(n);
    if (reads_elsewhere && known_.contains(&n)) return;
    for (const Value* v : n.inputs()) {
      if (reads_elsewhere) break;
      const auto it = v->node() ? group_of_.find(v->node()) : group_of_.end();
      if (it == group_of_.end()) continue;
      Group& g = groups_[it->second];
      if (const std::string why = refusal(g, n, *loop); !why.empty()) {
        rewriter_.refuse(rule, n, why);
        continue;
      }
      join(it->second, n, *loop);
      for (const Value* other : n.inputs())
        if (other->node() && group_of_.contains(other->node())) merge(group_of_.at(other->node()), n, *loop);
      return;
    }
    groups_.push_back({{}, loop->space, {}});
    join(groups_.size() - 1, n, *loop);
  }

  void join(std::size_t g, Node& n, const Loop& loop) {
    groups_[g].members.push_back(&n);
    if (!loop.reduced.empty()) groups_[g].reduced = loop.reduced;
    group_of_[&n] = g;
  }

  /// The group of another operand of n becomes part of n's, when n might as well have joined that one.
  void merge(std::size_t from, const Node& n, const Loop& loop) {
    const std::size_t to = group_of_.at(&n);
    Group &g = groups_[to], &other = groups_[from];
    const bool same_axes = g.reduced.empty() || other.reduced.empty() || g.reduced == other.reduced;
    if (from == to || g.space != other.space || loop.space != g.space || !same_axes) return;
    if (g.members.size() + other.members.size() > max_loop_group || !refusal(other, n, loop).empty()) return;
    for (const Node* m : other.members)
      if (reduces_mapped_axis(*m, g.reduced)) return;
    for (Node* member : other.members) group_of_[member] = to;
    g.members.insert(g.members.end(), other.members.begin(), other.members.end());
    std::sort(g.members.begin(), g.members.end(),
              [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
    if (!other.reduced.empty()) g.reduced = other.reduced;
    other.members.clear();
  }

  std::string refusal(const Group& g, const Node& n, const Loop& loop) const {
    if (g.members.size() >= max_loop_group) return "the group is full";
    const bool same = loop.space == g.space;
    const bool of_rows =
        !g.reduced.empty() && loop.reduced.empty() && loop.space == reduced_shape(g.space, g.reduced);
    if (!same && !of_rows)
      return std::string(n.op().name()) + " runs over " + str(loop.space) + ", the group over " +
             str(g.space);
    if (!loop.reduced.empty() && !g.reduced.empty() && loop.reduced != g.reduced)
      return "it reduces other axes than the group";
    for (const Node* m : g.members)
      if (reduces_mapped_axis(*m, loop.reduced)) return "it reduces an axis that is read by a map";
    // The group runs where its last member stood: its results must not be needed before that.
    for (const Node* m : g.members)
      for (const Use& u : m->output()->uses())
        if (u.node && position_.at(u.node) < position_.at(&n) && group_index(u.node) != group_index(m))
          return "a result of the group is needed before";
    // A reduction that drops its axes can only be a result.
    for (const Value* v : n.inputs())
      if (v->node() && group_index(v->node()) == group_index(g.members[0]) && drops_axes(*v->node()))
        return "the reduced axes are dropped";
    return {};
  }

  static bool drops_axes(const Node& n) {
    const auto loop = loop_of(n);
    return loop && n.output()->rank() != loop->space.size();
  }

  std::size_t group_index(const Node* n) const {
    const auto it = group_of_.find(n);
    return it == group_of_.end() ? static_cast<std::size_t>(-1) : it->second;
  }

  /// Is it computed, by a few light operators, from elements that are shorter than its own?
  bool widens(const Node& n, std::size_t group, int most_deep = 2) const {
    const Op& op = n.op();
    if (most_deep == 0 || !(op.is<Cast>() || op.is<Add>() || op.is<Sub>() || op.is<Mul>())) return false;
    const Value& out = *n.output();
    int read = 0;
    for (const Value* v : n.inputs()) {
      const bool is_member = v->node() && group_index(v->node()) == group;
      if (v->shape() != out.shape()) {
        if (is_member) return false;
      } else if (++read > 1 || !(is_member ? widens(*v->node(), group, most_deep - 1)
                                           : size_of(v->dtype()) < size_of(out.dtype()))) {
        return false;
      }
    }
    return read == 1;
  }

  /// The other groups that read the result; nullopt where something reads it otherwise than by its elements.
  std::optional<std::vector<std::size_t>> readers(const Node& n, std::size_t group) const {
    std::vector<std::size_t> found;
    for (const Use& u : n.output()->uses()) {
      const std::size_t reader = u.node ? group_index(u.node) : static_cast<std::size_t>(-1);
      if (reader == static_cast<std::size_t>(-1) || gathers(*u.node) ||
          groups_[reader].space != n.output()->shape())
        return std::nullopt;
      if (reader != group && std::find(found.begin(), found.end(), reader) == found.end())
        found.push_back(reader);
    }
    return found;
  }

  /// A copy of a node of one group, and of those of its group that it reads, at the head of another group.
  Value* again(Node& n, std::size_t group, std::size_t reader, Node* before) {
    std::vector<Value*> inputs;
    std::vector<Node*>& members = groups_[reader].members;
    std::size_t head = 0;
    for (Value* v : n.inputs()) {
      const std::size_t count = members.size();
      const bool is_member = v->node() && group_index(v->node()) == group;
      inputs.push_back(is_member ? again(*v->node(), group, reader, before) : v);
      head += members.size() - count;
    }
    Node* copy = rewriter_.region().insert(n.op(), std::move(inputs), before, n.source);
    members.insert(members.begin() + static_cast<std::ptrdiff_t>(head), copy);
    group_of_[copy] = reader;
    position_[copy] = position_.at(&n);
    return copy->output();
  }

  /// What widens short elements is computed by each group that reads it: that takes less time than memory for
  /// the longer ones.
  void widen_again(std::size_t group) {
    const std::vector<Node*> members = groups_[group].members;
    for (Node* n : members) {
      if (!widens(*n, group)) continue;
      const auto others = readers(*n, group);
      const bool is_read_here =
          std::any_of(n->output()->uses().begin(), n->output()->uses().end(),
                      [&](const Use& u) { return u.node && group_index(u.node) == group; });
      if (!others || others->empty() || !is_read_here) continue;
      const bool fit = std::all_of(others->begin(), others->end(), [&](std::size_t reader) {
        return groups_[reader].members.size() + 2 <= max_loop_group;
      });
      if (!fit || !rewriter_.allowed(again_rule, *n)) continue;
      for (const std::size_t reader : *others) {
        Value* copy = again(*n, group, reader, n);
        const auto uses = n->output()->uses();
        for (const Use& u : uses)
          if (group_index(u.node) == reader) u.node->set_input(u.index, copy);
        rewriter_.record(again_rule, n->source, copy->node());
      }
    }
  }

  void finish(const Group& g) {
    if (g.members.size() <= 1 || !rewriter_.allowed(rule, *g.members.back())) return;
    const Node* fused = outline(g.members);
    rewriter_.record(rule, fused->source, fused);
  }

  Rewriter& rewriter_;
  std::vector<Group> groups_;
  std::unordered_map<const Node*, std::size_t> group_of_;
  std::unordered_map<const Node*, int> position_;
  std::unordered_set<const Node*> known_;
};

}  // namespace

Pass fuse_loops() {
  return {.name = "fuse_loops",
          .rules = {"loop", "widened_again"},
          .run = [](Rewriter& rewriter) { Grouper(rewriter).run(); },
          .groups = true};
}

}  // namespace tenon
