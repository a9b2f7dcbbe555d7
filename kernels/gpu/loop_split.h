// Few long rows leave most of a device idle: they are cut into parts, in several loops. So are those of which
// parts, that registers hold, are read less often: a softmax and a norm read theirs twice, not three times.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/gpu/loop_form.h"

namespace tenon::gpu {

struct SplitLoop {
  struct Scratch {
    DType dtype = DType::f32;
    std::int64_t elements = 0;
  };
  /// To run one after the other, each after `arranged`.
  std::vector<LoopProgram> programs;
  /// Buffers of their own: scratch[i] has the number program.buffer_count() + i.
  std::vector<Scratch> scratch;
};

/// The program in parts: each stage folds the parts of its rows, then the parts' folds; the elements are
/// computed last. Empty where one loop serves better, and where rows cannot be cut: positions (argmax) are
/// wanted, an index along the only dim is, or its extent has no fit divisor. Row sizes (LoopOp::count) become
/// constants.
SplitLoop split_rows(const LoopProgram& program, const GpuLimits& limits);

}  // namespace tenon::gpu
