// Pairs of numbers, as the parts of complex ones, that one function computes part by part:
//   concat(f(x[..., 0]), f(x[..., 1])) = f(x)
// f: pointwise operators, movements and running sums, whose other operands both parts share, or two numbers;
// a part alone may be negated, as that of a conjugate is. What moves single elements moves complex numbers.
#include <array>
#include <cstring>
#include <optional>

#include "fusion/rules/rules.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/bits.h"
#include "ir/ops/complex.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

/// x where the value is x[..., place] of two, or that part of complex x, in some shape; else null.
Value* whole_of(const Value* v, std::int64_t place) {
  const Node* cut = v->node();
  if (cut && cut->is<Reshape>()) cut = cut->input()->node();
  if (cut && (place == 0 ? cut->is<Real>() : cut->is<Imag>())) return cut->input();
  const Slice* slice = cut ? cut->as<Slice>() : nullptr;
  if (!slice || slice->step != 1 || slice->start != Dim(place) || slice->end != Dim(place + 1))
    return nullptr;
  Value* x = cut->input();
  const bool is_last = slice->axis + 1 == static_cast<std::int64_t>(x->rank());
  return is_last && x->shape().back() == Dim(2) ? x : nullptr;
}
/// x where these are its two parts; else null.
Value* parted(const Value* a, const Value* b) {
  Value* x = whole_of(a, 0);
  return x && x == whole_of(b, 1) ? x : nullptr;
}

/// A value's shape with two elements of each: of its pairs.
Shape pairs_of(const Shape& shape) {
  Shape pairs = shape;
  pairs.emplace_back(2);
  return pairs;
}
Ref shaped(const Ref& x, const Shape& shape) { return Shape(x.shape()) == shape ? x : reshape(x, shape); }

/// The same value, or the same number.
bool is_same(const Value* a, const Value* b) {
  if (a == b) return true;
  if (!a->is_constant() || !b->is_constant() || a->rank() != 0 || a->type() != b->type() ||
      is_string(a->dtype()) || !a->tensor().defined() || !b->tensor().defined())
    return false;
  return std::memcmp(a->tensor().bytes(), b->tensor().bytes(), size_of(a->dtype())) == 0;
}

/// Two numbers that differ.
bool are_numbers(const Value* a, const Value* b) {
  const auto is_number = [](const Value* v) { return v->is_constant() && v->rank() == 0; };
  return is_number(a) && is_number(b) && a->type() == b->type() && is_float(a->dtype()) && !is_same(a, b);
}

/// Of pairs of this dtype, where there are complex numbers of it.
std::optional<DType> complex_of(DType part) {
  if (part == DType::f32) return DType::c64;
  return part == DType::f64 ? std::optional(DType::c128) : std::nullopt;
}

/// Does the one pad with a number as the real part of a complex one, the other with zeros?
bool pad_with_a_number(const Op& real, const Op& imag) {
  const Pad *a = real.as<Pad>(), *b = imag.as<Pad>();
  return a && b && a->mode == PadMode::constant && a->mode == b->mode && a->pads == b->pads &&
         a->value != 0 && b->value == 0;
}

/// Movements of the elements along axes that are there, and sums along them, as they are with one axis more.
std::optional<Op> with_axis_behind(const Op& op, std::size_t rank) {
  if (op.is_pointwise() || op.is<Slice>() || op.is<Flip>() || op.is<Concat>() || op.is<IndexSelect>() ||
      op.is<IndexAt>() || op.is<IndexPut>() || op.is<IndexAdd>() || op.is<CumSum>())
    return op;
  if (const auto* permute = op.as<Permute>()) {
    Permute wider = *permute;
    wider.axes.push_back(static_cast<std::int64_t>(rank));
    return wider;
  }
  if (const auto* moved = op.as<Reshape>()) {
    Reshape wider = *moved;
    wider.shape = pairs_of(wider.shape);
    return wider;
  }
  if (const auto* stretched = op.as<Expand>()) {
    Expand wider = *stretched;
    wider.shape = pairs_of(wider.shape);
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

/// Does an operand hold elements that the operator moves? The others say where.
bool is_moved(const Op& op, std::size_t operand) {
  if (op.is<IndexPut>()) return operand < 2;
  if (op.is<IndexAdd>() || op.is<Scatter>()) return operand != 1;
  return operand == 0 || op.is<Concat>();
}

/// What is negated where the other part is not; else null.
Value* negated_alone(const Value* v, const Value* other) {
  const auto is_negated = [](const Value* x) { return x->node() && x->node()->is<Neg>(); };
  return is_negated(v) && !is_negated(other) && v->uses().size() == 1 ? v->node()->input() : nullptr;
}

/// What is reshaped where the other part is none of a function's; else null.
Value* reshaped_alone(const Value* v, const Value* other) {
  const bool is_part = whole_of(other, 0) || whole_of(other, 1);
  return is_part && v->node() && v->node()->is<Reshape>() && v->uses().size() == 1 ? v->node()->input()
                                                                                   : nullptr;
}

/// Does it sum along the last axis, or write to many single elements there? Pairs would be short rows, which
/// take longer.
bool works_on_elements(const Node& n) {
  if (const CumSum* sum = n.as<CumSum>())
    return sum->axis + 1 == static_cast<std::int64_t>(n.input()->rank());
  const IndexPut* put = n.as<IndexPut>();
  const IndexAdd* add = n.as<IndexAdd>();
  if (!put && !add) return false;
  const Value &x = *n.input(0), &written = *n.input(put ? 1 : 2);
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  return (put ? put->axes.back() : add->axis) == last &&
         (written.rank() == 0 || !known_less(numel(written.shape()) * 4, numel(x.shape())).value_or(false));
}

/// Does it move single elements, of a type that complex numbers have?
bool moves_numbers(const Node& n) {
  const IndexPut* put = n.as<IndexPut>();
  const Scatter* scatter = n.as<Scatter>();
  const bool moves = n.is<Gather>() || (put && !put->accumulate && works_on_elements(n)) ||
                     (scatter && scatter->reduce == ScatterReduce::none);
  return moves && complex_of(n.output()->dtype());
}

/// Has it a form of pairs?
bool takes_pairs(const Node& n) {
  return moves_numbers(n) || (with_axis_behind(n.op(), n.input()->rank()) && !works_on_elements(n));
}

/// Are these the same function of two parts of the same values?
bool are_alike(const Value* a, const Value* b, int most_deep = 32) {
  if (parted(a, b) || are_numbers(a, b)) return true;
  if (const Value* x = negated_alone(a, b)) return most_deep > 0 && are_alike(x, b, most_deep - 1);
  if (const Value* y = negated_alone(b, a)) return most_deep > 0 && are_alike(a, y, most_deep - 1);
  if (const Value* x = reshaped_alone(a, b)) return most_deep > 0 && are_alike(x, b, most_deep - 1);
  if (const Value* y = reshaped_alone(b, a)) return most_deep > 0 && are_alike(a, y, most_deep - 1);
  const Node *f = a->node(), *g = b->node();
  if (!f || !g || a == b || most_deep == 0 || a->type() != b->type() ||
      !(f->op() == g->op() || (pad_with_a_number(f->op(), g->op()) && complex_of(a->dtype()))) ||
      f->num_outputs() != 1 || a->uses().size() != 1 || b->uses().size() != 1 || f->inputs().empty() ||
      f->inputs().size() != g->inputs().size() || !takes_pairs(*f))
    return false;
  bool any = false;
  for (std::size_t i = 0; i < f->inputs().size(); ++i) {
    const Value *x = f->input(i), *y = g->input(i);
    const bool is_pointwise = f->op().is_pointwise();
    const bool may_be_alike = is_pointwise || is_moved(f->op(), i),
               must_be_alike = !is_pointwise && may_be_alike;
    const bool alike = may_be_alike && x->shape() == y->shape() && are_alike(x, y, most_deep - 1);
    if (!alike && (must_be_alike || !is_same(x, y))) return false;
    any = any || alike;
  }
  return any;
}

/// What both parts are: the function of the pairs.
Ref joined(Value* a, Value* b, const InsertionPoint& point) {
  if (Value* x = parted(a, b)) return shaped(bitcast(a->dtype(), {x, point}), pairs_of(a->shape()));
  if (are_numbers(a, b)) return concat(std::array{reshape({a, point}, {1}), reshape({b, point}, {1})}, 0);
  const auto by_signs = [&](Value* x, Value* y, double re, double im) {
    const Ref signs[] = {full({1}, re, a->dtype(), point), full({1}, im, a->dtype(), point)};
    return joined(x, y, point) * concat(signs, 0);
  };
  if (Value* x = negated_alone(a, b)) return by_signs(x, b, -1, 1);
  if (Value* y = negated_alone(b, a)) return by_signs(a, y, 1, -1);
  if (Value* x = reshaped_alone(a, b)) return shaped(joined(x, b, point), pairs_of(a->shape()));
  if (Value* y = reshaped_alone(b, a)) return shaped(joined(a, y, point), pairs_of(b->shape()));
  const Node& f = *a->node();
  if (pad_with_a_number(f.op(), b->node()->op())) {
    const Ref numbers = bitcast(*complex_of(a->dtype()), joined(f.input(), b->node()->input(), point));
    return bitcast(a->dtype(), tenon::apply(f.op(), std::array{numbers}));
  }
  const auto numbers = moves_numbers(f) ? complex_of(a->dtype()) : std::nullopt;
  std::vector<Ref> operands;
  for (std::size_t i = 0; i < f.inputs().size(); ++i) {
    Value *x = f.input(i), *y = b->node()->input(i);
    if (x->shape() == y->shape() && are_alike(x, y)) {
      const Ref pairs = joined(x, y, point);
      operands.push_back(numbers ? bitcast(*numbers, pairs) : pairs);
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
  if (numbers) return bitcast(a->dtype(), tenon::apply(f.op(), operands));
  return tenon::apply(*with_axis_behind(f.op(), f.input()->rank()), operands);
}

/// Pairs of numbers are no function of others.
bool are_numbers_in_some_shape(const Value* a, const Value* b) {
  const auto within = [](const Value* v) {
    while (v->node() && v->node()->is<Reshape>()) v = v->node()->input();
    return v;
  };
  return are_numbers(within(a), within(b));
}

}  // namespace

Rule parts_alike() {
  return {.name = "parts_alike",
          .patterns = {op<Concat>(hole("a"), hole("b"))},
          .when =
              [](const Match& m) {
                const Value *a = m["a"], *b = m["b"];
                const bool is_last = m.op<Concat>().axis + 1 == static_cast<std::int64_t>(a->rank());
                return is_last && a->shape().back() == Dim(1) && b->shape().back() == Dim(1) &&
                       !are_numbers_in_some_shape(a, b) && are_alike(a, b);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Shape& part = m["a"]->shape();
                return shaped(joined(m["a"], m["b"], point), pairs_of(Shape(part.begin(), part.end() - 1)));
              }};
}

}  // namespace tenon
