// How a loop is launched on a GPU: the order of its dims, how threads share its points, and its arguments.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gpu/matrix_unit.h"
#include "kernels/loop_program.h"

namespace tenon::gpu {

/// What decides of a device how kernels are launched.
struct GpuLimits {
  int processors = 132;              // streaming multiprocessors, compute units
  int threads_per_processor = 2048;  // that are resident at once
  int wave = 32;                     // lanes
  /// On which products may be computed: those that the device has, and that compute what they should.
  MatrixUnits units{MatrixUnit::f16, MatrixUnit::bf16, MatrixUnit::f32,   MatrixUnit::tf32,
                    MatrixUnit::i8,  MatrixUnit::f8,   MatrixUnit::f8fnuz};
};

/// The threads that compute a row together.
enum class RowGroup : std::uint8_t {
  none,     // nothing is reduced: a thread computes points
  lanes,    // neighbours in a wave: short rows
  block,    // all of a block: long rows
  columns,  // every n-th thread of a block: neighbours compute neighbouring rows, whose elements lie side by
            // side
};

/// The few choices that a kernel's source depends on besides the code.
struct LoopForm {
  RowGroup group = RowGroup::none;
  int threads = 256;  // of a block
  int width = 1;      // lanes: threads of a row; columns: rows of a block
  int vector = 1;     // elements of a chunk, which a thread reads and writes at once; a power of two
  int chunks = 1;     // that a thread reads before it computes with them
  bool keeps =
      false;  // rows: its chunks are all of the row, and stay in registers; else each stage reads again
  bool wide = false;  // 64-bit indices

  bool operator==(const LoopForm&) const = default;
};

/// The same program with its dims in the order of memory: the one that neighbouring threads walk is the last
/// of the row dims or, where rows lie side by side, the last of the others. Dims of one point are dropped,
/// and dims that all operands walk as one are joined. Points whose operands lie contiguous along two dims are
/// walked in squares, where sizes allow.
LoopProgram arranged(const LoopProgram& program);

/// Of an arranged program.
LoopForm loop_form(const LoopProgram& program, const GpuLimits& limits);

struct LoopLaunch {
  std::int64_t grid = 0;  // blocks; none if there is nothing to do
  int block = 0;          // threads
  int shared_bytes = 0;   // dynamic
};
LoopLaunch loop_launch(const LoopProgram& program, const LoopForm& form, const GpuLimits& limits);

/// A field of the struct of arguments: a 64-bit integer.
struct LoopArgument {
  std::string name;
  std::int64_t value = 0;
};
/// All of them, in order. Which ones there are follows from code and form alone.
std::vector<LoopArgument> list_arguments(const LoopCode& code, const LoopShape& shape, const LoopForm& form);

/// The struct that the kernel takes by value after its pointers.
std::vector<std::byte> loop_arguments(const LoopProgram& program, const LoopForm& form);

}  // namespace tenon::gpu
