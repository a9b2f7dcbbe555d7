// Launches of kernels of linear algebra (kernels/gpu/matrix_source.h) for a node.
#pragma once
#include "kernels/gpu/matrix_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {

/// A tensor as a kernel sees it: [matrices, rows, columns].
struct MatrixOperand {
  std::string name;
  PlannedTensor tensor;
  bool is_result = false;
};

struct MatrixLaunch {
  std::string header, call;  // as in MatrixProgram
  std::vector<MatrixOperand> operands;
  std::int64_t words = 0;      // of memory that a matrix takes, or a column of its part
  std::int64_t to_divide = 0;  // columns that blocks divide among them; 0: a block does all
  std::function<Error(const Fault&)> complaint = {};
};

/// The launches of one node, whose operands and results are batches of matrices with the same leading axes.
class MatrixNode {
 public:
  /// `rank`: of the first operand without the batch.
  MatrixNode(Planner& planner, const Node& node, std::size_t rank = 2);

  /// A value, whose own rank is 2, 1 (a list: a matrix of one row) or 0.
  MatrixOperand read(std::string name, std::size_t input, std::size_t rank = 2) const;
  MatrixOperand result(std::string name, std::size_t output, std::size_t rank = 2) const;
  /// Memory that is no value's, which a later launch reads by read_again().
  MatrixOperand scratch(std::string name, DType dtype, std::int64_t rows, std::int64_t columns) const;
  static MatrixOperand read_again(MatrixOperand operand);

  /// Adds a launch before the one that computes the node, and that one.
  void prepare(MatrixLaunch launch) const;
  void emit(MatrixLaunch launch) const;

 private:
  Launch planned(MatrixLaunch launch) const;

  Planner& planner_;
  const Node& node_;
  std::int64_t count_;
};

}  // namespace tenon::gpu
