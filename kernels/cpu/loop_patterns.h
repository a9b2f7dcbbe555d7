// Recognises functions of one float in the instructions of a loop program, however they are spelled.
#pragma once
#include <optional>
#include <vector>

#include "kernels/cpu/epilogue.h"
#include "kernels/loop_program.h"

namespace tenon::cpu {

class LoopPatterns {
 public:
  explicit LoopPatterns(const LoopProgram& program);

  /// An activation of a register.
  struct Found {
    Activation function;
    Reg of;
  };
  /// Register r as an activation of another one. What lies between them has no other readers.
  std::optional<Found> activation(Reg r) const;

  const Instruction& at(Reg r) const { return program_.code.instructions[static_cast<std::size_t>(r)]; }
  bool is(Reg r, Prim p) const { return at(r).op == LoopOp::prim && at(r).prim == p && is_float(at(r).type); }
  /// The same, and only one argument of one instruction reads it.
  bool owns(Reg r, Prim p) const { return is(r, p) && uses(r) == 1; }
  int uses(Reg r) const { return uses_[static_cast<std::size_t>(r)]; }
  bool is_constant(Reg r) const { return at(r).op == LoopOp::constant; }
  /// But for rounding to f32.
  bool is_constant(Reg r, double value) const;
  /// Register r as x where x is above zero, else x * slope.
  struct Slope {
    Reg x, slope;
  };
  std::optional<Slope> sloped_below_zero(Reg r) const;
  /// The factors of a product. More than three are not told apart.
  std::vector<Reg> factors(Reg product) const;

 protected:
  const LoopProgram& program_;
  std::vector<int> uses_;

 private:
  using Match = std::optional<Found>;
  /// The other argument of a commutative instruction; -1 where `one` is none of its arguments.
  Reg beside(Reg r, Reg one) const;
  /// The constant argument of a commutative instruction, and the other one.
  struct WithConstant {
    double constant;
    Reg of;
  };
  std::optional<WithConstant> with_constant(Reg r, Prim p) const;
  void add_factors(Reg r, bool root, std::vector<Reg>& out, int depth) const;
  bool is_scaled(Reg r, Reg x, double scale) const;
  bool is_one_plus(Reg r, Prim function, const auto& of_argument) const;
  bool is_tanh_argument(Reg r, Reg x) const;
  bool is_cube(Reg r, Reg x) const;
  /// x of min(max(x + 3, 0), 6), or -1.
  Reg ramp(Reg r) const;

  Match gelu(Reg r) const;
  Match silu(Reg r) const;
  Match hardswish(Reg r) const;
  Match hardsigmoid(Reg r) const;
  Match clamp(Reg r) const;
  Match leaky_relu(Reg r) const;
  Match one_primitive(Reg r) const;
};

}  // namespace tenon::cpu
