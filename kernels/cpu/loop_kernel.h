// Executes loop programs: compiled once at plan time, then run block by block in L1 with SIMD loops.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "kernels/loop_program.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

struct LoopPlan;

/// A compiled loop program: immutable, cheap to copy, usable from several threads at once.
/// The same buffers give the same bits for every number of threads (of one ISA and schedule).
class LoopKernel {
 public:
  /// A program over its whole iteration space. It is verified first (InternalError if malformed).
  static LoopKernel compile(const LoopProgram& program, const Schedule& schedule = {});
  /// What of the schedule counts.
  static constexpr Knobs knobs{.pieces = true, .block = true};
  /// A program over [rows, cols] that runs on tiles an anchor hands in (LoopOp::tile): an epilogue. Nothing
  /// is reduced. max_rows x max_cols is the largest tile it will be given.
  static LoopKernel compile_epilogue(const LoopProgram& program, long max_rows, long max_cols);

  /// Bytes of scratch that run() needs with a pool of this many threads. run_on_tile() needs those of one
  /// thread.
  std::size_t scratch_bytes(int threads) const;

  /// An index outside of what it indexes; the value that was gathered with it is no number of the program.
  struct BadIndex {
    std::int64_t index = 0;
    std::int64_t range = 0;
    bool from_end = false;
  };
  /// buffers[i] is where operand.buffer == i lives; scratch is 64-byte aligned. Allocates nothing. Returns
  /// the first wrong index of a gather, the same for every number of threads.
  std::optional<BadIndex> run(std::span<void* const> buffers, void* scratch, ThreadPool& pool) const;

  /// rows x cols floats at data[r * stride + c], which are the points (row0 + r, col0 + c) of the space.
  /// The program may overwrite them.
  struct Tile {
    float* data = nullptr;
    long stride = 0;
    long row0 = 0;
    long col0 = 0;
    long rows = 0;
    long cols = 0;
  };
  void run_on_tile(const Tile& tile, std::span<void* const> buffers, void* scratch) const;

 private:
  explicit LoopKernel(std::shared_ptr<const LoopPlan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const LoopPlan> plan_;
};

}  // namespace tenon::cpu
