// Products, convolutions and attention of float32 read and give 16-bit floats, where the caller asks for it
// (FuseOptions::precision). What lies between them is computed in float32:
//   y = linear(x, @w)        y = cast(f32, linear(cast(bf16, x), @w.bf16))
// A value that a product reads is held in 16 bits for all who read it.
#include <algorithm>
#include <cmath>
#include <map>

#include "fusion/half_weights.h"
#include "fusion/moved_elements.h"
#include "fusion/passes.h"
#include "ir/ops/activation.h"
#include "ir/ops/attention.h"
#include "ir/ops/cast.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/linear.h"
#include "ir/ops/pool.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

constexpr std::string_view narrowing_of_products = "narrow_product";

bool is_product(const Node& n) {
  return n.is<Linear>() || n.is<MatMul>() || n.is<Conv>() || n.is<ConvTranspose>() || n.is<Attention>();
}

// Rounding before it gives what rounding behind it does: it moves numbers, or chooses among them.
bool commutes_with_rounding(const Node& n) {
  if (const auto* pad = n.as<Pad>()) return pad->mode != PadMode::constant || pad->value == 0;
  return moves_elements(n) || n.is<Relu>() || n.is<MaxPool>();
}

bool is_f32(const Value* v) { return v->dtype() == DType::f32; }

// What lies farther from a product is not looked at.
constexpr int most_steps = 16;

// Numbers that are unpacked or scaled while the plan is made: quantised weights.
bool is_of_weights_alone(const Value& v, int steps = 0) {
  const Node* n = v.node();
  if (!n) return v.is_constant();
  return steps < most_steps && n->regions().empty() && !n->inputs().empty() &&
         std::all_of(n->inputs().begin(), n->inputs().end(),
                     [&](const Value* input) { return is_of_weights_alone(*input, steps + 1); });
}

class Narrower {
 public:
  explicit Narrower(Rewriter& rewriter) : rewriter_(rewriter), half_(*half_of(rewriter.precision())) {}

  void run() {
    std::vector<Node*> products;
    for (const auto& node : rewriter_.region().nodes())
      if (is_product(*node) && is_f32(node->output())) products.push_back(node.get());
    for (Node* product : products) narrow(*product);
    widen_parts();
  }

 private:
  void narrow(Node& product) {
    if (std::string reason = refusal(product); !reason.empty())
      return rewriter_.refuse(narrowing_of_products, product, std::move(reason));
    const auto& kept = rewriter_.kept_products();
    if (std::find(kept.begin(), kept.end(), rewriter_.next_product()) != kept.end())
      return rewriter_.refuse(narrowing_of_products, product, "its error is beyond --max-error");
    if (!rewriter_.allowed(narrowing_of_products, product)) return;
    Region& region = rewriter_.region();
    std::vector<Value*> operands = product.inputs();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool is_mask = product.is<Attention>() && i == 3;
      if (is_f32(operands[i]))
        operands[i] = is_mask ? mask(operands[i], product) : held(*operands[i], product);
    }
    Node* narrowed = region.insert(product.op(), operands, &product, product.source);
    const InsertionPoint behind{&region, &product, product.source};
    replace_all_uses(product.output(), widened(narrowed->output(), behind));
    rewriter_.record(narrowing_of_products, product.source, narrowed);
    region.erase(&product);
  }

  std::string refusal(const Node& product) const {
    for (const Value* operand : product.inputs()) {
      if (operand->kind() == Value::Kind::weight && is_f32(operand)) {
        if (!operand->tensor().defined()) return "@" + operand->name() + " has no numbers";
        if (std::string reason = half_refusal(*operand, half_); !reason.empty()) return reason;
      } else if (operand->node() && is_of_weights_alone(*operand)) {
        return "an operand is computed from constants alone";
      }
    }
    return {};
  }

  // Where products read what a product gave as it is, other parts of it are cast behind the views that choose
  // them: no step has to cast all. (What a loop gave it casts, too.)
  void widen_parts() {
    Region& region = rewriter_.region();
    for (std::size_t i = 0; i < widened_.size(); ++i) {
      Node* const cast = widened_[i];
      const std::vector<Use> uses = cast->output()->uses();
      const bool is_for_parts = cast->input()->uses().size() > 1 && is_part_of_product(*cast->input()) &&
                                std::all_of(uses.begin(), uses.end(),
                                            [](const Use& use) { return use.node && is_part(*use.node); });
      if (!is_for_parts) continue;
      for (const Use& use : uses) {
        Node& view = *use.node;
        Node* const part = region.insert(view.op(), {cast->input()}, &view, view.source);
        replace_all_uses(view.output(), widened(part->output(), {&region, &view, view.source}));
      }
    }
  }
  static bool is_part(const Node& n) {
    return n.is<Reshape>() || n.is<Permute>() || n.is<Slice>() || n.is<Flip>();
  }
  static const Value& whole_of(const Value& v) {
    const Value* whole = &v;
    while (whole->node() && is_part(*whole->node())) whole = whole->node()->input();
    return *whole;
  }
  static bool is_part_of_product(const Value& v) {
    const Node* node = whole_of(v).node();
    return node && is_product(*node);
  }

  // From this node on, but for the product; null: there is none.
  Node* first_reader(const Value& v, Node* from, const Node& product) const {
    const auto reads = [&](const Node& n) {
      return &n != &product && std::find(n.inputs().begin(), n.inputs().end(), &v) != n.inputs().end();
    };
    while (from && !reads(*from)) from = rewriter_.region().next(from);
    return from;
  }

  // In float32, for operators that are none of products.
  Value* widened(Value* half, const InsertionPoint& point) {
    Value* const wide = cast(DType::f32, Ref(half, point)).value();
    widened_.push_back(wide->node());
    return wide;
  }

  // The value in 16 bits, for a product that reads it.
  Value* held(Value& v, Node& product) {
    if (Value* known = find(v)) return known;
    Region& region = rewriter_.region();
    if (v.kind() == Value::Kind::weight)
      return halves_[&v] = half_weight(v, half_, {&region, &product, product.source}).value();
    Node* def = v.node();
    if (!def) {  // of the model's input others read what it holds
      const InsertionPoint first{&region, region.nodes().front().get(), product.source};
      return halves_[&v] = cast(half_, Ref(&v, first)).value();
    }
    Node* const next = region.next(def);
    const InsertionPoint behind{&region, next, def->source};
    std::map<const Node*, bool> seen;
    if (gives_halves(*def, seen)) {
      std::vector<Value*> operands = def->inputs();
      for (Value*& operand : operands) {
        if (!is_f32(operand)) continue;
        const bool is_copied = is_given(*operand) && !find(*operand);
        operand = is_copied ? cast(half_, Ref(operand, behind)).value() : held(*operand, *def);
      }
      halves_[&v] = region.insert(def->op(), operands, next, def->source)->output();
    } else {
      halves_[&v] = cast(half_, Ref(&v, behind)).value();
    }
    Value* const half = halves_[&v];
    // What only moves numbers is no loop that could cast them: its readers do.
    Node* const reader = moves_elements(*def) ? first_reader(v, next, product) : next;
    Value* const wide = widened(half, {&region, reader, def->source});
    const std::vector<Use> uses = v.uses();
    for (const Use& use : uses) {
      if (use.node == half->node()) continue;
      if (use.node)
        use.node->set_input(use.index, wide);
      else
        region.set_result(use.index, wide);
    }
    halves_[wide] = half;
    return half;
  }

  // Masks hold finite numbers that mean minus infinity. They stay finite: a row of minus infinities may be
  // NaN. The scores of a row that has no other numbers then count, where float32's swallow them.
  Value* mask(Value* v, Node& product) {
    Value*& half = masks_[v];
    if (half) return half;
    const InsertionPoint point{&rewriter_.region(), &product, product.source};
    const Ref wide(v, point);
    const double lowest = half_ == DType::f16 ? -65504.0 : -0x1.fep127;
    const Ref bounded =
        where(equal(wide, wide.literal(-INFINITY)), wide, maximum(wide, wide.literal(lowest)));
    return half = cast(half_, bounded).value();
  }

  // Of what was narrowed before, or widened.
  Value* find(const Value& v) const {
    if (const auto known = halves_.find(&v); known != halves_.end()) return known->second;
    const Node* def = v.node();
    return def && def->is<Cast>() && def->input()->dtype() == half_ ? def->input() : nullptr;
  }

  // Its numbers come from values that are held in 16 bits; or these are appended to what the model is given:
  // keys and values of earlier tokens.
  bool gives_halves(const Node& n, std::map<const Node*, bool>& seen, int steps = 0) const {
    if (const auto known = seen.find(&n); known != seen.end()) return known->second;
    bool any_held = false;
    const auto fits = [&](const Value* input) {
      const bool is_held =
          !is_f32(input) || find(*input) || (input->node() && gives_halves(*input->node(), seen, steps + 1));
      any_held = any_held || is_held;
      return is_held || (n.is<Concat>() && is_given(*input));
    };
    const bool gives = steps < most_steps && n.num_outputs() == 1 && commutes_with_rounding(n) &&
                       std::all_of(n.inputs().begin(), n.inputs().end(), fits) && any_held;
    return seen[&n] = gives;
  }
  static bool is_given(const Value& v) { return whole_of(v).kind() == Value::Kind::parameter; }

  Rewriter& rewriter_;
  DType half_;
  std::map<const Value*, Value*> halves_, masks_;
  std::vector<Node*> widened_;  // casts
};

void narrow_all_products(Rewriter& rewriter) {
  const Precision precision = rewriter.precision();
  if (half_of(precision) && !is_of_weights(precision)) Narrower(rewriter).run();
}

}  // namespace

Pass narrow_products() { return {"narrow_products", {narrowing_of_products}, narrow_all_products}; }

}  // namespace tenon
