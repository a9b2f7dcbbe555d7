// The rules of operators that carry regions.
#include "ir/ops/control.h"

#include <algorithm>

#include "base/error.h"
#include "ir/data_size.h"
#include "ir/ops/families.h"
#include "ir/ops/rules.h"

namespace tenon {
namespace {

void check_condition(const char* what, const Type& type) {
  if (type != Type{DType::boolean, {}}) throw error("{} is {}, not bool[]", what, type.str());
}

void check_same(const std::string& what, const Type& is, const Type& expected) {
  if (is != expected) throw error("{} is {}, not {}", what, is.str(), expected.str());
}

void check_parameters(std::span<const Type> expected, std::span<const Type> parameters) {
  if (parameters.size() != expected.size())
    throw error("the region has {} parameters for {} values", parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    check_same(fmt::format("parameter {} of the region", i), parameters[i], expected[i]);
}

bool holds(const Tensor& condition) { return condition.get_int() != 0; }

}  // namespace

std::vector<Type> Fused::infer(TypeSpan in, RegionTypes bodies) const {
  check_parameters(in, bodies[0].parameters);
  return bodies[0].results;
}

std::vector<Tensor> Fused::evaluate(InSpan in, RegionFunctions bodies, TypeSpan) const {
  return bodies[0](in);
}

std::vector<Type> If::infer(TypeSpan in, RegionTypes bodies) const {
  check_condition("the condition", in[0]);
  for (const RegionType& region : bodies) check_parameters(in.subspan(1), region.parameters);
  const std::vector<Type>&first = bodies[0].results, &second = bodies[1].results;
  if (first.size() != second.size())
    throw error("one branch has {} results, the other {}", first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] != second[i])
      throw error("result {} is {} in one branch and {} in the other", i, first[i].str(), second[i].str());
  return first;
}

std::vector<Tensor> If::evaluate(InSpan in, RegionFunctions bodies, TypeSpan) const {
  return bodies[holds(in[0]) ? 0 : 1](in.subspan(1));
}

std::vector<Type> Loop::infer(TypeSpan in, RegionTypes bodies) const {
  const auto [parameters, results] = bodies[0];
  if (carried < 0 || in.size() < static_cast<std::size_t>(carried) + 1)
    throw error("{} values are carried, {} operands follow the condition", carried, in.size() - 1);
  const auto state = in.subspan(1, static_cast<std::size_t>(carried));
  check_condition("the condition", in[0]);
  std::vector<Type> expected = {Type{DType::i64, {}}};
  expected.insert(expected.end(), in.begin() + 1, in.end());
  check_parameters(expected, parameters);
  if (results.size() < state.size() + 1)
    throw error("the body has {} results for a condition and {} carried values", results.size(), carried);
  check_condition("the body's first result", results[0]);
  for (std::size_t i = 0; i < state.size(); ++i)
    check_same(fmt::format("carried value {} after a step", i), results[i + 1], state[i]);
  std::vector<Type> outputs(state.begin(), state.end());
  for (std::size_t i = state.size() + 1; i < results.size(); ++i) {
    if (!limit) throw error("slices are stacked, but the number of steps has no limit");
    Type stacked = results[i];
    stacked.shape.insert(stacked.shape.begin(), *limit);
    outputs.push_back(std::move(stacked));
  }
  return outputs;
}

std::vector<Tensor> Loop::evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const {
  const auto count = static_cast<std::size_t>(carried);
  std::vector<Tensor> stacked;
  for (const Type& type : out.subspan(count))
    stacked.push_back(Tensor::empty(type.dtype, eval(type.shape, {})));
  std::vector<Tensor> arguments = {Tensor::scalar(DType::i64, std::int64_t{0})};
  arguments.insert(arguments.end(), in.begin() + 1, in.end());
  bool go_on = holds(in[0]);
  for (std::int64_t step = 0; go_on && (!limit || step < limit->value()); ++step) {
    arguments[0] = Tensor::scalar(DType::i64, step);
    const std::vector<Tensor> results = bodies[0](arguments);
    go_on = holds(results[0]);
    std::copy_n(results.begin() + 1, count, arguments.begin() + 1);
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      const Tensor& slice = results[count + 1 + i];
      stacked[i].slice(0, step, step + 1).reshape(slice.shape()).copy_from(slice);
    }
  }
  std::vector<Tensor> outputs(arguments.begin() + 1, arguments.begin() + 1 + carried);
  outputs.insert(outputs.end(), stacked.begin(), stacked.end());
  return outputs;
}

double Loop::flops(std::span<const double> bodies) const {
  return bodies[0] * (limit ? static_cast<double>(limit->value()) : 1);
}

std::optional<std::size_t> Loop::input_of(std::size_t parameter) const {
  return parameter == 0 ? std::nullopt : std::optional(parameter);
}

std::vector<Type> Check::infer(TypeSpan in) const {
  check_condition("the condition", in[0]);
  return {};
}

void Check::reference(InSpan in, OutSpan) const {
  if (!holds(in[0])) throw error("{}", message);
}

namespace {

bool may_stop(const Node& node) {
  if (node.is<Check>()) return true;
  return std::any_of(node.regions().begin(), node.regions().end(), [](const auto& region) {
    return std::any_of(region->nodes().begin(), region->nodes().end(),
                       [](const auto& inner) { return may_stop(*inner); });
  });
}

bool gives_needed_size(const Node& node) {
  const auto size = given_size(node.op());
  std::set<std::string> needed;
  if (size)
    for (const Node* below = node.parent().next(&node); below; below = node.parent().next(below))
      needed_sizes(*below, needed);
  return size && needed.contains(*size);
}

}  // namespace

bool is_dead(const Node& node) {
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (!node.output(i)->uses().empty()) return false;
  return !may_stop(node) && !gives_needed_size(node);
}

std::vector<Region*> program_regions(Graph& graph) {
  std::vector<Region*> regions = {&graph.body()};
  for (std::size_t i = 0; i < regions.size(); ++i)
    for (const auto& node : regions[i]->nodes())
      if (!node->is<Fused>())
        for (const auto& inner : node->regions()) regions.push_back(inner.get());
  std::reverse(regions.begin(), regions.end());
  return regions;
}

std::vector<const Region*> program_regions(const Graph& graph) {
  const auto regions = program_regions(const_cast<Graph&>(graph));
  return {regions.begin(), regions.end()};
}

std::vector<const OpInfo*> control_ops() { return family(Control{}); }

}  // namespace tenon
