// Support vector machines of ai.onnx.ml.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/region_node_builder.h"
#include "converter/onnx/scores.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"

namespace tenon::converter::onnx {

namespace {

/// exp(-gamma |x - s|^2), (gamma x.s + c)^d, tanh(gamma x.s + c) or x.s for each support vector s.
Ref kernel_values(const Call& call, const Ref& x, const Ref& supports) {
  const std::string kernel = call.text("kernel_type", "LINEAR");
  const auto parameters = call.numbers("kernel_params");
  const auto parameter = [&](std::size_t i) { return i < parameters.size() ? double{parameters[i]} : 0.0; };
  if (kernel == "RBF") {
    const Dim rows = x.shape()[0], count = supports.shape()[0], width = x.shape()[1];
    const Ref away = reshape(x, {rows, Dim(1), width}) - reshape(supports, {Dim(1), count, width});
    return exp(sum(away * away, {2}) * -parameter(0));
  }
  const Ref products = linear(x, supports);
  if (kernel == "LINEAR") return products;
  if (kernel == "POLY") {
    const Ref base = products * parameter(0) + parameter(1);
    return pow(base, base.literal(parameter(2)));
  }
  if (kernel == "SIGMOID") return tanh(products * parameter(0) + parameter(1));
  throw error("its kernel_type is '{}'", kernel);
}

/// The attribute support_vectors as a matrix of `count` rows.
Ref support_vectors(const Call& call, std::int64_t count) {
  const auto vectors = reals(call, "support_vectors");
  if (vectors.empty() || static_cast<std::int64_t>(vectors.size()) % count != 0)
    throw error("{} numbers for {} support vectors", vectors.size(), count);
  const auto width = static_cast<std::int64_t>(vectors.size()) / count;
  return constant(call, DType::f32, {count, width}, vectors, "support_vectors");
}

/// Without support vectors: x.coefficients + rho.
Operands regressor(Call& call) {
  const Ref x = cast(DType::f32, matrix_of_features(call));
  const auto coefficients = reals(call, "coefficients"), rho = reals(call, "rho");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const std::int64_t supports = call.integer("n_supports", 0);
  if (count == 0 || (supports > 0 && count != supports) || rho.empty())
    throw error("{} coefficients and {} offsets for {} support vectors", count, rho.size(), supports);
  const Ref weight = constant(call, DType::f32, {1, count}, coefficients, "coefficients");
  Ref y = linear(supports > 0 ? kernel_values(call, x, support_vectors(call, supports)) : x, weight) + rho[0];
  if (call.integer("one_class", 0) != 0) y = where(y > y.literal(0), y.literal(1), -1);
  return {regression(call, y)};
}

/// A classifier of classes against each other, pair by pair: (0, 1), (0, 2), ..., (1, 2), ...
class Pairs {
 public:
  Pairs(const Call& call, std::int64_t classes) : call_(call), classes_(classes) {
    const Axes counts = call.integers("vectors_per_class", {});
    if (static_cast<std::int64_t>(counts.size()) != classes || classes < 2)
      throw error("numbers of support vectors for {} of {} classes", counts.size(), classes);
    for (const std::int64_t count : counts) {
      starts_.push_back(vectors_);
      if (count < 0 || count > most_vectors) throw error("{} support vectors of one class", count);
      vectors_ += count;
    }
    starts_.push_back(vectors_);
    if (vectors_ == 0) throw error("it has no support vectors");
  }

  std::int64_t vectors() const { return vectors_; }
  std::int64_t count() const { return classes_ * (classes_ - 1) / 2; }

  /// Above zero where a pair's first class wins: [N, pairs].
  Ref scores(const Ref& kernels) const {
    const auto given = reals(call_, "coefficients");
    const auto all = static_cast<std::size_t>(vectors_ * (classes_ - 1));
    if (given.size() != all) throw error("{} coefficients, not {}", given.size(), all);
    std::vector<double> weights(static_cast<std::size_t>(count() * vectors_), 0.0);
    each([&](std::int64_t pair, std::int64_t i, std::int64_t j) {
      const auto put = [&](std::int64_t of, std::int64_t row) {
        for (std::int64_t v = starts_[at(of)]; v < starts_[at(of) + 1]; ++v)
          weights[at(pair * vectors_ + v)] = given[at(row * vectors_ + v)];
      };
      put(i, j - 1);
      put(j, i);
    });
    return linear(kernels, constant(call_, DType::f32, {count(), vectors_}, weights, "coefficients"),
                  numbers("rho"));
  }

  /// How many pairs each class wins: [N, classes].
  Ref votes(const Ref& scores) const {
    std::vector<double> swing(at(classes_ * count()), 0.0), lost(at(classes_), 0.0);
    each([&](std::int64_t pair, std::int64_t i, std::int64_t j) {
      swing[at(i * count() + pair)] = 1;
      swing[at(j * count() + pair)] = -1;
      ++lost[at(j)];
    });
    return linear(cast(DType::f32, scores > scores.literal(0)),
                  constant(call_, DType::f32, {classes_, count()}, swing, "swing"),
                  constant(call_, DType::f32, {classes_}, lost, "lost"));
  }

  /// [N, classes] from those of the pairs (Wu, Lin and Weng, 2004), as LIBSVM finds them.
  Ref probabilities(const Ref& scores) const {
    constexpr double least = 1e-7;
    const Ref first = clamped(reciprocal(exp(scores * numbers("prob_a") + numbers("prob_b")) + 1.0), least);
    const Dim rows = scores.shape()[0];
    std::vector<std::vector<Ref>> r(at(classes_), std::vector<Ref>(at(classes_)));
    each([&](std::int64_t pair, std::int64_t i, std::int64_t j) {
      r[at(i)][at(j)] = slice(first, 1, Dim(pair), Dim(pair + 1));
      r[at(j)][at(i)] = 1.0 - r[at(i)][at(j)];
    });
    std::vector<Ref> q;  // row t: [N, classes]
    for (std::size_t t = 0; t < at(classes_); ++t) {
      std::vector<Ref> row(at(classes_));
      for (std::size_t j = 0; j < at(classes_); ++j) {
        if (j != t) row[j] = -(r[j][t] * r[t][j]);
        if (j != t) row[t] = row[t] ? row[t] + r[j][t] * r[j][t] : r[j][t] * r[j][t];
      }
      q.push_back(concat(row, 1));
    }
    return coupled(q, rows);
  }

 private:
  static constexpr std::int64_t most_vectors = std::int64_t{1} << 24, most_classes = 64;

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  static Ref clamped(const Ref& x, double least) { return apply(Clamp{.min = least, .max = 1 - least}, {x}); }

  template <class F>
  void each(F&& f) const {
    std::int64_t pair = 0;
    for (std::int64_t i = 0; i < classes_; ++i)
      for (std::int64_t j = i + 1; j < classes_; ++j) f(pair++, i, j);
  }

  /// One for each pair.
  Ref numbers(const std::string& attribute) const {
    const auto given = reals(call_, attribute);
    if (static_cast<std::int64_t>(given.size()) < count())
      throw error("{} has {} numbers for {} pairs of classes", attribute, given.size(), count());
    return constant(call_, DType::f32, {count()}, std::span(given).first(at(count())), attribute);
  }

  /// The p that minimises p.Q.p with sum 1. A row that is near enough stays.
  Ref coupled(const std::vector<Ref>& q, const Dim& rows) const {
    if (classes_ > most_classes) throw unsupported("probabilities of {} classes", classes_);
    const double enough = 0.005 / static_cast<double>(classes_);
    Builder& build = call_.build;
    const auto steps = std::max<std::int64_t>(100, classes_);
    const Ref start =
        full({rows, Dim(classes_)}, 1.0 / static_cast<double>(classes_), DType::f32, build.insertion_point());
    RegionNodeBuilder open(build, Loop{.carried = 1, .limit = Dim(steps)},
                           {build.literal(std::int64_t{1}, DType::boolean).value(), start.value()}, 1);
    Region& region = open.node().region();
    {
      const auto inside = build.enter(region);
      region.add_parameter({DType::i64, {}});
      const Ref before = build.ref(region.add_parameter(start.type()));
      const auto column = [](const Ref& x, std::size_t t) {
        return slice(x, 1, Dim(static_cast<std::int64_t>(t)), Dim(static_cast<std::int64_t>(t) + 1));
      };
      std::vector<Ref> products;
      for (const Ref& row : q) products.push_back(sum(row * before, {1}, true));
      Ref p = before, qp = concat(products, 1);
      Ref pqp = sum(p * qp, {1}, true);
      const Ref is_near = all(abs(qp - pqp) < pqp.literal(enough), {1}, true);
      std::vector<Ref> unit;
      for (std::size_t t = 0; t < q.size(); ++t) {
        std::vector<double> one(q.size(), 0.0);
        one[t] = 1;
        const Ref own = constant(call_, DType::f32, {1, classes_}, one, "unit");
        const Ref diagonal = column(q[t], t), value = column(qp, t);
        const Ref change = (pqp - value) / diagonal;
        const Ref scale = change + 1.0;
        pqp = (pqp + change * (change * diagonal + value * 2.0)) / scale / scale;
        qp = (qp + change * q[t]) / scale;
        p = (p + change * own) / scale;
      }
      region.add_result(any(logical_not(is_near), {0, 1}).value());
      region.add_result(where(is_near, before, p).value());
    }
    return call_.values.read(open.finish().at(0));
  }

  const Call& call_;
  std::int64_t classes_, vectors_ = 0;
  Axes starts_;
};

Operands classifier(Call& call) {
  const Labels labels(call, "classlabels_ints");
  const auto classes = static_cast<std::int64_t>(labels.count());
  const std::string how = call.text("post_transform", "NONE");
  const Ref x = cast(DType::f32, matrix_of_features(call));
  if (classes < 2) throw unsupported("a classifier of {} classes", classes);
  if (call.integers("vectors_per_class", {}).empty()) {
    const auto coefficients = reals(call, "coefficients"), rho = reals(call, "rho");
    const auto count = static_cast<std::int64_t>(coefficients.size());
    if (count == 0 || count % classes != 0 || rho.empty())
      throw error("{} coefficients and {} offsets for {} classes", count, rho.size(), classes);
    if (classes == 2 || rho.size() == 1)
      throw unsupported(
          "a linear classifier of two classes, or with one offset: runtimes disagree about its labels");
    const Ref weight = constant(call, DType::f32, {classes, count / classes}, coefficients, "coefficients");
    const Ref scores = linear(x, weight) + rho[0];
    return {labels.of(tenon::apply(ArgMax{.axis = 1}, {scores})), transformed(how, scores)};
  }
  const Pairs pairs(call, classes);
  const Ref scores = pairs.scores(kernel_values(call, x, support_vectors(call, pairs.vectors())));
  const Operand label = labels.of(tenon::apply(ArgMax{.axis = 1}, {pairs.votes(scores)}));
  if (!reals(call, "prob_a").empty()) return {label, transformed(how, pairs.probabilities(scores))};
  if (classes > 2) return {label, transformed(how, scores)};
  if (how != "NONE" && how != "LOGISTIC")
    throw unsupported("{} of a single score for two classes, which runtimes disagree about", how);
  return {label, transformed(how, concat(std::array{-scores, scores}, 1))};
}

}  // namespace

std::span<const OnnxEntry> support_vector_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ai.onnx.ml.SVMClassifier", classifier},
      OnnxEntry{"ai.onnx.ml.SVMRegressor", regressor},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
