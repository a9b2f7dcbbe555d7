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

/// The results of the first region when the condition (bool, rank 0) holds, else those of the second.
/// Operands: condition, operands...; the operands are the parameters of both regions. The regions' results
/// agree in number and types.
struct If : WithRegions<2, 1> {
  static constexpr std::string_view name = "if";
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
/// a new first axis of size `limit`. Where there are slices the number of steps must be known: a limit, and
/// the literal `true` as the condition and as the body's first result.
struct Loop : WithRegions<1, 1> {
  static constexpr std::string_view name = "loop";
  std::int64_t carried = 0;
  std::optional<Dim> limit;
  static constexpr auto fields = std::tuple{field("carried", &Loop::carried), field("limit", &Loop::limit)};
  std::vector<Type> infer(TypeSpan in, RegionTypes bodies) const;
  std::vector<Tensor> evaluate(InSpan in, RegionFunctions bodies, TypeSpan out) const;
  /// Of `limit` steps; of one where there is no limit.
  double flops(std::span<const double> bodies) const;
  std::optional<std::size_t> input_of(std::size_t parameter) const;
};

/// Throws an Error with this message when the condition (bool, rank 0) does not hold. Has no output; it
/// stays where it stands.
struct Check : Kernel<1> {
  static constexpr std::string_view name = "check";
  std::string message;
  static constexpr auto fields = std::tuple{field("message", &Check::message)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

using Control = OpList<Fused, If, Loop, Check>;

/// True when a node can go: nobody reads its outputs, it cannot stop the run (as a check does, or an if or
/// loop with one inside), and no node below needs the size that it gives.
bool is_dead(const Node& node);

/// The regions that run as programs: those of if and loop, inner ones first, then the body. The bodies of
/// fused groups are none.
std::vector<Region*> program_regions(Graph& graph);
std::vector<const Region*> program_regions(const Graph& graph);

}  // namespace tenon
