// A convolution of one pixel and a resize, both linear, may change places. Before the resize there are fewer
// pixels:
//   conv1x1(concat(a, resize(x)), [v w]) = conv1x1(a, v) + resize(conv1x1(x, w))
// A linear before such a convolution is then a part of it:
//   conv1x1(map(linear(x, p, q)), w, b) = conv1x1(map(x), w p, b + w q)
// where map sees [N, pixels, C] as [N, C, H, W]. So do heads that join maps of several sizes.
#include <algorithm>
#include <numeric>

#include "fusion/passes.h"
#include "fusion/rule.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

// Is it a convolution in one group, by known weights, whose outputs read one pixel each?
bool is_product_of_pixels(const Match& m) {
  const Conv& conv = m.op<Conv>();
  const Shape& w = m["w"]->shape();
  const auto all = [](const Axes& axes, std::int64_t n) {
    return std::all_of(axes.begin(), axes.end(), [n](std::int64_t a) { return a == n; });
  };
  return has_numbers(m["w"]) && (!m.has("b") || has_numbers(m["b"])) && is_float(m["w"]->dtype()) &&
         conv.groups == 1 && all(conv.stride, 1) && all(conv.pad, 0) &&
         std::all_of(w.begin() + 2, w.end(), [](const Dim& d) { return d == Dim(1); });
}

std::optional<std::int64_t> pixels_of(const Value* v) {
  const auto sizes = known_sizes(Shape(v->shape().begin() + 2, v->shape().end()));
  if (!sizes) return std::nullopt;
  return std::accumulate(sizes->begin(), sizes->end(), std::int64_t{1}, std::multiplies());
}

// A resize whose result this alone reads.
const Node* resize_of(const Value* v) {
  const Node* const node = v->node();
  return node && node->is<Interpolate>() && v->uses().size() == 1 ? node : nullptr;
}

// A result is the pixel at its place? Cubic ones multiply others by 0, which may be infinite.
bool keeps_pixels(const Node& resize) {
  const auto& [mode, output, align_corners, scales] = *resize.as<Interpolate>();
  const bool computes_places =
      std::any_of(scales.begin(), scales.end(), [](double s) { return s > 0 && s != 1; });
  return resize.input()->type() == resize.output()->type() && !computes_places &&
         mode != InterpolateMode::cubic;
}

// Is the convolution of so many channels before the resize faster by more than what moving its results
// through memory takes?
bool pays(const Node& resize) {
  constexpr double flops_of_moving = 160;  // a number: read, added, written
  const auto from = pixels_of(resize.input()), to = pixels_of(resize.output());
  const Dim& channels = resize.input()->shape()[1];
  if (!from || !to || *from >= *to || !channels.is_known()) return false;
  const double saved = 1 - static_cast<double>(*from) / static_cast<double>(*to);
  return 2 * static_cast<double>(channels.value()) * saved >= flops_of_moving;
}

bool joins_resized_maps(const Match& m) {
  const Node* const concat = m["x"]->node();
  return concat && concat->is<Concat>() && concat->as<Concat>()->axis == 1 && m["x"]->uses().size() == 1 &&
         std::any_of(concat->inputs().begin(), concat->inputs().end(), resize_of) && is_product_of_pixels(m);
}

std::string refuse_parts(const Match& m) {
  const auto& parts = m["x"]->node()->inputs();
  const auto has_size = [](const Value* p) { return p->shape()[1].is_known() && pixels_of(p); };
  const auto sinks = [](const Value* p) { return resize_of(p) && pays(*resize_of(p)); };
  if (!std::all_of(parts.begin(), parts.end(), has_size)) return "the sizes of the maps are not known";
  if (std::none_of(parts.begin(), parts.end(), sinks))
    return "no part grows from so few pixels of so many channels that it would pay";
  if (std::all_of(parts.begin(), parts.end(), sinks)) return "all parts grow";
  return {};
}

// Weights that read channels [begin, end).
struct Channels {
  std::int64_t begin, end;
};

// A weight of these inputs alone.
Ref weights_of(const Value* w, const std::vector<Channels>& channels, const InsertionPoint& point) {
  Index sizes = w->tensor().shape();
  sizes[1] = 0;
  for (const Channels& c : channels) sizes[1] += c.end - c.begin;
  Tensor some = Tensor::empty(w->dtype(), sizes);
  std::int64_t at = 0;
  for (const Channels& c : channels) {
    const std::int64_t end = at + c.end - c.begin;
    some.slice(1, at, end).copy_from(w->tensor().slice(1, c.begin, c.end));
    at = end;
  }
  return Ref(point.region->graph().add_weight(w->name() + "'", std::move(some)), point);
}

Ref sunk(const Match& m, const InsertionPoint& point) {
  const Op conv = Op(m.op<Conv>());
  std::vector<Ref> kept, resized;
  std::vector<Channels> of_kept;
  Channels own{0, 0};
  for (Value* part : m["x"]->node()->inputs()) {
    own = {own.end, own.end + part->shape()[1].value()};
    const Node* const resize = resize_of(part);
    if (resize && pays(*resize)) {
      const std::vector<Ref> operands = {Ref(resize->input(), point), weights_of(m["w"], {own}, point)};
      const Ref few = apply(conv, std::span<const Ref>(operands));
      resized.push_back(apply(resize->op(), std::span(&few, 1)));
    } else {
      kept.emplace_back(resize && keeps_pixels(*resize) ? resize->input() : part, point);
      of_kept.push_back(own);
    }
  }
  std::vector<Ref> operands = {kept.size() == 1 ? kept[0] : concat(kept, 1),
                               weights_of(m["w"], of_kept, point)};
  if (m.has("b")) operands.emplace_back(m["b"], point);
  Ref added = resized[0];
  for (std::size_t i = 1; i < resized.size(); ++i) added = added + resized[i];
  return apply(conv, std::span<const Ref>(operands)) + added;
}

Rule resize_of_convolution() {
  const Pattern x = hole("x"), w = hole("w");
  return {.name = "resize_of_convolution",
          .patterns = {op<Conv>(x, w), op<Conv>(x, w, hole("b"))},
          .when = joins_resized_maps,
          .refuse = refuse_parts,
          .build = sunk};
}

// a [rows, depth] by b [depth, columns], summed in double.
Tensor product(const Tensor& a, const Tensor& b) {
  const std::int64_t rows = a.shape()[0], depth = a.shape()[1], columns = b.shape()[1];
  const Tensor left = a.to(DType::f64).contiguous(), right = b.to(DType::f64).contiguous();
  Tensor result = Tensor::empty(DType::f64, {rows, columns});
  auto* const to = result.mutable_data<double>();
  std::fill_n(to, rows * columns, 0.0);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < depth; ++k) {
      const double factor = left.data<double>()[r * depth + k];
      const double* const row = right.data<double>() + k * columns;
      for (std::int64_t c = 0; c < columns; ++c) to[r * columns + c] += factor * row[c];
    }
  return result.to(a.dtype());
}

// A linear whose result [N, pixels, C] the convolution sees as [N, C, H, W]. Products of 16-bit weights would
// lose digits.
bool is_map_of_linear(const Match& m) {
  const Shape& map = m.find(op_info<Reshape>())->output()->shape();
  const Shape& rows = m["x"]->shape();
  if (!is_product_of_pixels(m) || rows.size() != 3 || m.op<Permute>().axes != Axes{0, 2, 1} ||
      map.size() < 3 || map[0] != rows[0] || map[1] != m["p"]->shape()[0] || !has_numbers(m["p"]) ||
      m["p"]->dtype() != m["w"]->dtype() || size_of(m["w"]->dtype()) < 4 ||
      (m.has("q") && !has_numbers(m["q"])))
    return false;
  const Index& inner = m["p"]->tensor().shape();
  const std::int64_t outputs = m["w"]->tensor().shape()[0];
  return outputs * inner[1] <= inner[0] * (inner[1] + outputs) / 2;
}

Ref without_linear(const Match& m, const InsertionPoint& point) {
  Graph& graph = point.region->graph();
  const Tensor p = m["p"]->tensor(), w = m["w"]->tensor();
  const Index sizes = w.shape();
  const Tensor matrix = w.contiguous().reshape({sizes[0], sizes[1]});
  Index of_both = sizes;
  of_both[1] = p.shape()[1];
  const auto weight = [&](const Value* like, Tensor data) {
    return Ref(graph.add_weight(like->name() + "'", std::move(data)), point);
  };
  Shape map = m.find(op_info<Reshape>())->output()->shape();
  map[1] = p.shape()[1];
  std::vector<Ref> operands = {reshape(permute(Ref(m["x"], point), {0, 2, 1}), map),
                               weight(m["w"], product(matrix, p).reshape(of_both))};
  if (m.has("q")) {
    const Tensor q = m["q"]->tensor().contiguous();
    const Ref added = weight(m["q"], product(matrix, q.reshape({q.numel(), 1})).reshape({sizes[0]}));
    operands.push_back(m.has("b") ? Ref(m["b"], point) + added : added);
  } else if (m.has("b")) {
    operands.emplace_back(m["b"], point);
  }
  return apply(Op(m.op<Conv>()), std::span<const Ref>(operands));
}

Rule convolution_of_linear() {
  const Pattern x = hole("x"), p = hole("p"), w = hole("w"), b = hole("b");
  const auto map = [](const Pattern& rows) { return op<Reshape>(op<Permute>(rows)); };
  const Pattern plain = map(op<Linear>(x, p)), with_bias = map(op<Linear>(x, p, hole("q")));
  return {.name = "convolution_of_linear",
          .patterns = {op<Conv>(plain, w), op<Conv>(plain, w, b), op<Conv>(with_bias, w),
                       op<Conv>(with_bias, w, b)},
          .when = is_map_of_linear,
          .build = without_linear};
}

const std::vector<Rule>& resize_rules() {
  static const std::vector<Rule> list = {resize_of_convolution(), convolution_of_linear()};
  return list;
}

}  // namespace

Pass sink_resizes() {
  return {"sink_resizes", names(resize_rules()), [](Rewriter& rewriter) {
            // Weights become integers in linears alone.
            const bool keeps_linears = is_of_weights(rewriter.precision()) && !half_of(rewriter.precision());
            apply_rules(rewriter, std::span(resize_rules()).first(keeps_linears ? 1 : 2));
          }};
}

}  // namespace tenon
