// Which loop programs on a tile are the steps of quantised models that one kernel takes at once.
#pragma once
#include <optional>

#include "kernels/cpu/coded_rows.h"
#include "kernels/loop_program.h"

namespace tenon {

struct CodedProgram {
  cpu::CodedRows rows;
  std::optional<LoopOperand> residual;  // over the result's rows and columns
};

/// nullopt unless that is all of a program over [rows, columns].
std::optional<CodedProgram> coded_program(const LoopProgram&);

}  // namespace tenon
