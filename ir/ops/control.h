// Operators that carry regions, and what a program says about itself.
#pragma once
#include <algorithm>

#include "ir/ops/spans.h"

namespace tenon {

using RegionTypes = std::span<const RegionType>;
using RegionFunctions = std::span<const RegionFunction>;

/// A group that one kernel computes: an anchor (convolution, matmul, ...) with pointwise operators and row
/// reductions around it, or these alone. The body's parameters are the operands, one for one; its results
/// are the outputs. Made by fusion, run as one step.
struct Fused : WithRegions<1, 0> {
  static constexpr std::string_view name = "fused";
  std::vector<Type> infer(TypeSpan in, RegionTypes bodies) const;
  std::vector<Tensor> evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const;
  double flops(std::span<const double> bodies) const { return bodies[0]; }
  std::optional<std::size_t> input_of(std::size_t parameter) const { return parameter; }
};

/// Axes of a node's outputs whose sizes it gives when it runs: `sizes[i]` ("?0") is that of axis
/// `at[2 * i + 1]` of output `at[2 * i]`. One size may stand at several places.
struct GivenAxes {
  std::span<const Dim> sizes;
  std::span<const std::int64_t> at;
  /// What it is at this place; null where the node does not give it.
  const Dim* find(std::size_t output, std::size_t axis) const;
};

/// The results of the first region when the condition (bool, rank 0) holds, else those of the second.
/// Operands: condition, operands...; the operands are the parameters of both regions. The regions' results
/// agree in number and types, but for the axes whose sizes the node gives.
struct If : WithRegions<2, 1> {
  static constexpr std::string_view name = "if";
  Shape sizes;
  std::vector<std::int64_t> at;
  static constexpr auto fields = std::tuple{field("sizes", &If::sizes), field("at", &If::at)};
  GivenAxes given() const { return {sizes, at}; }
  std::vector<Type> infer(TypeSpan in, RegionTypes bodies) const;
  std::vector<Tensor> evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const;
  /// Of the more expensive region.
  double flops(std::span<const double> bodies) const { return std::max(bodies[0], bodies[1]); }
  std::optional<std::size_t> input_of(std::size_t parameter) const { return parameter + 1; }
};

/// Runs its body while a condition holds, and at most `limit` times.
/// Operands: condition (bool, rank 0), carried..., invariants...; `carried` says how many are carried.
/// Parameters of the body: the number of the step (i64, rank 0), carried..., invariants....
/// Its results: whether to go on (bool, rank 0), carried..., slices....
/// Outputs: the last carried values (the operands when no step ran), then each slice of all steps, stacked on
/// a new first axis of size `limit`, which must be the number of steps then (the literal `true` is the
/// condition and the body's first result), or of a size that the node gives: the number of steps that ran. An
/// axis of a carried value may change from step to step: the node gives its size after the loop, and
/// `step_sizes` (one for each such place, which stand first in `at`) are the sizes before a step.
struct Loop : WithRegions<1, 1> {
  static constexpr std::string_view name = "loop";
  std::int64_t carried = 0;
  std::optional<Dim> limit;
  Shape sizes, step_sizes;
  std::vector<std::int64_t> at;
  static constexpr auto fields =
      std::tuple{field("carried", &Loop::carried), field("limit", &Loop::limit), field("sizes", &Loop::sizes),
                 field("at", &Loop::at), field("step_sizes", &Loop::step_sizes)};
  GivenAxes given() const { return {sizes, at}; }
  /// The same for the parameters of the body.
  GivenAxes given_to_step() const { return {step_sizes, at}; }
  std::vector<Type> infer(TypeSpan in, RegionTypes bodies) const;
  std::vector<Tensor> evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const;
  /// Of `limit` steps; of one where there is no limit.
  double flops(std::span<const double> bodies) const;
  std::optional<std::size_t> input_of(std::size_t parameter) const;
};

/// Throws an Error with this message when the condition (bool, rank 0) does not hold. Has no output; it
/// stays where it stands.
struct Check : WithReference<1> {
  static constexpr std::string_view name = "check";
  std::string message;
  static constexpr auto fields = std::tuple{field("message", &Check::message)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

using Control = OpList<Fused, If, Loop, Check>;

/// True for a loop with a limit whose number of steps it is: nothing ends the loop before.
bool runs_to_its_limit(const Node& loop);

/// True for a check, and an if or loop with one inside.
bool may_stop(const Node& node);

/// True when a node can go: nobody reads its outputs, it cannot stop the run, and no node below needs the
/// size that it gives.
bool is_dead(const Node& node);

/// The regions that run as programs: those of if and loop, inner ones first, then the body. The bodies of
/// fused groups are none.
std::vector<Region*> program_regions(Graph& graph);
std::vector<const Region*> program_regions(const Graph& graph);

}  // namespace tenon
