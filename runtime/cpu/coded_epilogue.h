// Which loop programs on a tile are the steps of quantised models that one kernel takes at once.
#pragma once
#include <optional>
#include <vector>

#include "kernels/cpu/coded_rows.h"
#include "kernels/loop_program.h"

namespace tenon {

/// One pass over a tile.
struct CodedPass {
  cpu::CodedRows rows;
  std::optional<LoopOperand> residual;  // over the result's rows and columns; rows may all be the same
};

/// Passes one after the other; empty unless these are all of a program over [rows, columns].
std::vector<CodedPass> coded_passes(const LoopProgram&);

}  // namespace tenon
