#include "runtime/widen.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/ops/axis_maps.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/conv.h"
#include "ir/ops/index.h"
#include "ir/ops/linear.h"
#include "ir/ops/pool.h"
#include "ir/ops/shape.h"
#include "runtime/calls/few_places.h"
#include "runtime/calls/half_product.h"
#include "runtime/constant_value.h"
#include "runtime/decompose.h"
#include "runtime/device.h"
#include "runtime/group.h"
#include "runtime/group_copy.h"
#include "runtime/shared/general.h"

namespace tenon {
namespace {

bool is_small(const Value* v) { return is_small_float(v->dtype()); }

class Widening {
 public:
  Widening(Region& body, const Device& device) : body_(body), device_(device) {}

  void run() {
    for (Node *node = first(), *next = nullptr; node; node = next) {
      next = body_.next(node);
      const Group group(*node);
      const Node* const anchor = widened_member(group);
      if (Node* const made = anchor ? nullptr : take_casts(*node, group))
        next = body_.next(made);
      else if (!anchor)
        read_wide(*node);
      else if (stands_alone(*node))
        replace_alone(*node);
      else if (!stays_narrow(*node))
        replace(*node, group, *anchor);
    }
    for (auto node = replaced_.rbegin(); node != replaced_.rend(); ++node)
      if ((*node)->output()->uses().empty()) body_.erase(*node);
  }

 private:
  Node* first() const { return body_.nodes().empty() ? nullptr : body_.nodes().front().get(); }

  const Node* widened_member(const Group& group) const {
    for (const Node* member : group.members()) {
      const bool fits = member->num_outputs() == 1 || (member->num_outputs() > 1 && stands_alone(*member));
      const bool reads_small =
          !member->inputs().empty() && is_small(member->input(0)) && stands_alone(*member);
      if (fits && (is_small(member->output(0)) || reads_small) && widens(*member)) return member;
    }
    return nullptr;
  }
  bool widens(const Node& node) const {
    if (only_moves(node) || multiplies_halves_by_vector(node) || joins_few_halves(node)) return false;
    return std::any_of(device_.lowerings.begin(), device_.lowerings.end(),
                       [&](const OpLowering& l) { return l.widens && l.op == &node.op().info(); });
  }

  /// Elements, and computes none.
  static bool only_moves(const Node& node) {
    if (const auto* scatter = node.as<Scatter>()) return scatter->reduce == ScatterReduce::none;
    if (const auto* put = node.as<IndexPut>()) return !put->accumulate;
    return mapped_axes(node).has_value();
  }

  /// Does a lowering of the member say so?
  bool any_says(bool (*OpLowering::*fact)(const Node&, const Group&), const Node& member,
                const Group& group) const {
    return std::any_of(device_.lowerings.begin(), device_.lowerings.end(), [&](const OpLowering& l) {
      return l.op == &member.op().info() && l.*fact && (l.*fact)(member, group);
    });
  }

  /// A pool of bfloat16 that is not there in float32, for readers that take it so.
  bool stays_narrow(const Node& node) const {
    return is_narrow_pool(node) && !is_held_wide(node.input()) && are_narrow_readers(*node.output());
  }
  static bool is_narrow_pool(const Node& node) {
    const bool pools =
        node.is<MaxPool>() || node.is<AvgPool>() || node.is<AdaptiveAvgPool>() || node.is<AdaptiveMaxPool>();
    return pools && node.output()->dtype() == DType::bf16;
  }

  /// Do all that read the value take it in bfloat16, at no cost?
  bool are_narrow_readers(const Value& value) const {
    const auto& uses = value.uses();
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return reads_narrow(use); });
  }
  bool are_wide_readers(const Value& value) const {
    return std::ranges::none_of(value.uses(), [&](const Use& use) { return reads_narrow(use); });
  }
  bool reads_narrow(const Use& use) const {
    const Node* const node = use.node;
    if (!node) return true;
    if (node->is<Cast>()) return false;
    if (is_view(node->op()) || is_narrow_pool(*node)) return are_narrow_readers(*node->output());
    const Group group(*node);
    const Node* const anchor = widened_member(group);
    return !anchor || any_says(&OpLowering::reads_halves, *anchor, group);
  }
  /// The result of a group stays bfloat16.
  bool is_narrow_result(const Group& group, const Node& anchor) const {
    return group.results().size() == 1 && group.results()[0]->dtype() == DType::bf16 &&
           any_says(&OpLowering::writes_halves, anchor, group) && are_narrow_readers(*group.node().output());
  }

  /// Its kernels take no operators behind them.
  bool stands_alone(const Node& node) const {
    return std::all_of(
               device_.lowerings.begin(), device_.lowerings.end(),
               [&](const OpLowering& l) { return l.op != &node.op().info() || (l.widens && l.alone); }) &&
           !node.is<Fused>();
  }

  /// In place of the node the same in float32, and casts of its results behind it.
  void replace_alone(Node& node) {
    std::vector<Value*> operands;
    for (Value* v : node.inputs()) operands.push_back(is_small(v) ? wide(v, node) : v);
    const Node* made = body_.insert(node.op(), std::move(operands), &node, node.source);
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      Value *old = node.output(i), *result = made->output(i);
      if (is_small(old))
        result = body_.insert(Cast{.to = old->dtype()}, {result}, &node, node.source)->output();
      result->origin = old->origin;
      result->set_name(old->name());
      replace_all_uses(old, result);
    }
    body_.erase(&node);
  }

  /// In place of the node a group whose anchor is float32, and casts of its results to their types behind it.
  void replace(Node& node, const Group& group, const Node& anchor) {
    const bool narrow = is_narrow_result(group, anchor);
    std::vector<Type> types;
    for (const Value* result : group.results())
      types.push_back({is_small(result) && !narrow ? DType::f32 : result->dtype(), result->shape()});
    Node* made = body_.insert_typed(Fused{}, {}, types, 1, &node, node.source);
    fill(*made, group, anchor, narrow);
    Node* after = body_.next(&node);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Value* old = node.output(i);
      Value* replacement = made->output(i);
      if (is_small(old) && !narrow) {
        Node* rounded = body_.insert(Cast{.to = old->dtype()}, {made->output(i)}, after, node.source);
        wide_[rounded->output()] = made->output(i);
        replaced_.push_back(rounded);
        replacement = rounded->output();
      }
      replacement->origin = old->origin;
      replacement->set_name(old->name());
      replace_all_uses(old, replacement);
    }
    body_.erase(&node);
  }

  /// A product of float32 whose factors are cast from bfloat16 for it reads these, and gives bfloat16 where
  /// its result is only cast to that: the casts become members of its group.
  /// Gives the new group, or null.
  Node* take_casts(Node& node, const Group& group) {
    const Node* const product = product_of_casts(group);
    if (!product) return nullptr;
    Node* const rounding = only_rounding_of(*node.output(0));
    Node* const made = insert_with_casts(node, group, *product, rounding);
    Value* const before = rounding ? rounding->output() : node.output(0);
    made->output(0)->origin = before->origin;
    made->output(0)->set_name(before->name());
    replace_all_uses(before, made->output(0));
    for (const std::size_t i : {0u, 1u}) {
      Node* const cast = const_cast<Value*>(group.outer(product->input(i)))->node();
      if (std::ranges::find(replaced_, cast) == replaced_.end()) replaced_.push_back(cast);
    }
    if (rounding) body_.erase(rounding);
    body_.erase(&node);
    return made;
  }

  /// The product of a group whose factors are cast from bfloat16, and are not there in float32; null: it has
  /// none.
  const Node* product_of_casts(const Group& group) const {
    const auto is_product = [&](const Node* member) {
      return (member->is<MatMul>() || member->is<Linear>()) && member->output()->dtype() == DType::f32 &&
             !group.contains(member->input(0)) && !group.contains(member->input(1)) &&
             any_says(&OpLowering::reads_halves, *member, group);
    };
    const auto found = std::ranges::find_if(group.members(), is_product);
    if (found == group.members().end() || group.results().size() != 1) return nullptr;
    const auto is_wide = [&](std::size_t i) {
      return is_held_wide(widened_half(*group.outer((*found)->input(i))));
    };
    return is_wide(0) || is_wide(1) ? nullptr : *found;
  }

  /// The cast to bfloat16 that alone reads the value, for readers that take it so; null: there is none.
  Node* only_rounding_of(const Value& value) const {
    Node* const reader = value.uses().size() == 1 ? value.uses()[0].node : nullptr;
    const bool rounds = reader && reader->is<Cast>() && reader->output()->dtype() == DType::bf16;
    return rounds && are_narrow_readers(*reader->output()) ? reader : nullptr;
  }

  /// Kernels of products add rows of the result's shape, or one row to all; a loop adds what repeats
  /// otherwise.
  static bool product_takes_operands(const Group& group, const Node& product) {
    const auto is_added = [&](const Value* v) {
      const Shape& shape = v->shape();
      return group.contains(v) || shape == product.output()->shape() || numel(shape) == Dim(1) ||
             numel(shape) == shape.back();
    };
    return std::ranges::all_of(group.members(), [&](const Node* member) {
      return member == &product || std::ranges::all_of(member->inputs(), is_added);
    });
  }

  /// The same as the group with its casts, before the node; the product is one of its own where its kernels
  /// do not take the other operands.
  Node* insert_with_casts(Node& node, const Group& group, const Node& product, const Node* rounding) {
    const auto add_product = [&](GroupCopy& to) {
      std::vector<Value*> operands;
      for (const Value* v : product.inputs())
        operands.push_back(operands.size() < 2
                               ? to.cast(DType::f32, to.read(widened_half(*group.outer(v))), product.source)
                               : to.operand(v));
      to.add(product, std::move(operands));
    };
    const Type& result = rounding ? rounding->output()->type() : node.output(0)->type();
    const bool stands_apart = !product_takes_operands(group, product);
    const Value* sums = nullptr;
    if (stands_apart) {
      GroupCopy alone(body_, node, group, product.output()->type());
      add_product(alone);
      sums = alone.finish(alone.operand(product.output()))->output(0);
    }
    GroupCopy made(body_, node, group, result);
    if (stands_apart) made.replace(product.output(), sums);
    for (const Node* member : group.members()) {
      if (member != &product) {
        std::vector<Value*> operands;
        for (const Value* v : member->inputs()) operands.push_back(made.operand(v));
        made.add(*member, std::move(operands));
      } else if (!stands_apart) {
        add_product(made);
      }
    }
    Value* const last = made.operand(group.results()[0]);
    return made.finish(rounding ? made.cast(DType::bf16, last, rounding->source) : last);
  }

  /// Casts to float32, single or in a group, of a result that still is float32 are that result.
  void read_wide(Node& node) {
    const auto widens = [](const Node* n) {
      return n && n->is<Cast>() && n->output()->dtype() == DType::f32;
    };
    const auto widens_for_a_node = [&](const Use& use) {
      if (!widens(use.node)) return false;
      const auto& readers = use.node->output()->uses();
      return std::all_of(readers.begin(), readers.end(), [](const Use& next) { return next.node; });
    };
    if (widens(&node) && is_held_wide(node.input())) {
      replace_all_uses(node.output(), wide(node.input(), node));
      body_.erase(&node);
      return;
    }
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto wide = wide_.find(node.input(i));
      if (wide == wide_.end() || !node.is<Fused>()) continue;
      Value* const parameter = node.region().parameter(i);
      const std::vector<Use> uses = parameter->uses();
      if (!std::all_of(uses.begin(), uses.end(), widens_for_a_node)) continue;
      node.set_input(i, wide->second);
      parameter->set_type(wide->second->type());
      for (const Use& use : uses) {
        replace_all_uses(use.node->output(), parameter);
        node.region().erase(use.node);
      }
    }
  }

  void fill(Node& made, const Group& group, const Node& anchor, bool narrow) {
    Region& inside = made.region();
    std::unordered_map<const Value*, Value*> copies;     // of values of the group
    std::map<std::pair<const Value*, bool>, Value*> in;  // parameters: of a value, widened or not
    std::map<const Value*, Value*> halves;               // of what is read in float32
    const auto read = [&](Value* inner, bool widened) -> Value* {
      if (const auto copy = copies.find(inner); copy != copies.end())
        return widened ? inside.insert(Cast{.to = DType::f32}, {copy->second})->output() : copy->second;
      auto* outer = const_cast<Value*>(group.outer(inner));
      if (outer->kind() == Value::Kind::literal) {
        Value* literal = inside.literal(outer->tensor());
        return widened ? inside.insert(Cast{.to = DType::f32}, {literal})->output() : literal;
      }
      // What is there in float32 is read so, whatever reads it.
      const bool reads_wide = widened || wide_.contains(outer);
      Value*& parameter = in[{outer, reads_wide}];
      if (!parameter) {
        Value* operand = reads_wide ? wide(outer, made) : outer;
        made.add_input(operand);
        parameter = inside.add_parameter(operand->type());
      }
      if (reads_wide == widened) return parameter;
      Value*& half = halves[outer];
      if (!half) half = inside.insert(Cast{.to = outer->dtype()}, {parameter})->output();
      return half;
    };
    for (const Node* member : group.members()) {
      if (Value* const known = held_wide(*member, group)) {
        copies[member->output()] = read(known, false);
        continue;
      }
      std::vector<Value*> operands;
      for (Value* v : member->inputs()) {
        const bool widened = member == &anchor && is_small(v);
        const bool is_factor = operands.size() < 2 && group.outer(v)->kind() != Value::Kind::weight;
        const bool as_it_lies = widened && is_factor && any_says(&OpLowering::reads_halves, anchor, group) &&
                                !is_held_wide(group.outer(v));
        Value* const operand = read(v, widened && !as_it_lies);
        operands.push_back(as_it_lies ? inside.insert(Cast{.to = DType::f32}, {operand})->output() : operand);
      }
      Node* copy = inside.insert(member->op(), std::move(operands), nullptr, member->source);
      const bool only_chooses = member->is<MaxPool>() && group.members().size() == 1;
      if (member == &anchor && !only_chooses)
        copy = inside.insert(Cast{.to = anchor.output()->dtype()}, {copy->output()}, nullptr, member->source);
      for (std::size_t i = 0; i < member->num_outputs(); ++i) {
        copies[member->output(i)] = copy->output(i);
        copy->output(i)->origin = member->output(i)->origin;
      }
    }
    for (const Value* result : group.results()) {
      Value* copy = copies.at(result);
      inside.add_result(is_small(copy) && !narrow ? inside.insert(Cast{.to = DType::f32}, {copy})->output()
                                                  : copy);
    }
  }

  /// The float32 value that a cast in a group reads anew; null: none.
  Value* held_wide(const Node& member, const Group& group) const {
    if (!member.is<Cast>() || member.output()->dtype() != DType::f32) return nullptr;
    const auto wide = wide_.find(group.outer(member.input()));
    const bool is_result = std::count(group.results().begin(), group.results().end(), member.output()) > 0;
    return wide == wide_.end() || is_result ? nullptr : wide->second;
  }

  /// Another result of the group that computes the value: the same in float32; null: there is none.
  static Value* widened_beside(const Value& value) {
    const Node* node = value.node();
    if (!node || !node->is<Fused>()) return nullptr;
    const auto& results = node->region().results();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Node* cast = results[i]->node();
      if (cast && cast->is<Cast>() && results[i]->dtype() == DType::f32 &&
          cast->input() == results[value.index()])
        return node->output(i);
    }
    return nullptr;
  }

  /// It is there in float32, or is a view of what is.
  bool is_held_wide(const Value* value) const {
    for (; !wide_.contains(value) && !widened_beside(*value); value = value->node()->input())
      if (!value->node() || !is_view(value->node()->op())) return false;
    return true;
  }

  // Constants are rounded while the plan is made.
  static bool rounds_float32(const Value& value) {
    return value.node() && value.node()->is<Cast>() && value.node()->input()->dtype() == DType::f32 &&
           !ConstantValue(&value).is_constant();
  }
  /// A view of float32 that is rounded.
  static bool is_rounded(const Value* value) {
    for (; !rounds_float32(*value); value = value->node()->input())
      if (!value->node() || !is_view(value->node()->op())) return false;
    return true;
  }
  /// A concatenation of what is there in float32 and of what is rounded for it alone.
  bool is_joined(const Value& value) const {
    return value.node() && value.node()->is<Concat>() &&
           std::ranges::all_of(value.node()->inputs(), [&](const Value* v) {
             return is_held_wide(v) || (rounds_float32(*v) && v->uses().size() == 1);
           });
  }
  /// The rounded numbers as float32, as one loop over what is rounded.
  Value* rounded(const Value& value, Node& user) {
    Value* const operand = value.node()->input();
    Node* made = body_.insert_typed(Fused{}, {operand}, {operand->type()}, 1, &user, user.source);
    Region& inside = made->region();
    const Node* half = inside.insert(Cast{.to = value.dtype()}, {inside.add_parameter(operand->type())},
                                     nullptr, user.source);
    inside.add_result(
        inside.insert(Cast{.to = DType::f32}, {half->output()}, nullptr, user.source)->output());
    return made->output();
  }

  /// The same of its operands in float32.
  Value* moved(const Node& view, Node& user) {
    std::vector<Value*> operands;
    for (Value* v : view.inputs()) {
      const bool is_for_this = view.is<Concat>() && !is_held_wide(v);
      if (is_for_this) {
        wide_[v] = rounded(*v, user);
        replaced_.push_back(v->node());
      }
      operands.push_back(wide(v, user));
    }
    return body_.insert(view.op(), std::move(operands), &user, user.source)->output();
  }

  /// The value as float32, for `user`.
  Value* wide(Value* value, Node& user) {
    if (const auto found = wide_.find(value); found != wide_.end()) return found->second;
    if (Value* const beside = widened_beside(*value)) return wide_[value] = beside;
    Node* const made = value->node();
    const bool is_view = made && tenon::is_view(made->op());
    const bool is_of_wide = is_view && is_held_wide(made->input());
    Value* result = nullptr;
    if (is_of_wide || ((is_rounded(value) || is_joined(*value)) && are_wide_readers(*value))) {
      result = is_view || made->is<Concat>() ? moved(*made, user) : rounded(*value, user);
      replaced_.push_back(made);
    } else {
      result = body_.insert(Cast{.to = DType::f32}, {value}, &user, user.source)->output();
    }
    return wide_[value] = result;
  }

  Region& body_;
  const Device& device_;
  std::unordered_map<const Value*, Value*> wide_;
  std::vector<Node*> replaced_;  // casts behind groups, and views, which may have no reader left
};

}  // namespace

void widen_small_floats(Graph& graph, const Device& device) { Widening(graph.body(), device).run(); }

bool is_widened_from(const Value* value, DType type) {
  const Node* node = value->node();
  if (!node) return false;
  if (node->is<Fused>()) return is_widened_from(node->region().results()[value->index()], type);
  if (is_view(node->op())) return is_widened_from(node->input(0), type);
  return node->is<Cast>() && node->input()->dtype() == type;
}

bool is_read_rounded(const Value& value, DType type) {
  return std::ranges::all_of(value.uses(), [&](const Use& use) {
    if (!use.node) return false;
    if (use.node->is<Fused>()) return is_read_rounded(*use.node->region().parameter(use.index), type);
    if (is_view(use.node->op())) return is_read_rounded(*use.node->output(), type);
    const auto* const cast = use.node->as<Cast>();
    return cast && cast->to == type;
  });
}

const Value* widened_half(const Value& value) {
  const Node* const cast = value.node();
  const bool widens =
      cast && cast->is<Cast>() && value.dtype() == DType::f32 && cast->input()->dtype() == DType::bf16;
  return widens ? cast->input() : nullptr;
}

const Value* widened_for(const Node& node, std::size_t operand) {
  const Value& value = *node.input(operand);
  return value.uses().size() == 1 ? widened_half(value) : nullptr;
}

}  // namespace tenon
