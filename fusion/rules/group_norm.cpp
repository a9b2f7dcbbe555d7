// ONNX's exporters write a group norm as an instance norm of the groups, with a scale and shift behind it.
//   reshape(group_norm(reshape(x, [N,G,...]), ones, zeros), [N,C,...]) = group_norm(reshape(x, [N,C,...]))
//   group_norm(x, ones, zeros) * w = group_norm(x, w)        w: one number for each channel
//   group_norm(x, w) + b = group_norm(x, w, b)
#include <span>

#include "fusion/rules/constants.h"
#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/norm.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

const Pattern x = hole("x");

/// A weight of which every element is this number.
bool is_all(const Value& weight, double number) {
  return weight.kind() == Value::Kind::weight &&
         every_element(weight, [=](double value) { return value == number; });
}

/// A weight that differs along the channels only.
bool is_of_channels(const Value& weight, const Value& of) {
  const std::size_t rank = weight.rank();
  if (weight.kind() != Value::Kind::weight || weight.dtype() != of.dtype() || rank > of.rank() ||
      rank + 1 < of.rank())
    return false;
  const std::size_t channels = rank + 1 - of.rank();
  for (std::size_t i = 0; i < rank; ++i)
    if (weight.shape()[i] != (i == channels ? of.shape()[1] : Dim(1))) return false;
  return true;
}

/// No scale and shift, or such as change nothing.
bool is_plain(const Match& m) { return !m.has("ones") || (is_all(*m["ones"], 1) && is_all(*m["zeros"], 0)); }

Ref flat(Value* weight, const InsertionPoint& point) {
  return reshape(Ref(weight, point), {numel(weight->shape())});
}

}  // namespace

Rule group_norm_of_groups() {
  return {.name = "group_norm_of_groups",
          .patterns = {op<Reshape>(op<GroupNorm>(op<Reshape>(x), hole("ones"), hole("zeros"))),
                       op<Reshape>(op<GroupNorm>(op<Reshape>(x)))},
          .when =
              [](const Match& m) {
                const Shape& whole = m.root()->output()->shape();
                const Shape& groups = m.find(op_info<GroupNorm>())->input()->shape();
                return whole.size() >= 2 && whole[0] == groups[0] && whole[1].is_known() &&
                       whole[1].value() % m.op<GroupNorm>().groups == 0 && is_plain(m);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref whole = reshape(Ref(m["x"], point), m.root()->output()->shape());
                return apply(GroupNorm(m.op<GroupNorm>()), {whole});
              }};
}

Rule group_norm_weight() {
  return {
      .name = "group_norm_weight",
      .patterns = {op<GroupNorm>(x) * hole("w"), op<GroupNorm>(x, hole("ones"), hole("zeros")) * hole("w")},
      .when = [](const Match& m) { return is_of_channels(*m["w"], *m["x"]) && is_plain(m); },
      .build =
          [](const Match& m, const InsertionPoint& point) {
            return apply(GroupNorm(m.op<GroupNorm>()), {Ref(m["x"], point), flat(m["w"], point)});
          }};
}

Rule group_norm_bias() {
  return {.name = "group_norm_bias",
          .patterns = {op<GroupNorm>(x, hole("w")) + hole("b")},
          .when = [](const Match& m) { return is_of_channels(*m["b"], *m["x"]); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return apply(GroupNorm(m.op<GroupNorm>()),
                             {Ref(m["x"], point), Ref(m["w"], point), flat(m["b"], point)});
              }};
}

}  // namespace tenon
