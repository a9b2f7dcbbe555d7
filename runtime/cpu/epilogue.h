// What a fused group does with its anchor's result: in registers where it is bias, residual and relu, else by
// a loop program on the hot tile.
#pragma once
#include <array>
#include <optional>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/loop_kernel.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {

/// Planned once; bind() gives the kernel's form for one run.
class GroupEpilogue {
 public:
  /// nullopt when the group is not its anchor followed by pointwise operators that see the anchor's result as
  /// the matrix [rows, columns] of this axis order, or has more than one result. `bias` is the anchor's own
  /// bias, or null.
  static std::optional<GroupEpilogue> find(Planner& planner, const Group& group, const Node& anchor,
                                           const Value* bias, const Order& order);

  /// The place of the group's result: over the residual where nobody else needs it; else where it is wanted;
  /// else new memory in this order. Only places that fit.
  PlannedTensor place_result(Planner& planner, const Group& group, const Order& order,
                             FunctionRef<bool(const PlannedTensor&)> fits) const;
  /// What the epilogue reads.
  const std::vector<PlannedTensor>& reads() const { return reads_; }
  /// "+bias+residual+relu", "+tile"
  std::string text() const;

  static constexpr std::size_t max_buffers = 16;
  /// What bind() fills, for as long as the kernel runs.
  struct Running {
    const GroupEpilogue* self;
    std::array<void*, max_buffers> buffers;
    long first_row;
  };
  /// For a kernel whose row 0 is this row of the result.
  cpu::Epilogue bind(const CpuFrame& frame, Running& running, long first_row = 0) const;

 private:
  struct Matrix {
    PlannedTensor place;
    long row_stride, column_stride;
  };
  static std::optional<Matrix> as_matrix(const PlannedTensor& place, const Index& shape, const Order& order);
  bool take(Planner& planner, const Group& group, const Node& member, const Value*& current);
  bool compile_rest(Planner& planner, const Group& group, const std::vector<const Node*>& rest,
                    const Value* current);
  static void run_hook(const void* context, float* tile, long stride, long row0, long rows, long col0,
                       long cols);

  Order order_;
  Index shape_;  // of the anchor's result
  std::optional<Address> bias_, residual_;
  long residual_stride_ = 0;
  const Value* residual_value_ = nullptr;
  bool relu_ = false;
  std::optional<cpu::LoopKernel> program_;
  std::vector<Address> buffers_;  // of the program; the result's follows
  std::vector<PlannedTensor> reads_;
};

/// The group's one member with this operator, if none of its operands is computed in the group; null
/// otherwise.
const Node* find_anchor(const Group& group, const OpInfo& op);

}  // namespace tenon
