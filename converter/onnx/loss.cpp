// Losses, and the steps of optimisers.
#include <array>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/softmax.h"

namespace tenon::converter::onnx {

namespace {

Axes every_axis(const Ref& x) {
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// -x at the target's class, weighted, without the class that is ignored.
Ref likelihood_loss(const Call& call, const Ref& x) {
  const Ref target = cast(DType::i64, call.tensor(1));
  if (target.rank() == 0 || x.rank() != target.rank() + 1)
    throw error("a target of rank {} for a tensor of rank {}", target.rank(), x.rank());
  Ref counts;  // the share of each element; none: 1
  Ref classes = target;
  if (call.has("ignore_index")) {
    const Ref ignored = equal(target, target.literal(static_cast<double>(call.integer("ignore_index"))));
    classes = where(ignored, target.literal(0), target);
    counts = cast(x.dtype(), logical_not(ignored));
  }
  Shape beside = target.shape();
  beside.insert(beside.begin() + 1, Dim(1));
  Ref loss = -reshape(gather(x, 1, reshape(classes, beside)), target.shape());
  if (call.has(2)) {
    const Ref weight = index_select(call.tensor(2), 0, classes);
    counts = counts ? counts * weight : weight;
  }
  if (counts) loss = where(equal(counts, counts.literal(0)), loss.literal(0), loss * counts);
  const std::string how = call.text("reduction", "mean");
  if (how == "none") return loss;
  const Ref total = sum(loss, every_axis(loss));
  if (how == "sum") return total;
  if (how != "mean") throw error("its reduction is '{}'", how);
  return counts ? total / sum(counts, every_axis(counts)) : mean(loss, every_axis(loss));
}

Operands negative_log_likelihood(Call& call) { return {likelihood_loss(call, call.tensor(0))}; }

Operands cross_entropy(Call& call) {
  const Ref x = call.tensor(0);
  const Ref logarithms = tenon::apply(LogSoftmax{.axis = 1}, {x});
  return {likelihood_loss(call, logarithms), logarithms};
}

/// Operands of an optimiser: rate, step, then one list of tensors after the other.
std::vector<std::vector<Ref>> optimised(const Call& call, std::size_t lists) {
  if (call.count() < 2 + lists || (call.count() - 2) % lists != 0)
    throw error("it has {} operands for {} lists of tensors", call.count(), lists);
  const std::size_t each = (call.count() - 2) / lists;
  std::vector<std::vector<Ref>> out(lists);
  for (std::size_t i = 2; i < call.count(); ++i) out[(i - 2) / each].push_back(call.tensor(i));
  return out;
}

Ref regularized(const Call& call, const Ref& x, const Ref& gradient) {
  return x * call.number("norm_coefficient", 0) + gradient;
}

Operands adagrad(Call& call) {
  const auto lists = optimised(call, 3);
  const Ref step = cast(call.type(0).dtype, call.tensor(1));
  const Ref rate = call.tensor(0) / (step * call.number("decay_factor", 0) + 1.0);
  Operands values, squares;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const Ref g = regularized(call, lists[0][i], lists[1][i]);
    const Ref square = lists[2][i] + g * g;
    values.emplace_back(lists[0][i] - rate * g / (sqrt(square) + call.number("epsilon", 0)));
    squares.emplace_back(square);
  }
  values.insert(values.end(), squares.begin(), squares.end());
  return values;
}

Operands momentum(Call& call) {
  const auto lists = optimised(call, 3);
  const Ref rate = call.tensor(0);
  const Ref is_first = equal(call.tensor(1), call.tensor(1).literal(0));
  const double alpha = call.number("alpha", 0), beta = call.number("beta", 0);
  const bool nesterov = call.text("mode", "standard") == "nesterov";
  Operands values, momenta;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const Ref g = regularized(call, lists[0][i], lists[1][i]);
    const Ref now = lists[2][i] * alpha + where(is_first, g, g * beta);
    values.emplace_back(lists[0][i] - rate * (nesterov ? g + now * alpha : now));
    momenta.emplace_back(now);
  }
  values.insert(values.end(), momenta.begin(), momenta.end());
  return values;
}

Operands adam(Call& call) {
  const auto lists = optimised(call, 4);
  const double alpha = call.number("alpha", 0.9), beta = call.number("beta", 0.999);
  const Ref step = cast(call.type(0).dtype, call.tensor(1));
  const Ref corrected =
      call.tensor(0) * sqrt(1.0 - pow(step.literal(beta), step)) / (1.0 - pow(step.literal(alpha), step));
  const Ref rate = where(step > step.literal(0), corrected, call.tensor(0));
  const double after = 1 - call.number("norm_coefficient_post", 0);
  Operands values, averages, squares;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const Ref g = regularized(call, lists[0][i], lists[1][i]);
    const Ref average = lists[2][i] * alpha + g * (1 - alpha);
    const Ref square = lists[3][i] * beta + g * g * (1 - beta);
    values.emplace_back((lists[0][i] - rate * average / (sqrt(square) + call.number("epsilon", 0))) * after);
    averages.emplace_back(average);
    squares.emplace_back(square);
  }
  values.insert(values.end(), averages.begin(), averages.end());
  values.insert(values.end(), squares.begin(), squares.end());
  return values;
}

}  // namespace

std::span<const OnnxEntry> loss_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"NegativeLogLikelihoodLoss", negative_log_likelihood},
      OnnxEntry{"SoftmaxCrossEntropyLoss", cross_entropy},
      OnnxEntry{"ai.onnx.preview.training.Adagrad", adagrad},
      OnnxEntry{"ai.onnx.preview.training.Adam", adam},
      OnnxEntry{"ai.onnx.preview.training.Momentum", momentum},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
