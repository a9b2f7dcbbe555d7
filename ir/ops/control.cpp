// The rules of operators that carry regions.
#include "ir/ops/control.h"

#include <algorithm>

#include "base/error.h"
#include "ir/data_size.h"
#include "ir/ops/rules.h"
#include "ir/read_definition.h"

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

/// The types, but with the sizes that the node gives.
std::vector<Type> with_given(std::vector<Type> types, const GivenAxes& given) {
  for (std::size_t i = 0; i < types.size(); ++i)
    for (std::size_t axis = 0; axis < types[i].rank(); ++axis)
      if (const Dim* size = given.find(i, axis)) types[i].shape[axis] = *size;
  return types;
}

/// `types`: of the outputs that these may be places of.
void check_given(const GivenAxes& given, std::span<const Type> types) {
  for (std::size_t i = 0; i < given.sizes.size(); ++i) {
    if (given.at.size() < 2 * i + 2) throw error("{} sizes are given at {} places", given.sizes.size(), i);
    const std::int64_t output = given.at[2 * i], axis = given.at[2 * i + 1];
    if (output < 0 || output >= std::ssize(types) || axis < 0 ||
        axis >= std::ssize(types[static_cast<std::size_t>(output)].shape))
      throw error("a size is given for axis {} of result {}, which is not there", axis, output);
    const Dim& size = given.sizes[i];
    if (size.is_known()) continue;  // bound
    const auto symbols = size.symbols();
    if (symbols.size() != 1 || !is_data_size(symbols[0]) || !(size == Dim::symbol(symbols[0])))
      throw error("a given size is {}, not a symbol such as ?0", size.str());
  }
}

bool holds(const Tensor& condition) { return condition.get_int() != 0; }

}  // namespace

const Dim* GivenAxes::find(std::size_t output, std::size_t axis) const {
  for (std::size_t i = 0; i < sizes.size() && 2 * i + 1 < at.size(); ++i)
    if (at[2 * i] == static_cast<std::int64_t>(output) && at[2 * i + 1] == static_cast<std::int64_t>(axis))
      return &sizes[i];
  return nullptr;
}

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
  check_given(given(), bodies[0].results);
  check_given(given(), bodies[1].results);
  const std::vector<Type> first = with_given({bodies[0].results.begin(), bodies[0].results.end()}, given()),
                          second = with_given({bodies[1].results.begin(), bodies[1].results.end()}, given());
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
  check_given(given_to_step(), state);
  const std::vector<Type> before = with_given({state.begin(), state.end()}, given_to_step());
  std::vector<Type> expected = {Type{DType::i64, {}}};
  expected.insert(expected.end(), before.begin(), before.end());
  expected.insert(expected.end(), in.begin() + 1 + carried, in.end());
  check_parameters(expected, parameters);
  if (results.size() < state.size() + 1)
    throw error("the body has {} results for a condition and {} carried values", results.size(), carried);
  check_condition("the body's first result", results[0]);
  check_given(given_to_step(), TypeSpan(results).subspan(1, state.size()));
  const std::vector<Type> after =
      with_given({results.begin() + 1, results.begin() + 1 + carried}, given_to_step());
  for (std::size_t i = 0; i < state.size(); ++i)
    check_same(fmt::format("carried value {} after a step", i), after[i], before[i]);
  std::vector<Type> outputs(state.begin(), state.end());
  for (std::size_t i = state.size() + 1; i < results.size(); ++i) {
    const Dim* steps = given().find(i - 1, 0);
    if (!limit && !steps) throw error("slices are stacked, but the number of steps has no limit");
    Type stacked = results[i];
    stacked.shape.insert(stacked.shape.begin(), steps ? *steps : *limit);
    outputs.push_back(std::move(stacked));
  }
  check_given(given(), outputs);
  return with_given(std::move(outputs), given());
}

std::vector<Tensor> Loop::evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const {
  const auto count = static_cast<std::size_t>(carried);
  std::vector<std::vector<Tensor>> slices(out.size() - count);
  std::vector<Tensor> arguments = {Tensor::scalar(DType::i64, std::int64_t{0})};
  arguments.insert(arguments.end(), in.begin() + 1, in.end());
  bool go_on = holds(in[0]);
  for (std::int64_t step = 0; go_on && (!limit || step < limit->value()); ++step) {
    arguments[0] = Tensor::scalar(DType::i64, step);
    const std::vector<Tensor> results = bodies[0](arguments);
    go_on = holds(results[0]);
    std::copy_n(results.begin() + 1, count, arguments.begin() + 1);
    for (std::size_t i = 0; i < slices.size(); ++i) slices[i].push_back(results[count + 1 + i]);
  }
  std::vector<Tensor> outputs(arguments.begin() + 1, arguments.begin() + 1 + carried);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Index shape = eval(out[count + i].shape, {});
    shape[0] = static_cast<std::int64_t>(slices[i].size());
    outputs.push_back(Tensor::empty(out[count + i].dtype, shape));
    for (std::int64_t k = 0; k < shape[0]; ++k) {
      const Tensor& slice = slices[i][static_cast<std::size_t>(k)];
      outputs.back().slice(0, k, k + 1).reshape(slice.shape()).copy_from(slice);
    }
  }
  return outputs;
}

double Loop::flops(std::span<const double> bodies) const {
  return bodies[0] * (limit && limit->is_known() ? static_cast<double>(limit->value()) : 1);
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

bool runs_to_its_limit(const Node& loop) {
  const auto is_true = [](const Value* v) {
    return v->kind() == Value::Kind::literal && v->tensor().get_int() != 0;
  };
  return loop.as<Loop>()->limit && is_true(loop.input()) && is_true(loop.region().results()[0]);
}

bool may_stop(const Node& node) {
  if (node.is<Check>()) return true;
  return std::any_of(node.regions().begin(), node.regions().end(), [](const auto& region) {
    return std::any_of(region->nodes().begin(), region->nodes().end(),
                       [](const auto& inner) { return may_stop(*inner); });
  });
}

namespace {

bool gives_needed_size(const Node& node) {
  const auto sizes = given_sizes(node);
  std::set<std::string> needed;
  if (!sizes.empty())
    for (const Node* below = node.parent().next(&node); below; below = node.parent().next(below))
      needed_sizes(*below, needed);
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](const GivenSize& s) { return needed.contains(s.symbol); });
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
