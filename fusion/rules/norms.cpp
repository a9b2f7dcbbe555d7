// layer_norm(x) = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b
// rms_norm(x)   = x / sqrt(mean(x^2) + eps) * w                         over the last axes
#include <algorithm>

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"
#include "ir/ops/norm.h"
#include "ir/ops/reduce.h"

namespace tenon {
namespace {

const Pattern x = hole("x");

// The ways to divide by sqrt(v).
std::vector<Pattern> divided(const Pattern& numerator, const Pattern& v) {
  return {numerator * op<Rsqrt>(v), numerator / op<Sqrt>(v), numerator * op<Reciprocal>(op<Sqrt>(v))};
}

/// A weight with one element for each that the norm runs over.
bool is_affine(const Value& w, const Value& of, std::int64_t rank) {
  const auto last = static_cast<std::ptrdiff_t>(rank);
  return w.kind() == Value::Kind::weight && w.dtype() == of.dtype() &&
         w.rank() == static_cast<std::size_t>(rank) &&
         std::equal(w.shape().begin(), w.shape().end(), of.shape().end() - last);
}

std::string refuse_axes(const Axes& axes, bool keepdim, std::size_t rank) {
  if (!keepdim) return "the mean drops its axes";
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(rank - axes.size() + i))
      return "the mean does not run over the last axes";
  return {};
}

}  // namespace

Rule raise_layer_norm() {
  const Pattern centred = x - op<Mean>(x);
  std::vector<Pattern> patterns;
  for (const Pattern& numerator : {centred, centred * hole("w")})
    for (const Pattern& variance : {op<Mean>(centred * centred), op<Variance>(x)})
      for (const Pattern& p : divided(numerator, variance + number("eps"))) patterns.push_back(p);
  return {.name = "layer_norm",
          .patterns = std::move(patterns),
          .refuse = [](const Match& m) -> std::string {
            const Mean& mean = m.op<Mean>();
            if (const Node* n = m.find(op_info<Mean>(), 1); n && !(n->op() == Op(mean)))
              return "mean and variance run over different axes";
            if (const Node* n = m.find(op_info<Variance>())) {
              if (n->as<Variance>()->correction != 0) return "the variance is unbiased";
              if (n->as<Variance>()->axes != mean.axes) return "mean and variance run over different axes";
            }
            if (!(m.number("eps") > 0)) return "eps must be positive";
            return refuse_axes(mean.axes, mean.keepdim, m["x"]->rank());
          },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const LayerNorm norm{.rank = static_cast<std::int64_t>(m.op<Mean>().axes.size()),
                                     .eps = m.number("eps")};
                const Ref y = apply(norm, {Ref(m["x"], point)});
                return m.has("w") ? y * Ref(m["w"], point) : y;
              }};
}

namespace {

template <class Norm>
Rule weight_of(std::string_view name) {
  return {.name = name,
          .patterns = {op<Norm>(x) * hole("w")},
          .when = [](const Match& m) { return is_affine(*m["w"], *m["x"], m.op<Norm>().rank); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return apply(Norm(m.op<Norm>()), {Ref(m["x"], point), Ref(m["w"], point)});
              }};
}

}  // namespace

Rule layer_norm_weight() { return weight_of<LayerNorm>("layer_norm_weight"); }
Rule rms_norm_weight() { return weight_of<RmsNorm>("rms_norm_weight"); }

Rule layer_norm_bias() {
  return {.name = "layer_norm_bias",
          .patterns = {op<LayerNorm>(x, hole("w")) + hole("b")},
          .when = [](const Match& m) { return is_affine(*m["b"], *m["x"], m.op<LayerNorm>().rank); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return apply(LayerNorm(m.op<LayerNorm>()),
                             {Ref(m["x"], point), Ref(m["w"], point), Ref(m["b"], point)});
              }};
}

Rule raise_rms_norm() {
  return {.name = "rms_norm",
          .patterns = divided(x, op<Mean>(x * x) + number("eps")),
          .refuse = [](const Match& m) -> std::string {
            if (!(m.number("eps") > 0)) return "eps must be positive";
            return refuse_axes(m.op<Mean>().axes, m.op<Mean>().keepdim, m["x"]->rank());
          },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const RmsNorm norm{.rank = static_cast<std::int64_t>(m.op<Mean>().axes.size()),
                                   .eps = m.number("eps")};
                return apply(norm, {Ref(m["x"], point)});
              }};
}

}  // namespace tenon
