// What models of ai.onnx.ml do with their scores.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// scores[N, classes] after a post_transform: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT.
Ref transformed(std::string_view how, const Ref& scores);

/// The attribute post_transform of a regression over y[N, targets]: of a single target only PROBIT is taken.
Ref regression(const Call&, const Ref& y);

/// Scores of two classes from those of one, [N, 1]: (-s, s) or (1 - s, s), or logistic of (-s, s).
Ref second_class_added(std::string_view how, const Ref& score, bool is_probability);

/// The labels of a classifier's classes: strings, or the integers of an attribute.
class Labels {
 public:
  Labels(const Call&, const std::string& integers);

  std::size_t count() const;
  /// Those of classes[N] (i64), when the node's first output is wanted.
  Operand of(const Ref& classes) const;

 private:
  const Call& call_;
  Tensor all_;
};

/// x as a matrix of floats: a vector is one row.
Ref matrix_of_features(const Call&);

std::vector<double> doubles(const Tensor&);
/// A list of floats, or (for doubles) the tensor `attribute`_as_tensor; empty when there is neither.
std::vector<double> reals(const Call&, const std::string& attribute);

/// A constant vector or matrix.
Ref constant(const Call&, DType, Index shape, std::span<const double> values, std::string_view name);

}  // namespace tenon::converter::onnx
