#include "verify/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <set>

#include "base/count.h"
#include "base/error.h"
#include "ir/random.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

constexpr int smallest_decade = -12;
constexpr double infinity = std::numeric_limits<double>::infinity();

// No tolerance accepts a string that differs.
ErrorSpread spread_of_strings(const Tensor& value, const Tensor& expected) {
  const auto p = texts_of(value), q = texts_of(expected);
  ErrorSpread spread{.elements = value.numel()};
  for (std::size_t i = 0; i < p.size(); ++i) ++(p[i] == q[i] ? spread.exact : spread.beyond);
  if (spread.beyond > 0) spread.needed_rtol = infinity;
  return spread;
}

// Of elements of T, in which both are given.
template <class T>
ErrorSpread spread_of_numbers(const Tensor& value, const Tensor& expected, double scale,
                              const Tolerance& tolerance) {
  const Tensor x = value.contiguous(), y = expected.contiguous();
  const T *p = x.data<T>(), *q = y.data<T>();
  ErrorSpread spread{.elements = value.numel()};
  std::map<int, std::int64_t> decades;  // 10^d is the upper bound
  const double rtol = tolerance.rtol.value_or(0), atol = tolerance.atol.value_or(0);
  double sum = 0;
  for (std::int64_t i = 0; i < value.numel(); ++i) {
    const double error = error_between(p[i], q[i]);
    if (error == 0) {
      ++spread.exact;
      continue;
    }
    if (!std::isfinite(error)) {
      ++spread.infinite;
      ++spread.beyond;
      spread.needed_rtol = infinity;
      continue;
    }
    sum += error;
    if (error > atol + rtol * std::abs(q[i])) ++spread.beyond;
    if (error > atol)
      spread.needed_rtol =
          std::max(spread.needed_rtol, q[i] == T() ? infinity : (error - atol) / std::abs(q[i]));
    const double share = scale > 0 ? error / scale : error;
    ++decades[std::max(smallest_decade, static_cast<int>(std::ceil(std::log10(share))))];
  }
  if (const std::int64_t finite = spread.elements - spread.infinite; finite > 0)
    spread.mean = sum / static_cast<double>(finite);
  if (!decades.empty())
    for (int d = decades.begin()->first; d <= decades.rbegin()->first; ++d)
      spread.buckets.push_back({std::pow(10.0, d), decades.contains(d) ? decades.at(d) : 0});
  return spread;
}

}  // namespace

ErrorSpread spread_of_errors(const Tensor& value, const Tensor& expected, double scale,
                             const Tolerance& tolerance) {
  if (is_string(value.dtype())) return spread_of_strings(value, expected);
  return is_complex(value.dtype()) || is_complex(expected.dtype())
             ? spread_of_numbers<std::complex<double>>(value.to(DType::c128), expected.to(DType::c128), scale,
                                                       tolerance)
             : spread_of_numbers<double>(value.to(DType::f64), expected.to(DType::f64), scale, tolerance);
}

OutputCheck check_output(std::string name, const Tensor& value, const Tensor& expected,
                         const Tolerance& tolerance) {
  OutputCheck c{.name = std::move(name),
                .difference = compare(value, expected),
                .dtype = value.dtype(),
                .expected_dtype = expected.dtype(),
                .type = value.type_string(),
                .expected_type = expected.type_string()};
  if (c.difference.comparable) c.spread = spread_of_errors(value, expected, c.difference.scale, tolerance);
  c.ok = c.difference.within(tolerance.share_of(expected.dtype())) && c.same_type() &&
         (!tolerance.elementwise() || c.spread.beyond == 0);
  return c;
}

OutputCheck check_type(const Graph& graph, std::size_t i, const Tensor& value, const Tensor& expected) {
  std::set<std::string> known;
  for (const auto& input : graph.body().parameters())
    for (const Dim& size : input->shape())
      for (const std::string& symbol : size.symbols()) known.insert(symbol);
  const Shape& shape = graph.body().results()[i]->shape();
  bool fits = value.rank() == expected.rank();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const auto symbols = shape[axis].symbols();
    const bool of_inputs =
        std::all_of(symbols.begin(), symbols.end(), [&](const auto& s) { return known.contains(s); });
    fits = !of_inputs || value.shape()[axis] == expected.shape()[axis];
  }
  OutputCheck c{.name = output_name(graph, i),
                .difference = {.comparable = fits, .elements = value.numel()},
                .dtype = value.dtype(),
                .expected_dtype = expected.dtype(),
                .type = value.type_string(),
                .expected_type = expected.type_string(),
                .types_only = true};
  c.ok = c.same_type();
  return c;
}

std::vector<OutputCheck> check_outputs(const Graph& graph, std::span<const Tensor> outputs,
                                       std::span<const Tensor> expected, const Tolerance& tolerance,
                                       Draws draws) {
  if (outputs.size() != expected.size())
    throw error("the model has {}, expected: {}", counted(outputs.size(), "output"), expected.size());
  const std::vector<bool> random = random_outputs(graph);
  std::vector<OutputCheck> checks;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (expected[i].defined())
      checks.push_back(draws == Draws::others && random[i]
                           ? check_type(graph, i, outputs[i], expected[i])
                           : check_output(output_name(graph, i), outputs[i], expected[i], tolerance));
  return checks;
}

std::string word(const OutputCheck& c) {
  if (!c.ok) return "DIFFERS";
  if (c.types_only) return "types and sizes only";
  return c.difference.compared > 0 ? "ok" : "not compared: " + c.difference.why_nothing();
}

std::string histogram(const ErrorSpread& s, std::string_view indent) {
  std::string text = fmt::format("{}errors, as a share of the largest value\n", indent);
  const auto line = [&](std::string_view label, std::int64_t count) {
    constexpr double width = 40;
    const double share = static_cast<double>(count) / static_cast<double>(s.elements);
    text += fmt::format("{}  {:<12} {:>10}  {}", indent, label, count,
                        std::string(static_cast<std::size_t>(std::ceil(width * share)), '#'));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  line("none", s.exact);
  for (const ErrorSpread::Bucket& b : s.buckets) line(fmt::format("to {:.0e}", b.below), b.count);
  if (s.infinite) line("NaN or Inf", s.infinite);
  return text;
}

std::string limit_text(double value) {
  if (value <= 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.2g}", std::ceil(value / unit) * unit);
}

}  // namespace tenon
