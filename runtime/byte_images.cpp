#include "runtime/byte_images.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/outline.h"
#include "runtime/centred_bytes.h"
#include "runtime/device.h"
#include "runtime/group.h"

namespace tenon {
namespace {

class Holding {
 public:
  Holding(Region& body, const Device& device, WeightStore& weights)
      : body_(body), device_(device), weights_(weights) {}

  void run() {
    std::vector<Node*> groups;  // others may be replaced by groups meanwhile
    for (const auto& node : body_.nodes())
      if (node->is<Fused>()) groups.push_back(node.get());
    for (Node* group : groups)
      if (may_write_bytes(*group) && all_read_bytes(*group->output())) hold(*group);
  }

 private:
  bool takes_bytes(const Node& member, const Group& group) const {
    return std::any_of(device_.lowerings.begin(), device_.lowerings.end(), [&](const OpLowering& l) {
      return l.op == &member.op().info() && l.takes_bytes && l.takes_bytes(member, group, weights_);
    });
  }

  // A loop, or such a convolution and pointwise operators, that computes the bytes.
  bool may_write_bytes(const Node& node) const {
    if (node.num_outputs() != 1) return false;
    const Group group(node);
    const auto made = ScaledBytes::of(group.results()[0]);
    return made && group.contains(made->bytes) &&
           std::all_of(group.members().begin(), group.members().end(), [&](const Node* member) {
             return member->op().is_pointwise() || takes_bytes(*member, group);
           });
  }

  bool all_read_bytes(const Value& value) const {
    bool any = false;
    for (const Use& use : value.uses()) {
      if (!use.node) return false;
      const Group group(*use.node);
      for (const Node* member : group.members())
        for (std::size_t i = 0; i < member->inputs().size(); ++i) {
          if (group.outer(member->input(i)) != &value) continue;
          const bool multiplies = i == 0 && takes_bytes(*member, group);
          if (!multiplies && !member->op().is_pointwise()) return false;
          any |= multiplies;
        }
      const auto& results = group.results();
      if (std::any_of(results.begin(), results.end(),
                      [&](const Value* r) { return group.outer(r) == &value; }))
        return false;
    }
    return any;
  }

  void hold(Node& node) {
    Region& inside = node.region();
    Value& value = *node.output();
    const ScaledBytes made = *ScaledBytes::of(inside.results()[0]);
    const std::vector<const Node*> chain = made.chain();
    inside.set_result(0, made.bytes);
    value.set_type(made.bytes->type());
    value.origin = made.bytes->origin;
    std::set<Node*> readers;
    for (const Use& use : value.uses()) readers.insert(use.node);
    for (Node* reader : readers) read_bytes(*reader, value, chain);
    for (auto last = chain.rbegin(); last != chain.rend() && (*last)->output()->uses().empty(); ++last)
      inside.erase(const_cast<Node*>(*last));
  }

  // The reader becomes, or is, a group that begins with the operators of the chain.
  void read_bytes(Node& reader, Value& bytes, const std::vector<const Node*>& chain) {
    if (!reader.is<Fused>()) {
      std::vector<Node*> members = copies(chain, bytes, body_, &reader);
      for (std::size_t i = 0; i < reader.inputs().size(); ++i)
        if (reader.input(i) == &bytes) reader.set_input(i, members.back()->output());
      members.push_back(&reader);
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
      if (!of_all) of_all = copies(chain, *parameter, inside, first).back()->output();
      for (const Use& use : uses) use.node->set_input(use.index, of_all);
    }
  }

  static std::vector<Node*> copies(const std::vector<const Node*>& chain, Value& bytes, Region& region,
                                   Node* before) {
    std::vector<Node*> made;
    Value* current = &bytes;
    for (const Node* node : chain) {
      std::vector<Value*> operands{current};
      for (std::size_t i = 1; i < node->inputs().size(); ++i)
        operands.push_back(region.literal(node->input(i)->tensor()));
      made.push_back(region.insert(node->op(), std::move(operands), before, before->source));
      current = made.back()->output();
    }
    return made;
  }

  Region& body_;
  const Device& device_;
  WeightStore& weights_;
};

}  // namespace

std::optional<ScaledBytes> ScaledBytes::of(const Value* value) {
  const auto by_number = [](const Node* node) {
    return node && node->inputs().size() == 2 && node->input(1)->kind() == Value::Kind::literal;
  };
  const Node* const scale = value->node();
  if (!by_number(scale) || !scale->is<Mul>() || value->dtype() != DType::f32) return std::nullopt;
  const Node* cast = scale->input(0)->node();
  if (by_number(cast) && cast->is<Sub>()) cast = cast->input(0)->node();
  if (!cast || !cast->is<Cast>() || cast->output()->dtype() != DType::f32) return std::nullopt;
  Value* const bytes = cast->input();
  if (!is_byte(bytes->dtype()) || bytes->shape() != value->shape()) return std::nullopt;
  return ScaledBytes{bytes, scale};
}

std::vector<const Node*> ScaledBytes::chain() const {
  std::vector<const Node*> found{scale};
  while (found.front()->input(0) != bytes) found.insert(found.begin(), found.front()->input(0)->node());
  return found;
}

void hold_images_in_bytes(Graph& graph, const Device& device, WeightStore& weights) {
  Holding(graph.body(), device, weights).run();
}

}  // namespace tenon
