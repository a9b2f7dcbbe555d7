// Writes a group of pointwise operators and row reductions down as a loop program.
#pragma once
#include <functional>
#include <optional>

#include "kernels/loop_program.h"
#include "runtime/axes.h"
#include "runtime/buffers.h"

namespace tenon {

/// A program and what its buffers stand for.
struct LoweredLoop {
  LoopProgram program;
  std::vector<PlannedTensor> buffers;
};

/// Emits the operators of a group into a program. How values from outside come in is the caller's affair.
class LoopBuilder {
 public:
  /// `load` gives the register of a value that no member computes, `gather` that of what a member takes from
  /// such a value by indices: those of the register, or -1 where they are fixed.
  using Load = std::function<Reg(const Value*)>;
  using Gather = std::function<Reg(const Node&, Reg index)>;
  LoopBuilder(LoopProgram& program, const LoopAxes* axes, Load load, Gather gather = {})
      : program_(program), axes_(axes), load_(std::move(load)), gather_(std::move(gather)) {}

  void emit(const Node& member);
  /// The register of a value; loads it when it comes from outside.
  Reg reg(const Value* value);
  void set(const Value* value, Reg reg) { regs_[value] = reg; }

 private:
  Reg emit_pointwise(const Node& member);
  Reg emit_reduction(const Node& member);

  LoopProgram& program_;
  const LoopAxes* axes_;
  Load load_;
  Gather gather_;
  std::unordered_map<const Value*, Reg> regs_;
};

/// True when every value of the group has a dtype that loop programs compute with.
bool has_loop_types(const Group& group);

/// The register of a constant of a dtype.
Reg emit_constant(LoopProgram& program, DType dtype, double value);
Reg emit_literal(LoopProgram& program, const Tensor& scalar);

/// The loop of a group whose axes are known. `place` gives the place of every operand and result, `constant`
/// that of data that the loop brings along.
LoweredLoop build_loop(const Group& group, const LoopAxes& axes,
                       const std::function<const PlannedTensor&(const Value* inner)>& place,
                       const std::function<PlannedTensor(const Tensor&)>& constant);
/// At most so many buffers.
std::size_t count_buffers(const Group& group);

}  // namespace tenon
