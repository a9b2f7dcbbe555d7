// One spelling for one meaning.
#include <cmath>
#include <numeric>

#include "fusion/last_bits.h"
#include "fusion/passes.h"
#include "fusion/rule.h"
#include "fusion/rules/rules.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"
#include "ir/ops/math.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

const Pattern x = hole("x");

bool same_type(const Match& m) { return m["x"]->type() == m.root()->output()->type(); }
Ref keep_x(const Match& m, const InsertionPoint& point) { return Ref(m["x"], point); }

// An operator that gives back its operand.
template <class T>
Rule identity(std::string_view name) {
  return {.name = name, .patterns = {op<T>(x)}, .when = same_type, .build = keep_x};
}

Rule identity_slice() {
  return {.name = "identity_slice",
          .patterns = {op<Slice>(x)},
          .when = [](const Match& m) { return m.op<Slice>().step == 1 && same_type(m); },
          .build = keep_x};
}

// Two slices that lie side by side in x, and are all of it.
Rule joined_slices() {
  return {.name = "joined_slices",
          .patterns = {op<Concat>(op<Slice>(x), op<Slice>(x))},
          .when =
              [](const Match& m) {
                const Node& concat = *m.root();  // both may be one node
                const auto &first = *concat.input(0)->node()->as<Slice>(),
                           &second = *concat.input(1)->node()->as<Slice>();
                const std::int64_t axis = m.op<Concat>().axis;
                return first.axis == axis && second.axis == axis && first.step == 1 && second.step == 1 &&
                       first.start == Dim(0) && first.end == second.start && same_type(m);
              },
          .build = keep_x};
}

Rule identity_permute() {
  return {.name = "identity_permute",
          .patterns = {op<Permute>(x)},
          .when =
              [](const Match& m) {
                return std::is_sorted(m.op<Permute>().axes.begin(), m.op<Permute>().axes.end());
              },
          .build = keep_x};
}

Rule reshape_reshape() {
  return {.name = "reshape_reshape",
          .patterns = {op<Reshape>(op<Reshape>(x))},
          .build = [](const Match& m, const InsertionPoint& point) {
            return reshape(Ref(m["x"], point), m.op<Reshape>().shape);
          }};
}

Rule permute_permute() {
  return {.name = "permute_permute",
          .patterns = {op<Permute>(op<Permute>(x))},
          .build = [](const Match& m, const InsertionPoint& point) {
            Axes axes = m.op<Permute>(0).axes;
            for (auto& a : axes) a = m.op<Permute>(1).axes[static_cast<std::size_t>(a)];
            return permute(Ref(m["x"], point), axes);
          }};
}

bool is_power_of_two(double c) {
  int exponent = 0;
  return std::abs(std::frexp(c, &exponent)) == 0.5 && std::abs(exponent) < 100;
}

// x / c == x * (1/c), up to one rounding, which a power of two does not have.
Rule divide_by_number() {
  return {.name = "divide_by_number",
          .patterns = {x / number("c")},
          .when = [](const Match& m) { return m.number("c") != 0; },
          .refuse = [](const Match& m) -> std::string {
            if (is_power_of_two(m.number("c")) || !last_bits_decide(m.root()->output())) return {};
            return "the last bits of the quotient decide what is computed of it";
          },
          .build = [](const Match& m,
                      const InsertionPoint& point) { return Ref(m["x"], point) * (1 / m.number("c")); }};
}

// x * 1 and x + 0.
Rule times_one() {
  return {.name = "times_one",
          .patterns = {x * number("one"), number("one") * x},
          .when = [](const Match& m) { return m.number("one") == 1 && same_type(m); },
          .build = keep_x};
}

Rule plus_zero() {
  return {.name = "plus_zero",
          .patterns = {x + number("zero"), number("zero") + x, x - number("zero")},
          .when = [](const Match& m) { return m.number("zero") == 0 && same_type(m); },
          .build = keep_x};
}

// 1 / sqrt(x), up to one rounding.
Rule reciprocal_of_root() {
  return {.name = "reciprocal_of_root",
          .patterns = {1.0 / op<Sqrt>(x), op<Reciprocal>(op<Sqrt>(x))},
          .when = [](const Match& m) { return same_type(m) && !last_bits_decide(m.root()->output()); },
          .build = [](const Match& m, const InsertionPoint& point) { return rsqrt(Ref(m["x"], point)); }};
}

// The powers that PyTorch's own kernel computes without pow.
Rule special_power() {
  static const auto known = [](double p) {
    return p == 1 || p == 2 || p == 3 || p == 0.5 || p == -0.5 || p == -1;
  };
  return {.name = "special_power",
          .patterns = {op<Pow>(x, number("p"))},
          .when =
              [](const Match& m) {
                const double p = m.number("p");
                return known(p) && (is_float(m["x"]->dtype()) || p >= 1);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref base(m["x"], point);
                const double p = m.number("p");
                if (p == 1) return base;
                if (p == 2) return base * base;
                if (p == 3) return base * base * base;
                return p == 0.5 ? sqrt(base) : p == -0.5 ? rsqrt(base) : reciprocal(base);
              }};
}

bool swaps_last_two(const Axes& axes) {
  const std::size_t n = axes.size();
  if (n < 2 || !std::is_sorted(axes.begin(), axes.end() - 2)) return false;
  const auto last = static_cast<std::int64_t>(n) - 1;
  return axes[n - 2] == last && axes[n - 1] == last - 1;
}

// x w^T is a linear layer; so is x w, with the weight transposed once.
Rule matmul_to_linear() {
  return {.name = "matmul_to_linear",
          .patterns = {op<MatMul>(x, hole("w^T"))},
          .when =
              [](const Match& m) {
                const Node* turned = m["w^T"]->node();
                const auto* permute = turned ? turned->as<Permute>() : nullptr;
                return permute && turned->input()->kind() == Value::Kind::weight &&
                       turned->input()->rank() == 2 && swaps_last_two(permute->axes);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return linear(Ref(m["x"], point), Ref(m["w^T"]->node()->input(), point));
              }};
}

Rule matmul_weight_to_linear() {
  return {.name = "matmul_weight_to_linear",
          .patterns = {op<MatMul>(x, hole("w"))},
          .when = [](const Match& m) { return m["w"]->kind() == Value::Kind::weight && m["w"]->rank() == 2; },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return linear(Ref(m["x"], point), permute(Ref(m["w"], point), {1, 0}));
              }};
}

// What an operand repeats: the value before an expand, the number of a full; null for others.
Value* repeated(const Value* operand) {
  const Node* def = operand->node();
  if (!def) return nullptr;
  if (def->is<Expand>()) return def->input();
  const auto* full = def->as<Full>();
  return full ? def->parent().literal(full->dtype, full->value) : nullptr;
}

// Pointwise operators broadcast by themselves.
void drop_broadcasts(Rewriter& rewriter) {
  for (const auto& node : rewriter.region().nodes()) {
    if (!node->op().is_pointwise() || node->inputs().size() < 2) continue;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      Value* value = repeated(node->input(i));
      if (!value) continue;
      std::vector<Type> types = node->input_types();
      types[i] = value->type();
      if (node->op().infer(types)[0] != node->output()->type() ||
          !rewriter.allowed("broadcast_operand", *node))
        continue;
      node->set_input(i, value);
      rewriter.record("broadcast_operand", node->source, node.get());
    }
  }
}

const std::vector<Rule>& canonical_rules() {
  static const std::vector<Rule> list = {
      identity<Reshape>("identity_reshape"),
      identity<Expand>("identity_expand"),
      identity<Cast>("identity_cast"),
      identity<Concat>("identity_concat"),
      identity_slice(),
      joined_slices(),
      identity_permute(),
      reshape_reshape(),
      permute_permute(),
      divide_by_number(),
      times_one(),
      plus_zero(),
      reciprocal_of_root(),
      not_of_equal(),
      bit_not_of_bool(),
      bit_and_of_bool(),
      bit_or_of_bool(),
      bit_xor_of_bool(),
      and_of_known(),
      or_of_known(),
      where_of_known(),
      special_power(),
      matmul_to_linear(),
      matmul_weight_to_linear(),
      linear_of_merged_rows(),
      linear_of_split_rows(),
      bias_of_merged_rows(),
      matmul_of_merged_batches(),
      matmul_of_repeated_matrix(),
      matmul_of_one_matrix(),
      permute_of_ones(),
      permute_of_merged_batches(),
      clamp_of_clamp(),
      causal_attention(),
      attention_of_own_scale(),
      attention_of_seen_keys(),
      attention_of_seen_rows(),
      attention_of_everything(),
      attention_of_repeated_heads(),
      max_pool_of_row(),
      pad_of_nothing(),
      parts_alike(),
      index_of_everything(),
      index_select_of_everything(),
      index_put_to_index_add(),
      scatter_of_covered(),
      scatter_to_index_add(),
  };
  return list;
}

// The operand that broadcasts comes second.
void order_operands(Rewriter& rewriter) {
  for (const auto& node : rewriter.region().nodes()) {
    if (!node->is<Add>() && !node->is<Mul>()) continue;
    Value *first = node->input(0), *second = node->input(1);
    const Type& type = node->output()->type();
    if (first->type() == type || second->type() != type || !rewriter.allowed("operand_order", *node))
      continue;
    node->set_input(0, second);
    node->set_input(1, first);
    rewriter.record("operand_order", node->source, node.get());
  }
}

}  // namespace

Pass canonicalise() {
  std::vector<std::string_view> all = names(canonical_rules());
  all.insert(all.end(), {"broadcast_operand", "operand_order", "pool_indices_not_read"});
  return {"canonicalise", std::move(all), [](Rewriter& rewriter) {
            drop_pool_indices(rewriter);
            apply_rules(rewriter, canonical_rules());
            drop_broadcasts(rewriter);
            order_operands(rewriter);
          }};
}

}  // namespace tenon
