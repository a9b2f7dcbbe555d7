#include "runtime/byte_images.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/math.h"
#include "ir/ops/pool.h"
#include "ir/ops/shape.h"
#include "ir/outline.h"
#include "runtime/centred_bytes.h"
#include "runtime/device.h"
#include "runtime/group.h"
#include "runtime/shared/general.h"

namespace tenon {
namespace {

// The operators of a group that make codes of one of its parameters: each reads the one before and literals.
struct Coding {
  Value* parameter;
  std::vector<const Node*> steps;  // the last is a cast to bytes
};

bool by_literals(const Node& node) {
  const auto& inputs = node.inputs();
  return node.op().is_pointwise() && node.num_outputs() == 1 &&
         std::all_of(inputs.begin() + 1, inputs.end(),
                     [](const Value* v) { return v->kind() == Value::Kind::literal; });
}

// nullopt where anything else in the group reads the parameter or a step.
std::optional<Coding> coding_of(const Node& group, std::size_t input) {
  if (!group.is<Fused>()) return std::nullopt;
  Coding found{group.region().parameter(input), {}};
  const Value* value = found.parameter;
  while (value->uses().size() == 1) {
    const Node* const next = value->uses()[0].node;
    if (!next || value->uses()[0].index != 0 || !by_literals(*next)) return std::nullopt;
    if (next->output()->shape() != value->shape()) return std::nullopt;
    found.steps.push_back(next);
    value = next->output();
    if (is_byte(value->dtype())) return found;
  }
  return std::nullopt;
}

// These operators, on another value.
Value* copies(const std::vector<const Node*>& steps, Value& of, Region& region, Node* before) {
  Value* current = &of;
  for (const Node* node : steps) {
    std::vector<Value*> operands{current};
    for (std::size_t i = 1; i < node->inputs().size(); ++i)
      operands.push_back(region.literal(node->input(i)->tensor()));
    current = region.insert(node->op(), std::move(operands), before, before ? before->source : node->source)
                  ->output();
  }
  return current;
}

// The operators that make one value of another, in order.
std::vector<Node*> between(const Value& from, const Value& to) {
  std::vector<Node*> found;
  for (const Value* v = &to; v != &from; v = v->node()->input()) found.insert(found.begin(), v->node());
  return found;
}

// Erases what computes a value that nobody reads.
void erase_unused(Value* value) {
  while (value->node() && value->uses().empty()) {
    Node* const unused = value->node();
    value = unused->input();
    unused->parent().erase(unused);
  }
}

std::set<Node*> readers_of(const Value& value) {
  std::set<Node*> readers;
  for (const Use& use : value.uses()) readers.insert(use.node);
  return readers;
}

std::optional<double> literal_of(const Node& node) {
  const bool is_number = node.inputs().size() == 2 && node.input(1)->kind() == Value::Kind::literal;
  return is_number ? std::optional(node.input(1)->tensor().get_double()) : std::nullopt;
}

// Do the operators behind what bytes stand for, from this one on, make the same bytes of it? Then the last.
const Node* made_again(const ScaledBytes& made) {
  const std::vector<const Node*> chain = made.chain();
  const double scale = *literal_of(*made.scale);
  const double zero = chain.size() == 3 ? *literal_of(*chain[1]) : 0;
  const Node* node = made.scale;
  const auto next = [&] {
    const auto& uses = node->output()->uses();
    node = uses.size() == 1 && uses[0].index == 0 ? uses[0].node : nullptr;
    return node;
  };
  // A whole number of at most 9 bits, scaled there and back, rounds to itself.
  const auto is_one = [](double x) { return std::abs(x - 1) < 1e-6; };
  if (!(scale > 1e-30 && scale < 1e30) || !next()) return nullptr;
  const auto back = literal_of(*node);
  const bool scales_back =
      back && ((node->is<Div>() && is_one(scale / *back)) || (node->is<Mul>() && is_one(scale * *back)));
  if (!scales_back || !next() || !node->is<Round>() || !next()) return nullptr;
  double added = 0;
  if (node->is<Add>()) {
    const auto number = literal_of(*node);
    if (!number || !next()) return nullptr;
    added = *number;
  }
  const DType dtype = made.bytes->dtype();
  const double least = dtype == DType::i8 ? -128 : 0;
  const auto* const clamp = node->as<Clamp>();
  if (!clamp || added != zero || !(clamp->min <= least) || !(clamp->max >= least + 255) || !next())
    return nullptr;
  return node->is<Cast>() && node->output()->dtype() == dtype ? node : nullptr;
}

class Holding {
 public:
  Holding(Region& body, const Device& device, WeightStore& weights)
      : body_(body), device_(device), weights_(weights) {}

  void run() {
    std::vector<Node*> nodes;  // others may come and go meanwhile
    for (const auto& node : body_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes)
      if (!erased_.contains(node) && node->is<Concat>()) join_codes(*node);
    for (Node* node : nodes)
      if (!erased_.contains(node) && node->is<Fused>() && may_write_bytes(*node) &&
          all_read_bytes(*node->output()))
        hold(*node);
  }

 private:
  bool takes_bytes(const Node& member, const Group& group) const {
    return std::any_of(device_.lowerings.begin(), device_.lowerings.end(), [&](const OpLowering& l) {
      return l.op == &member.op().info() && l.takes_bytes && l.takes_bytes(member, group, weights_);
    });
  }
  // Moves bytes, or takes the largest of them, whatever they stand for.
  bool moves_bytes(const Node& node) const {
    return is_view(node.op()) || (node.is<MaxPool>() && takes_bytes(node, Group(node)));
  }

  // All that a group computes is pointwise, or such a convolution.
  bool computes_with_bytes(const Group& group) const {
    return std::all_of(group.members().begin(), group.members().end(), [&](const Node* member) {
      return member->op().is_pointwise() || takes_bytes(*member, group);
    });
  }

  bool may_write_bytes(const Node& node) const {
    if (node.num_outputs() != 1) return false;
    const Group group(node);
    const auto made = ScaledBytes::of(group.results()[0]);
    return made && group.contains(made->bytes) && computes_with_bytes(group);
  }

  bool all_read_bytes(const Value& value) const {
    bool any = false;
    for (const Use& use : value.uses()) {
      if (!use.node) return false;
      const bool is_moved = moves_bytes(*use.node);
      if (is_moved && is_view(use.node->op()) && !all_read_bytes(*use.node->output())) return false;
      if (is_moved || coding_of(*use.node, use.index)) {
        any = true;
        continue;
      }
      const Group group(*use.node);
      for (const Node* member : group.members()) {
        const bool multiplies = takes_bytes(*member, group);
        any |= multiplies;
        for (std::size_t i = 0; i < member->inputs().size(); ++i) {
          const bool reads = group.outer(member->input(i)) == &value;
          if (reads && !(multiplies && i == 0) && !member->op().is_pointwise()) return false;
        }
      }
      const auto& results = group.results();
      if (std::any_of(results.begin(), results.end(),
                      [&](const Value* r) { return group.outer(r) == &value; }))
        return false;
    }
    return any;
  }

  // Where codes are made of a concatenation and nothing else reads it, codes are concatenated.
  void join_codes(Node& concat) {
    Value& joined = *concat.output();
    if (joined.uses().size() != 1 || !joined.uses()[0].node) return;
    Node& reader = *joined.uses()[0].node;
    const std::size_t input = joined.uses()[0].index;
    const auto coding = coding_of(reader, input);
    const bool any = std::any_of(concat.inputs().begin(), concat.inputs().end(), [&](const Value* v) {
      return v->node() && ScaledBytes::of(Group(*v->node()).results()[v->index()]);
    });
    if (!coding || !any) return;
    for (std::size_t i = 0; i < concat.inputs().size(); ++i) read_codes(concat, i, coding->steps);
    Value* const codes = coding->steps.back()->output();
    joined.set_type({codes->dtype(), joined.shape()});
    coding->parameter->set_type(joined.type());
    replace_all_uses(codes, coding->parameter);
    erase_unused(codes);
    pass_on(reader, joined);
  }

  // Made by the group that computes the value where that writes bytes and nobody else reads it, else by
  // another one.
  void read_codes(Node& reader, std::size_t i, const std::vector<const Node*>& steps) {
    Value& value = *reader.input(i);
    Node* const maker = value.node();
    if (maker && maker->is<Fused>() && value.uses().size() == 1 && may_write_bytes(*maker)) {
      Region& inside = maker->region();
      inside.set_result(0, copies(steps, *inside.results()[0], inside, nullptr));
      value.set_type(inside.results()[0]->type());
      return;
    }
    Value* const codes = copies(steps, value, body_, &reader);
    reader.set_input(i, codes);
    std::vector<Node*> members = between(value, *codes);
    outline(members);
  }

  void hold(Node& node) {
    Region& inside = node.region();
    Value& value = *node.output();
    Value* const wide = inside.results()[0];
    const ScaledBytes made = *ScaledBytes::of(wide);
    inside.set_result(0, made.bytes);
    value.set_type(made.bytes->type());
    value.origin = made.bytes->origin;
    give(value, made.chain(), readers_of(value));
    erase_unused(wide);
  }

  // What these readers, which may read bytes, take has become the bytes.
  void give(Value& bytes, const std::vector<const Node*>& chain, const std::set<Node*>& readers) {
    for (Node* reader : readers) {
      if (!readers_of(bytes).contains(reader)) continue;  // it became another one
      if (moves_bytes(*reader))
        move(*reader, bytes, chain);
      else
        read_bytes(*reader, bytes, chain);
    }
  }

  // Of an operator that moves bytes.
  void move(Node& mover, const Value& bytes, const std::vector<const Node*>& chain) {
    Value& moved = *mover.output();
    moved.set_type({bytes.dtype(), moved.shape()});
    const std::set<Node*> readers = readers_of(moved);
    std::set<Node*> others;  // read numbers
    for (Node* reader : readers)
      if (!reader || (!moves_bytes(*reader) && !is_pointwise(*reader))) others.insert(reader);
    if (!others.empty()) widen(moved, chain, others);
    for (Node* reader : readers) {
      if (others.contains(reader) || !readers_of(moved).contains(reader)) continue;
      if (moves_bytes(*reader))
        move(*reader, moved, chain);
      else
        read_bytes(*reader, moved, chain);
    }
  }

  static bool is_pointwise(const Node& node) {
    const auto members = Group(node).members();
    return std::all_of(members.begin(), members.end(), [](const Node* m) { return m->op().is_pointwise(); });
  }

  // These readers read numbers, of a group that goes again where they may read the bytes.
  void widen(Value& bytes, const std::vector<const Node*>& chain, const std::set<Node*>& readers) {
    const std::vector<Use> uses = bytes.uses();
    Value* const numbers = copies(chain, bytes, body_, body_.next(bytes.node()));
    for (const Use& use : uses) {
      if (!readers.contains(use.node)) continue;
      if (use.node)
        use.node->set_input(use.index, numbers);
      else
        use.region->set_result(use.index, numbers);
    }
    std::vector<Node*> members = between(bytes, *numbers);
    pass_on(*outline(members), bytes);
  }

  // The reader becomes, or is, a group that begins with the operators of the chain.
  void read_bytes(Node& reader, Value& bytes, const std::vector<const Node*>& chain) {
    if (!reader.is<Fused>()) {
      Value* const numbers = copies(chain, bytes, body_, &reader);
      std::vector<Node*> members = between(bytes, *numbers);
      members.push_back(&reader);
      for (std::size_t i = 0; i < reader.inputs().size(); ++i)
        if (reader.input(i) == &bytes) reader.set_input(i, numbers);
      outline(members);
      return;
    }
    Region& inside = reader.region();
    Node* const first = inside.nodes().front().get();
    Value* of_all = nullptr;
    for (std::size_t i = 0; i < reader.inputs().size(); ++i) {
      if (reader.input(i) != &bytes) continue;
      Value* const parameter = inside.parameter(i);
      const std::vector<Use> uses = parameter->uses();
      parameter->set_type(bytes.type());
      if (!of_all) of_all = copies(chain, *parameter, inside, first);
      for (const Use& use : uses) use.node->set_input(use.index, of_all);
    }
    if (of_all) simplify(reader, *of_all, bytes);
  }

  // Bytes that are made of what the same bytes stand for are these.
  void simplify(Node& reader, Value& numbers, Value& bytes) {
    const auto made = ScaledBytes::of(&numbers);
    const Node* const again = made ? made_again(*made) : nullptr;
    if (!again) return;
    replace_all_uses(again->output(), made->bytes);
    erase_unused(again->output());
    pass_on(reader, bytes);
  }

  // A group that makes of bytes no more than what they stand for goes where its readers read bytes.
  void pass_on(Node& group, Value& bytes) {
    if (group.num_outputs() != 1) return;
    Value& value = *group.output();
    Value* const result = group.region().results()[0];
    const auto made = ScaledBytes::of(result);
    const Value* const of = made ? made->bytes : result;
    if (of->kind() != Value::Kind::parameter || group.input(of->index()) != &bytes) return;
    const std::set<Node*> readers = readers_of(value);
    const bool reads_twice = std::any_of(readers.begin(), readers.end(), [&](const Node* r) {
      return r && std::count(r->inputs().begin(), r->inputs().end(), &bytes) > 0;
    });
    if (made && (reads_twice || !all_read_bytes(value))) return;
    replace_all_uses(&value, &bytes);
    if (made) give(bytes, made->chain(), readers);
    erased_.insert(&group);
    body_.erase(&group);
  }

  Region& body_;
  const Device& device_;
  WeightStore& weights_;
  std::set<const Node*> erased_;
};

}  // namespace

std::optional<ScaledBytes> ScaledBytes::of(const Value* value) {
  const auto by_number = [](const Node* node) { return node && literal_of(*node); };
  const Node* const scale = value->node();
  if (!by_number(scale) || !scale->is<Mul>() || value->dtype() != DType::f32) return std::nullopt;
  const Node* cast = scale->input(0)->node();
  if (by_number(cast) && cast->is<Sub>()) cast = cast->input(0)->node();
  if (!cast || !cast->is<Cast>() || cast->output()->dtype() != DType::f32) return std::nullopt;
  Value* const bytes = cast->input();
  if (!is_byte(bytes->dtype()) || bytes->shape() != value->shape()) return std::nullopt;
  const double number = *literal_of(*scale);
  if (!(number > 0) || std::isinf(number)) return std::nullopt;
  return ScaledBytes{bytes, scale};
}

std::vector<const Node*> ScaledBytes::chain() const {
  std::vector<const Node*> found{scale};
  while (found.front()->input(0) != bytes) found.insert(found.begin(), found.front()->input(0)->node());
  return found;
}

void hold_images_in_bytes(Graph& graph, const Device& device, WeightStore& weights) {
  const bool any = std::any_of(device.lowerings.begin(), device.lowerings.end(),
                               [](const OpLowering& l) { return l.takes_bytes != nullptr; });
  if (any) Holding(graph.body(), device, weights).run();
}

}  // namespace tenon
