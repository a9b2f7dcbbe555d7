// What the imported graph computes, in double precision, and how far rounding takes it from there.
#pragma once
#include <map>

#include "ir/evaluate.h"

namespace tenon {

/// A value rounded to its own dtype, from an evaluation in float64.
struct ExactValue {
  Tensor value;
  double rounding = 0;  // of the float32 reference, as a share of the largest value
};

/// Inputs of a graph for in_float64(graph).
std::vector<Tensor> in_float64(std::span<const Tensor> inputs);

/// The values of an imported graph by their number (Value::origin), and its outputs.
class ImportedValues {
 public:
  ImportedValues(const Graph& imported, std::span<const Tensor> inputs);

  /// Null: none has this number.
  const ExactValue* find(int origin) const;
  const std::vector<ExactValue>& outputs() const { return outputs_; }

 private:
  std::map<int, ExactValue> values_;
  std::vector<ExactValue> outputs_;
};

}  // namespace tenon
