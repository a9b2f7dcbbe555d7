// An epilogue on the CPU: by the kernels where it is bias, residual, an activation and a second residual, or
// the same rounded to 16 bits, or to codes of 8 bits, else by a loop program on the hot tile.
#pragma once
#include <array>
#include <optional>

#include "kernels/cpu/coded_rows.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/loop_kernel.h"
#include "runtime/calls/epilogue.h"
#include "runtime/cpu/step.h"

namespace tenon {

/// An epilogue that the CPU's kernels can run, compiled.
class CpuEpilogue {
 public:
  /// On fewer columns, a program costs more for each tile than in a pass of its own.
  static constexpr std::int64_t fewest_columns = 16;
  /// nullopt where tiles have fewer columns than a program is to be given, or it reads too much.
  static std::optional<CpuEpilogue> compile(Epilogue epilogue, std::int64_t fewest = fewest_columns);

  const Epilogue& match() const { return epilogue_; }
  /// "+bias+residual+hardswish", "+silu+residual", "+bias+codes", "+tile"
  std::string text() const;

  /// Do kernels add no more than a bias before they call the hook, if there is one?
  bool is_hook() const;

  /// Finds its operands in the plan.
  void place(Planner&);
  /// The same, and the group's result in evenly spaced rows of this order: of what the anchor computes, or of
  /// bytes, which the hook writes.
  PlannedTensor place_result(Planner&, const Group&, const Order&);
  /// What it reads, once placed.
  const std::vector<PlannedTensor>& reads() const { return reads_; }

  /// Bytes of scratch for the rows of a gathered residual, of a result of so many rows.
  std::size_t scratch_bytes(long rows) const {
    return epilogue_.residual_rows ? static_cast<std::size_t>(rows) * sizeof(long) : 0;
  }
  /// Writes these rows to scratch and tells the epilogue; false, and a fault, where an index is out of range.
  bool find_rows(const CpuFrame& frame, cpu::Epilogue& epilogue, long rows, void* scratch) const;

  static constexpr std::size_t max_buffers = 16;
  /// What bind() fills, for as long as the kernel runs.
  struct Running {
    const CpuEpilogue* self;
    std::array<void*, max_buffers> buffers;
    long first_row;
    std::optional<cpu::CodesOfSums> codes;
  };
  /// For a kernel whose row 0 is this row of the result. `bytes`: where the hook writes a result of bytes;
  /// the kernel does not.
  cpu::Epilogue bind(const CpuFrame& frame, Running& running, long first_row = 0,
                     const Address* bytes = nullptr) const;

 private:
  /// So many lie between the rows of the result.
  void write_bytes(long row_stride);
  static void run_hook(const void* context, float* tile, long stride, long row0, long rows, long col0,
                       long cols);
  static void run_bytes(const void* context, float* tile, long stride, long row0, long rows, long col0,
                        long cols);
  static void run_coded(const void* context, float* tile, long stride, long row0, long rows, long col0,
                        long cols);
  static void run_rounded(const void* context, float* tile, long stride, long row0, long rows, long col0,
                          long cols);

  Epilogue epilogue_;
  std::optional<cpu::LoopKernel> kernel_;  // null where the kernels do all of it
  cpu::Activation activation_;
  std::optional<cpu::RoundedRows> rounded_;  // what they do on each tile that is done
  struct CodedPass {
    cpu::CodedRows rows;
    std::optional<std::size_t> added;  // an operand of the program
    std::int64_t added_row_stride = 0;
  };
  std::vector<CodedPass> coded_;           // the same, one pass after the other
  std::optional<cpu::CodesOfSums> codes_;  // where coded_ is no more than that
  std::int64_t codes_stride_ = 0;          // of rows of a result of bytes
  /// An operand of the program: what is added behind the activation; of rounded_, before it, maybe
  /// in fewer bits.
  std::optional<std::size_t> added_;
  std::int64_t added_row_stride_ = 0;
  std::optional<Address> bias_, residual_, residual_rows_;
  std::vector<Address> buffers_;  // of the kernel; the result's follows
  std::vector<PlannedTensor> reads_;
};

/// The epilogue of a group's anchor, compiled; nullopt where it does not match or the CPU cannot run it.
/// Where it gathers, the caller finds the rows of its residual and reports wrong ones; where it takes halves,
/// the caller reads and writes bfloat16, too.
std::optional<CpuEpilogue> find_epilogue(const Planner&, const Group&, const Node& anchor, const Value* bias,
                                         const Order&, EpilogueOptions = {});

}  // namespace tenon
