// Exporters merge the leading axes around matrix products: a batch of rows becomes one long matrix.
//   linear(reshape(x, [M,K]), w) = reshape(linear(x, w), [M,D])
//   reshape(linear(reshape(x, [M,K]), w), [L,D]) = linear(reshape(x, [L,K]), w)
//   matmul(reshape(a, [B,m,k]), reshape(b, [B,k,n])) = reshape(matmul(a, b), [B,m,n])
//   matmul(a, expand(b, [B,k,n])) = matmul(a, b)        for a of B matrices
//   matmul(a, w) = linear(a, w[0]^T)                    for one matrix w
//   reshape(permute(reshape(x, [B,m,k]), [0,2,1]), [...,k,m]) = permute(reshape(x, [...,m,k]))
//   permute(x) = reshape(x)                             where only axes of size 1 move
// Without the merging, one spelling is left, and the reshapes meet and vanish.
#include <numeric>

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

Shape leading(const Value* v, std::size_t kept) {
  return Shape(v->shape().begin(), v->shape().end() - static_cast<std::ptrdiff_t>(kept));
}

Shape without_ones(Shape shape) {
  std::erase(shape, Dim(1));
  return shape;
}

/// What a value merges the leading axes of, keeping the last ones; null: nothing.
Value* unmerged(const Value* merged, std::size_t kept) {
  if (!merged->node() || !merged->node()->is<Reshape>()) return nullptr;
  Value* from = merged->node()->input();
  if (merged->rank() < kept || from->rank() < kept) return nullptr;
  if (from->rank() <= merged->rank() &&
      without_ones(from->shape()).size() <= without_ones(merged->shape()).size())
    return nullptr;
  const auto last = static_cast<std::ptrdiff_t>(kept);
  const bool keeps =
      std::equal(from->shape().end() - last, from->shape().end(), merged->shape().end() - last);
  return keeps && numel(leading(from, kept)) == numel(leading(merged, kept)) ? from : nullptr;
}

/// Only axes of size 1 differ: a row was taken out, none were merged.
bool drops_ones(const Shape& from, const Shape& to) { return without_ones(from) == without_ones(to); }

/// The only node that reads a value; null when there are none or several.
const Node* only_reader(const Value* v) { return v->uses().size() == 1 ? v->uses()[0].node : nullptr; }

/// Read, once a bias is added, only as a tensor with these leading axes.
bool is_read_with(const Value* rows, const Shape& lead) {
  const Node* reader = only_reader(rows);
  if (reader && reader->is<Add>()) reader = only_reader(reader->output());
  const Reshape* split = reader ? reader->as<Reshape>() : nullptr;
  return split && split->shape.size() >= lead.size() &&
         std::equal(lead.begin(), lead.end(), split->shape.begin());
}

/// The matrices with their leading axis split, when they are read only so; null otherwise.
const Value* split_batches(const Value* matrices) {
  const Node* reader = only_reader(matrices);
  if (!reader || !reader->is<Reshape>() || reader->output()->rank() <= matrices->rank()) return nullptr;
  const Shape &from = matrices->shape(), &to = reader->output()->shape();
  return std::equal(from.end() - 2, from.end(), to.end() - 2) ? reader->output() : nullptr;
}

Ref with_leading(const Ref& x, Shape lead) {
  lead.insert(lead.end(), x.shape().end() - 2, x.shape().end());
  return reshape(x, lead);
}

}  // namespace

Rule linear_of_merged_rows() {
  return {.name = "linear_of_merged_rows",
          .patterns = {op<Linear>(hole("rows"), hole("w"))},
          .when =
              [](const Match& m) {
                const Value* whole = unmerged(m["rows"], 1);
                return whole && (!drops_ones(whole->shape(), m["rows"]->shape()) ||
                                 is_read_with(m.root()->output(), leading(whole, 1)));
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref x(unmerged(m["rows"], 1), point);
                return reshape(linear(x, Ref(m["w"], point)), m.root()->output()->shape());
              }};
}

Rule linear_of_split_rows() {
  // The rows' source has other axes than the result: [2,12,4,8] is read as [24,32], and the result as
  // [2,12,D].
  const auto linear_of = [](const Match& m) { return m.find(op_info<Linear>()); };
  return {.name = "linear_of_split_rows",
          .patterns = {op<Reshape>(op<Linear>(op<Reshape>(hole("x")), hole("w"))),
                       op<Reshape>(op<Linear>(op<Reshape>(hole("x")), hole("w"), hole("b")))},
          .when =
              [linear_of](const Match& m) {
                const Shape &rows = linear_of(m)->output()->shape(), &split = m.op<Reshape>().shape;
                return split.size() > rows.size() && split.back() == rows.back();
              },
          .build =
              [linear_of](const Match& m, const InsertionPoint& point) {
                Shape shape = m.op<Reshape>().shape;
                shape.back() = linear_of(m)->input()->shape().back();
                std::vector<Ref> operands = {reshape(Ref(m["x"], point), shape), Ref(m["w"], point)};
                if (m.has("b")) operands.emplace_back(m["b"], point);
                return apply(Op(*linear_of(m)->as<Linear>()), std::span<const Ref>(operands));
              }};
}

Rule bias_of_merged_rows() {
  return {.name = "bias_of_merged_rows",
          .patterns = {op<Reshape>(op<Linear>(hole("x"), hole("w"))) + hole("b")},
          .when =
              [](const Match& m) {
                const Shape& rows = m.find(op_info<Linear>())->output()->shape();
                const Shape& merged = m.op<Reshape>().shape;
                return m["b"]->kind() == Value::Kind::weight && m["b"]->rank() == 1 && !merged.empty() &&
                       rows.back() == merged.back() && m.root()->output()->shape() == merged;
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref y = linear(Ref(m["x"], point), Ref(m["w"], point)) + Ref(m["b"], point);
                return reshape(y, m.op<Reshape>().shape);
              }};
}

Rule matmul_of_repeated_matrix() {
  const auto matrix = [](const Match& m) -> Value* {
    const Node* repeats = m["b"]->node();
    return repeats && repeats->is<Expand>() && repeats->input()->rank() == 2 ? repeats->input() : nullptr;
  };
  return {.name = "matmul_of_repeated_matrix",
          .patterns = {op<MatMul>(hole("a"), hole("b"))},
          .when = [matrix](const Match& m) { return matrix(m) && m["a"]->rank() == m["b"]->rank(); },
          .build =
              [matrix](const Match& m, const InsertionPoint& point) {
                return matmul(Ref(m["a"], point), Ref(matrix(m), point));
              }};
}

Rule matmul_of_one_matrix() {
  return {.name = "matmul_of_one_matrix",
          .patterns = {op<MatMul>(hole("a"), hole("b"))},
          .when =
              [](const Match& m) {
                const Shape &a = m["a"]->shape(), &b = m["b"]->shape();
                return a.size() == 3 && b.size() == 3 && a[0] == Dim(1) && b[0] == Dim(1) &&
                       m["b"]->kind() == Value::Kind::weight;
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref a(m["a"], point), b(m["b"], point);
                const Ref turned = permute(b, {0, 2, 1});
                return linear(a, reshape(turned, {b.shape()[2], b.shape()[1]}));
              }};
}

Rule permute_of_merged_batches() {
  return {.name = "permute_of_merged_batches",
          .patterns = {op<Reshape>(op<Permute>(op<Reshape>(hole("x"))))},
          .when =
              [](const Match& m) {
                const Axes& axes = m.op<Permute>().axes;
                const Shape &turned = m.find(op_info<Permute>())->output()->shape(),
                            &split = m.root()->output()->shape();
                return !axes.empty() && axes[0] == 0 && split.size() > turned.size() &&
                       std::equal(turned.begin() + 1, turned.end(),
                                  split.end() - static_cast<std::ptrdiff_t>(turned.size() - 1));
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Node& turn = *m.find(op_info<Permute>());
                const Axes& inner = m.op<Permute>().axes;
                Shape shape = leading(m.root()->output(), inner.size() - 1);
                const auto more = static_cast<std::int64_t>(shape.size()) - 1;
                Axes axes(shape.size());
                std::iota(axes.begin(), axes.end(), 0);
                for (std::size_t i = 1; i < inner.size(); ++i) {
                  shape.push_back(turn.input()->shape()[i]);
                  axes.push_back(inner[i] + more);
                }
                return permute(reshape(Ref(m["x"], point), shape), axes);
              }};
}

Rule permute_of_ones() {
  static const auto moves_ones = [](const Match& m) {
    std::vector<std::int64_t> kept;
    for (const std::int64_t axis : m.op<Permute>().axes)
      if (m["x"]->shape()[static_cast<std::size_t>(axis)] != Dim(1)) kept.push_back(axis);
    return std::is_sorted(kept.begin(), kept.end());
  };
  return {.name = "permute_of_ones",
          .patterns = {op<Permute>(hole("x"))},
          .when = moves_ones,
          .build = [](const Match& m, const InsertionPoint& point) {
            return reshape(Ref(m["x"], point), m.root()->output()->shape());
          }};
}

Rule matmul_of_merged_batches() {
  return {.name = "matmul_of_merged_batches",
          .patterns = {op<MatMul>(hole("a"), hole("b"))},
          .when =
              [](const Match& m) {
                const Value &a = *m["a"], &b = *m["b"];
                return a.rank() == 3 && b.rank() == 3 && a.shape()[0] == b.shape()[0] &&
                       (unmerged(&a, 2) || unmerged(&b, 2));
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref a(m["a"], point), b(m["b"], point);
                const Value* whole = unmerged(m["a"], 2) ? unmerged(m["a"], 2) : unmerged(m["b"], 2);
                const Value* split = split_batches(m.root()->output());
                const Shape lead = leading(split ? split : whole, 2);
                return reshape(matmul(with_leading(a, lead), with_leading(b, lead)),
                               m.root()->output()->shape());
              }};
}

}  // namespace tenon
