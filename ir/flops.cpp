#include "ir/flops.h"

#include <algorithm>

#include "ir/build.h"

namespace tenon {
namespace {

double flops(const Region& region) {
  double sum = 0;
  for (const auto& node : region.nodes()) sum += tenon::flops(*node);
  return sum;
}

double pointwise_flops(const Op& op, std::span<const Type> in, const Type& out) {
  std::vector<DType> dtypes;
  for (const Type& t : in) dtypes.push_back(t.dtype);
  const ScalarProgram program = flatten(expr_of(op), dtypes);
  const auto operations = std::count_if(program.steps.begin(), program.steps.end(), [](const ScalarStep& s) {
    return s.kind == Expr::Kind::prim && s.prim != Prim::cast;
  });
  return static_cast<double>(operations) * elements(out);
}

double composite_flops(const Op& op, std::span<const Type> in) {
  Graph graph;
  const InsertionPoint point{&graph.body()};
  std::vector<Ref> operands;
  for (const Type& t : in) operands.emplace_back(graph.body().add_parameter(t), point);
  op.info().decompose(op.self(), operands);
  return flops(graph.body());
}

}  // namespace

double flops(const Node& node) {
  const Op& op = node.op();
  if (op.info().region_rules) {
    std::vector<double> regions;
    for (const auto& region : node.regions()) regions.push_back(flops(*region));
    return op.info().region_rules->flops(op.self(), regions);
  }
  const std::vector<Type> in = node.input_types();
  std::vector<Type> out;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) out.push_back(node.output(i)->type());
  const auto is_known = [](const Type& t) { return known_sizes(t.shape).has_value(); };
  if (!std::all_of(in.begin(), in.end(), is_known) || !std::all_of(out.begin(), out.end(), is_known))
    return 0;
  if (op.is_pointwise()) return pointwise_flops(op, in, out[0]);
  if (op.info().op_kind == OpKind::composite) return composite_flops(op, in);
  return op.info().flops ? op.info().flops(op.self(), in, out) : 0;
}

}  // namespace tenon
