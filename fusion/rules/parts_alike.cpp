// Pairs of numbers, as the parts of complex ones, that one function computes part by part:
//   concat(reshape(f(x[..., 0])), reshape(f(x[..., 1]))) = f(x)
// f: pointwise operators and movements, whose other operands both parts share.
#include <cstring>
#include <optional>

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

/// x where a is x[..., 0] and b is x[..., 1] of two; null where they are not.
Value* parted(const Value* a, const Value* b) {
  const auto part = [](const Value* v, std::int64_t place) -> Value* {
    if (!v->node() || !v->node()->is<Reshape>()) return nullptr;
    const Node* cut = v->node()->input()->node();
    const Slice* slice = cut ? cut->as<Slice>() : nullptr;
    if (!slice || slice->step != 1 || slice->start != Dim(place) || slice->end != Dim(place + 1))
      return nullptr;
    Value* x = cut->input();
    Shape pairs = v->shape();
    pairs.emplace_back(2);
    return x->shape() == pairs && slice->axis == static_cast<std::int64_t>(v->rank()) ? x : nullptr;
  };
  Value* x = part(a, 0);
  return x && x == part(b, 1) ? x : nullptr;
}

/// The same value, or the same number.
bool is_same(const Value* a, const Value* b) {
  if (a == b) return true;
  if (!a->is_constant() || !b->is_constant() || a->rank() != 0 || a->type() != b->type() ||
      is_string(a->dtype()) || !a->tensor().defined() || !b->tensor().defined())
    return false;
  return std::memcmp(a->tensor().bytes(), b->tensor().bytes(), size_of(a->dtype())) == 0;
}

/// Movements of the elements along axes that are there, as they are with one axis more.
std::optional<Op> with_axis_behind(const Op& op, std::size_t rank) {
  if (op.is_pointwise() || op.is<Slice>() || op.is<IndexSelect>() || op.is<Concat>()) return op;
  if (const auto* permute = op.as<Permute>()) {
    Permute wider = *permute;
    wider.axes.push_back(static_cast<std::int64_t>(rank));
    return wider;
  }
  if (const auto* moved = op.as<Reshape>()) {
    Reshape wider = *moved;
    wider.shape.emplace_back(2);
    return wider;
  }
  if (const auto* stretched = op.as<Expand>()) {
    Expand wider = *stretched;
    wider.shape.emplace_back(2);
    return wider;
  }
  if (const auto* padded = op.as<Pad>()) {
    Pad wider = *padded;
    wider.pads.insert(wider.pads.begin() + static_cast<std::ptrdiff_t>(rank), Dim(0));
    wider.pads.emplace_back(0);
    return wider;
  }
  return std::nullopt;
}

/// Are these the same function of two parts of the same values?
bool are_alike(const Value* a, const Value* b, int most_deep = 32) {
  if (parted(a, b)) return true;
  const Node *f = a->node(), *g = b->node();
  if (!f || !g || a == b || most_deep == 0 || a->type() != b->type() || !(f->op() == g->op()) ||
      f->num_outputs() != 1 || a->uses().size() != 1 || b->uses().size() != 1 || f->inputs().empty() ||
      f->inputs().size() != g->inputs().size() || !with_axis_behind(f->op(), f->input()->rank()))
    return false;
  bool any = false;
  for (std::size_t i = 0; i < f->inputs().size(); ++i) {
    const Value *x = f->input(i), *y = g->input(i);
    const bool may_be_alike = f->op().is_pointwise() || f->is<Concat>() || i == 0;
    const bool must_be_alike = !f->op().is_pointwise() && may_be_alike;
    const bool alike = may_be_alike && are_alike(x, y, most_deep - 1);
    if (!alike && (must_be_alike || !is_same(x, y))) return false;
    any = any || alike;
  }
  return any;
}

/// What both parts are: the function of the pairs.
Ref joined(const Value* a, const Value* b, const InsertionPoint& point) {
  if (Value* x = parted(a, b)) return {x, point};
  const Node& f = *a->node();
  std::vector<Ref> operands;
  for (std::size_t i = 0; i < f.inputs().size(); ++i) {
    Value *x = f.input(i), *y = b->node()->input(i);
    if (are_alike(x, y)) {
      operands.push_back(joined(x, y, point));
      continue;
    }
    Ref shared(x, point);
    if (f.op().is_pointwise() && shared.rank() > 0) {
      Shape shape = shared.shape();
      shape.emplace_back(1);
      shared = reshape(shared, shape);
    }
    operands.push_back(shared);
  }
  return tenon::apply(*with_axis_behind(f.op(), f.input()->rank()), operands);
}

/// The part of which the value is one element of the last axis; null: of none.
const Value* part_of(const Value* v) {
  if (!v->node() || !v->node()->is<Reshape>() || v->rank() == 0 || v->shape().back() != Dim(1))
    return nullptr;
  const Value* part = v->node()->input();
  return Shape(v->shape().begin(), v->shape().end() - 1) == part->shape() ? part : nullptr;
}

}  // namespace

Rule parts_alike() {
  return {
      .name = "parts_alike",
      .patterns = {op<Concat>(hole("a"), hole("b"))},
      .when =
          [](const Match& m) {
            const Value *a = part_of(m["a"]), *b = part_of(m["b"]);
            const bool is_last = m.op<Concat>().axis + 1 == static_cast<std::int64_t>(m["a"]->rank());
            return a && b && is_last && are_alike(a, b);
          },
      .build = [](const Match& m,
                  const InsertionPoint& point) { return joined(part_of(m["a"]), part_of(m["b"]), point); }};
}

}  // namespace tenon
