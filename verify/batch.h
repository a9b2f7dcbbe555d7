// The rows of a model's inputs: which axis they lie on, and batches of other rows.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Rows along the first axis of some inputs and outputs.
struct Batch {
  std::vector<Tensor> inputs;
  std::int64_t rows = 0;
  std::vector<bool> input_has_rows, output_has_rows;
  std::string problem;  // why the model has no rows; empty when it has

  /// The same inputs with these rows, in this order.
  std::vector<Tensor> take(std::span<const std::int64_t> which) const;
};

/// The samples' rows together, as many as the symbol of the first axis allows (and no more than `wanted`).
/// Where the first axis is fixed, the rows of the first sample.
Batch batch_of(const Graph&, const std::vector<std::vector<Tensor>>& samples, std::int64_t wanted);

/// Rows of a tensor, in this order.
Tensor take_rows(const Tensor&, std::span<const std::int64_t> which);

}  // namespace tenon
