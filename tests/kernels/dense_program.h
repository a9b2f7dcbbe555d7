// Loop programs over operands without gaps, for tests.
#pragma once
#include "kernels/loop_program.h"

namespace tenon::cpu {

using Dims = std::vector<std::int64_t>;

inline Dims row_major(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) strides[d] = stride;
  return strides;
}
inline LoopProgram program_over(Dims dims, int reduced = 0) { return {"test", std::move(dims), reduced}; }
inline LoopOperand dense(const LoopProgram& p, int buffer, DType dtype = DType::f32) {
  return {buffer, dtype, row_major(p.shape.dims)};
}

}  // namespace tenon::cpu
