#include "converter/onnx/scores.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// By the approximation of erfinv that the reference implementation and ONNX Runtime share (Winitzki, 2008).
Ref probit(const Ref& p) {
  constexpr double a = 0.147, pi = 3.14159;
  const Ref x = p * 2.0 - 1.0;
  const Ref logarithm = log((1.0 - x) * (x + 1.0));
  const Ref v = logarithm * 0.5 + 2.0 / (pi * a);
  const Ref size = sqrt(sqrt(v * v - logarithm / a) - v);
  return where(x < x.literal(0), -size, size) * 1.41421356;
}

/// Softmax of those that are not zero.
Ref softmax_zero(const Ref& x) {
  const Ref top = amax(x, {1}, true);
  const Ref counts = abs(x) > x.literal(1e-7);
  const Ref powers = where(counts, exp(x - top), x * exp(-top));
  return powers / sum(where(counts, powers, 0), {1}, true);
}

}  // namespace

Ref transformed(std::string_view how, const Ref& scores) {
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return sigmoid(scores);
  if (how == "SOFTMAX") return softmax(scores, 1);
  if (how == "SOFTMAX_ZERO") return softmax_zero(scores);
  if (how == "PROBIT") return probit(scores);
  throw error("its post_transform is '{}'", how);
}

Ref regression(const Call& call, const Ref& y) {
  const std::string how = call.text("post_transform", "NONE");
  return y.shape()[1] == Dim(1) && how != "PROBIT" ? y : transformed(how, y);
}

Ref second_class_added(std::string_view how, const Ref& score, bool is_probability) {
  if (how == "PROBIT") throw unsupported("PROBIT of a single score for two classes");
  const Ref other = is_probability && how != "LOGISTIC" ? 1.0 - score : -score;
  const Ref both = concat(std::array{other, score}, 1);
  return how == "LOGISTIC" ? sigmoid(both) : both;
}

std::size_t Labels::count() const { return static_cast<std::size_t>(all_.numel()); }

Labels::Labels(const Call& call, const std::string& integers) : call_(call) {
  if (call.has("classlabels_strings"))
    all_ = vector_of(call.texts("classlabels_strings"));
  else
    all_ = vector_of(call.integers(integers, {}));
}

Operand Labels::of(const Ref& classes) const {
  if (!call_.wants(0)) return {};
  return index_select(constant(call_, all_, "labels"), 0, classes);
}

Ref matrix_of_features(const Call& call) {
  Ref x = call.tensor(0);
  if (!is_float(x.dtype())) x = cast(DType::f32, x);
  if (x.rank() == 1) x = reshape(x, {Dim(1), x.shape()[0]});
  check_rank("X", x.type(), 2);
  return x;
}

std::vector<double> doubles(const Tensor& t) {
  std::vector<double> out;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> at) { out.push_back(t.get_double(at)); });
  return out;
}

std::vector<double> reals(const Call& call, const std::string& attribute) {
  if (call.has(attribute + "_as_tensor")) return doubles(call.data(attribute + "_as_tensor"));
  const auto floats = call.numbers(attribute);
  return {floats.begin(), floats.end()};
}

Ref constant(const Call& call, DType dtype, Index shape, std::span<const double> values,
             std::string_view name) {
  Tensor t = Tensor::empty(dtype, std::move(shape));
  std::size_t i = 0;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> at) { t.set_double(at, values[i++]); });
  return constant(call, std::move(t), name);
}

}  // namespace tenon::converter::onnx
