// Preprocessing of features, and linear models, of ai.onnx.ml.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/scores.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"

namespace tenon::converter::onnx {

namespace {

/// One number for all features, or one for each: along the last axis.
Ref along_features(const Call& call, DType dtype, const std::string& attribute, double none) {
  const auto numbers = reals(call, attribute);
  if (numbers.empty()) return constant(call, dtype, {1}, std::array{none}, attribute);
  return constant(call, dtype, {static_cast<std::int64_t>(numbers.size())}, numbers, attribute);
}

Operands scaler(Call& call) {
  const Ref x = cast(DType::f32, call.tensor(0));
  return {(x - along_features(call, DType::f32, "offset", 0)) * along_features(call, DType::f32, "scale", 1)};
}

/// Where the norm of a row is zero, the row stays. The largest is that of the numbers beside NaN, as in ONNX
/// Runtime.
Operands normalizer(Call& call) {
  const Ref x = cast(DType::f32, call.tensor(0));
  const Axes features = {static_cast<std::int64_t>(x.rank()) - 1};
  const std::string how = call.text("norm", "MAX");
  Ref norm;
  if (how == "MAX")
    norm = amax(where(tenon::apply(IsNan{}, {x}), x.literal(-std::numeric_limits<double>::infinity()), x),
                features, true);
  else if (how == "L1")
    norm = sum(abs(x), features, true);
  else if (how == "L2")
    norm = sqrt(sum(x * x, features, true));
  else
    throw error("its norm is '{}'", how);
  return {x / where(equal(norm, norm.literal(0)), norm.literal(1), norm)};
}

Operands imputer(Call& call) {
  const Ref x = call.tensor(0);
  if (!is_float(x.dtype())) {
    const Axes values = call.integers("imputed_value_int64s", {});
    if (values.empty()) throw error("its attribute imputed_value_int64s is missing");
    const Ref imputed = cast(x.dtype(), constant(call, vector_of(values), "imputed"));
    const Ref replaced = call.build.literal(call.integer("replaced_value_int64", 0), x.dtype());
    return {where(equal(x, replaced), imputed, x)};
  }
  if (!call.has("imputed_value_floats")) throw error("its attribute imputed_value_floats is missing");
  const double replaced = call.number("replaced_value_float", 0);
  const Ref is_missing = std::isnan(replaced) ? tenon::apply(IsNan{}, {x}) : equal(x, x.literal(replaced));
  return {where(is_missing, along_features(call, x.dtype(), "imputed_value_floats", 0), x)};
}

/// The operands beside each other, each cut, or filled with zeros, to its number of features.
Operands feature_vectorizer(Call& call) {
  call.need(1);
  const Axes widths = call.integers("inputdimensions", {});
  if (widths.size() != call.count())
    throw error("{} inputdimensions for {} inputs", widths.size(), call.count());
  std::vector<Ref> parts;
  for (std::size_t i = 0; i < call.count(); ++i) {
    Ref x = cast(DType::f32, call.tensor(i));
    if (x.rank() == 1) x = reshape(x, {Dim(1), x.shape()[0]});
    check_rank("an input", x.type(), 2);
    if (!x.shape()[1].is_known()) throw unsupported("an input whose number of features is a symbol");
    const std::int64_t has = x.shape()[1].value();
    if (has > widths[i]) x = slice(x, 1, 0, widths[i]);
    if (has < widths[i]) x = pad(x, {0, 0, 0, widths[i] - has});
    parts.push_back(x);
  }
  return {concat(parts, 1)};
}

Ref linear_scores(const Call& call, std::size_t outputs) {
  const Ref x = cast(DType::f32, matrix_of_features(call));
  const auto coefficients = reals(call, "coefficients"), intercepts = reals(call, "intercepts");
  if (outputs == 0 || coefficients.empty() || coefficients.size() % outputs != 0)
    throw error("{} coefficients for {} outputs", coefficients.size(), outputs);
  if (!intercepts.empty() && intercepts.size() != outputs)
    throw error("{} intercepts for {} outputs", intercepts.size(), outputs);
  const auto rows = static_cast<std::int64_t>(outputs);
  const auto columns = static_cast<std::int64_t>(coefficients.size()) / rows;
  const Ref weight = constant(call, DType::f32, {rows, columns}, coefficients, "coefficients");
  if (intercepts.empty()) return linear(x, weight);
  return linear(x, weight, constant(call, DType::f32, {rows}, intercepts, "intercepts"));
}

Operands linear_regressor(Call& call) {
  const auto targets = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("targets", 1), 1));
  return {regression(call, linear_scores(call, targets))};
}

Operands linear_classifier(Call& call) {
  const std::size_t outputs = call.numbers("intercepts").size();
  const Labels labels(call, "classlabels_ints");
  const std::string how = call.text("post_transform", "NONE");
  const Ref scores = linear_scores(call, outputs);
  if (outputs == 1 && labels.count() == 2) {
    const Ref wins = reshape(cast(DType::i64, scores > scores.literal(0)), {scores.shape()[0]});
    return {labels.of(wins), second_class_added(how, scores, true)};
  }
  if (outputs != labels.count()) throw unsupported("{} scores for {} classes", outputs, labels.count());
  return {labels.of(tenon::apply(ArgMax{.axis = 1}, {scores})), transformed(how, scores)};
}

}  // namespace

std::span<const OnnxEntry> feature_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ai.onnx.ml.FeatureVectorizer", feature_vectorizer},
      OnnxEntry{"ai.onnx.ml.Imputer", imputer},
      OnnxEntry{"ai.onnx.ml.LinearClassifier", linear_classifier},
      OnnxEntry{"ai.onnx.ml.LinearRegressor", linear_regressor},
      OnnxEntry{"ai.onnx.ml.Normalizer", normalizer},
      OnnxEntry{"ai.onnx.ml.Scaler", scaler},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
