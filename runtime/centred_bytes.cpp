#include "runtime/centred_bytes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/linear.h"
#include "runtime/constant_value.h"
#include "runtime/device.h"
#include "runtime/group.h"

namespace tenon {
namespace {

constexpr std::size_t sides = 2;

// A matrix that kernels read in a form of their own.
bool is_constant(const Value* value) { return value->rank() == 2 && ConstantValue(value).is_constant(); }

// Such a matrix that may be made of bytes: of float32 one that was float8.
bool may_be_bytes(const Value* value) {
  return is_constant(value) && (value->dtype() != DType::f32 || CentredBytes::of(value));
}

// Of a value of the graph's body, in terms of the region that computes it.
std::optional<CentredBytes> centred(const Value* value) {
  if (is_constant(value)) return std::nullopt;
  const Node* node = value->node();
  if (!node || !node->is<Fused>()) return CentredBytes::of(value);
  const auto found = CentredBytes::of(node->region().results()[value->index()]);
  const bool zero_is_inside = found && found->zero && found->zero->node();
  return zero_is_inside ? std::nullopt : found;
}

class Reading {
 public:
  explicit Reading(Region& body) : body_(body) {}

  void run() {
    for (const auto& node : body_.nodes())
      if (const Node* product = find_32_bit_product(Group(*node)); product && reads_centred(*node, *product))
        products_.push_back({node.get(), product});
    while (std::erase_if(products_, [&](const auto& p) { return !reads_alone(*p.first, *p.second); }) > 0) {}
    for (const auto& [node, product] : products_) replace(*node, *product);
    for (Value* value : made_of_bytes_) make_bytes(*value);
    for (Node* node : read_) erase_unused(node);
  }

 private:
  static const Value* side(const Node& node, const Node& product, std::size_t i) {
    return Group(node).outer(product.input(i));
  }
  // All that it multiplies is made of bytes, one side from another value of 32 bits.
  static bool reads_centred(const Node& node, const Node& product) {
    bool any = false;
    for (std::size_t i = 0; i < sides; ++i) {
      if (Group(node).contains(product.input(i))) return false;
      const Value* v = side(node, product, i);
      if (centred(v))
        any = true;
      else if (!is_byte(v->dtype()) && (i == 0 || !may_be_bytes(v)))
        return false;
    }
    return any;
  }
  // Nobody but such products reads its centred sides.
  bool reads_alone(const Node& node, const Node& product) const {
    for (std::size_t i = 0; i < sides; ++i) {
      const Value* v = side(node, product, i);
      if (!centred(v)) continue;
      const auto of_product = [&](const Use& use) {
        const auto reader = std::find_if(products_.begin(), products_.end(),
                                         [&](const auto& p) { return p.first == use.node; });
        return reader != products_.end() && reads_as_sides(v, *reader->first, *reader->second);
      };
      if (!std::all_of(v->uses().begin(), v->uses().end(), of_product)) return false;
    }
    return true;
  }

  static bool reads_as_sides(const Value* v, const Node& node, const Node& product) {
    const Group group(node);
    for (const Node* member : group.members())
      for (std::size_t i = 0; i < member->inputs().size(); ++i)
        if (group.outer(member->input(i)) == v && (member != &product || i >= sides)) return false;
    return true;
  }

  // In place of the product a group that begins with its sides' casts and subtractions.
  void replace(Node& node, const Node& product) {
    const Group group(node);
    std::vector<Type> types;
    for (std::size_t i = 0; i < node.num_outputs(); ++i) types.push_back(node.output(i)->type());
    Node* made = body_.insert_typed(Fused{}, {}, types, 1, &node, node.source);
    Region& inside = made->region();
    std::map<const Value*, Value*> copies;
    const auto parameter = [&](const Value* outer) {
      Value*& copy = copies[outer];
      if (copy) return copy;
      if (outer->kind() == Value::Kind::literal) return copy = inside.literal(outer->tensor());
      made->add_input(const_cast<Value*>(outer));
      return copy = inside.add_parameter(outer->type());
    };
    const auto widened = [&](const Value* v) {
      const CentredBytes parts = *centred(v);
      Value* const source = outside(parts.bytes, v);
      if (source == v) made_of_bytes_.insert(source);
      read_.insert(v->node());
      Value* const bytes = parameter(source);
      bytes->set_type({parts.bytes->dtype(), v->shape()});
      Value* wide = inside.insert(Cast{.to = v->dtype()}, {bytes}, nullptr, node.source)->output();
      if (parts.zero)
        wide =
            inside.insert(Sub{}, {wide, parameter(outside(parts.zero, v))}, nullptr, node.source)->output();
      return wide;
    };
    for (const Node* member : group.members()) {
      std::vector<Value*> operands;
      for (std::size_t i = 0; i < member->inputs().size(); ++i) {
        const Value* outer = group.outer(member->input(i));
        const auto copy = copies.find(member->input(i));
        if (group.contains(member->input(i)))
          operands.push_back(copy->second);
        else
          operands.push_back(member == &product && i < sides && centred(outer) ? widened(outer)
                                                                               : parameter(outer));
      }
      Node* copy = inside.insert(member->op(), std::move(operands), nullptr, member->source);
      for (std::size_t i = 0; i < member->num_outputs(); ++i) {
        copies[member->output(i)] = copy->output(i);
        copy->output(i)->origin = member->output(i)->origin;
      }
    }
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      inside.add_result(copies.at(group.results()[i]));
      made->output(i)->origin = node.output(i)->origin;
      made->output(i)->set_name(node.output(i)->name());
      replace_all_uses(node.output(i), made->output(i));
    }
    body_.erase(&node);
  }

  // What a value of a region that computes `result` stands for in the graph's body: the result where the
  // region computes it.
  static Value* outside(Value* inner, const Value* result) {
    const Node* node = result->node();
    if (!node->is<Fused>()) return inner;
    if (inner->kind() == Value::Kind::parameter) return node->input(inner->index());
    return inner->node() ? const_cast<Value*>(result) : inner;
  }

  // The result of a group becomes the bytes of which it was made.
  static void make_bytes(Value& value) {
    Region& inside = value.node()->region();
    Value* wide = inside.results()[value.index()];
    Value* const bytes = CentredBytes::of(wide)->bytes;
    inside.set_result(value.index(), bytes);
    value.set_type(bytes->type());
    while (wide != bytes && wide->uses().empty()) {
      Node* const unused = wide->node();
      wide = unused->input();
      inside.erase(unused);
    }
  }

  // What made 32-bit integers for products alone.
  void erase_unused(Node* node) {
    for (std::size_t i = 0; i < node->num_outputs(); ++i)
      if (!node->output(i)->uses().empty()) return;
    Node* const before = node->is<Sub>() ? node->input()->node() : nullptr;
    body_.erase(node);
    if (before) erase_unused(before);
  }

  Region& body_;
  std::vector<std::pair<Node*, const Node*>> products_;  // and the member that multiplies
  std::set<Value*> made_of_bytes_;                       // in their groups
  std::set<Node*> read_;
};

}  // namespace

std::optional<CentredBytes> CentredBytes::of(const Value* value) {
  const Node* node = value->node();
  CentredBytes found{};
  if (node && node->is<Sub>() && value->dtype() == DType::i32) {
    found.zero = node->input(1);
    if (!(numel(found.zero->shape()) == Dim(1))) return std::nullopt;
    node = node->input(0)->node();
  }
  if (!node || !node->is<Cast>()) return std::nullopt;
  found.bytes = node->input();
  const DType from = found.bytes->dtype(), to = value->dtype();
  const bool is_known = (is_byte(from) && to == DType::i32) || (is_float8(from) && to == DType::f32);
  if (!is_known || found.bytes->shape() != value->shape()) return std::nullopt;
  return found;
}

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

const Node* find_32_bit_product(const Group& group) {
  const Node* found = nullptr;
  for (const Node* member : group.members()) {
    if (!member->is<Linear>() && !member->is<MatMul>()) continue;
    if (found) return nullptr;
    found = member;
  }
  if (!found || found->output()->rank() < 2) return nullptr;
  const DType dtype = found->output()->dtype();
  return dtype == DType::f32 || (is_integral(dtype) && size_of(dtype) <= 4) ? found : nullptr;
}

void read_bytes(Graph& graph, const Device& device) {
  if (device.multiplies_bytes) Reading(graph.body()).run();
}

}  // namespace tenon
