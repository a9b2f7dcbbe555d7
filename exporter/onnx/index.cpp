// Reading and writing at places that a tensor names.
#include "ir/ops/index.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "exporter/onnx/table.h"
#include "ir/ops/index_places.h"
#include "ir/ops/reference.h"

namespace tenon::exporter::onnx {
namespace {

Attribute axis_of(std::int64_t axis) { return {"axis", axis}; }

/// ONNX's indices are i64 (i32 too, but not everywhere).
OnnxValue places(OnnxWriter& w, const Value* v) { return w.cast(w.value(v), DType::i64); }

bool write_index_select(OnnxWriter& w, const Node& n) {
  w.set(n.output(),
        w.add("Gather", {w.value(n.input(0)), places(w, n.input(1))}, {axis_of(n.as<IndexSelect>()->axis)}));
  return true;
}

bool write_gather(OnnxWriter& w, const Node& n) {
  w.set(n.output(), w.add("GatherElements", {w.value(n.input(0)), places(w, n.input(1))},
                          {axis_of(n.as<Gather>()->axis)}));
  return true;
}

OnnxValue transposed(OnnxWriter& w, const OnnxValue& x, const Axes& order) {
  return std::is_sorted(order.begin(), order.end()) ? x : w.add("Transpose", {x}, {{"perm", order}});
}

/// What the tensors of indices name, one coordinate after the other: i64[places..., axes].
OnnxValue coordinates(OnnxWriter& w, std::span<Value* const> indices, const Shape& shape) {
  OnnxValues parts;
  const OnnxValue last = w.integers({-1});
  for (const Value* v : indices) {
    OnnxValue each = places(w, v);
    if (v->shape() != shape) each = w.add("Expand", {each, w.sizes(shape)});
    parts.push_back(w.add("Unsqueeze", {each, last}));
  }
  return parts.size() == 1 ? parts[0] : w.add("Concat", parts, {axis_of(-1)});
}

Shape broadcast_shape(std::span<Value* const> indices) {
  Shape out;
  for (const Value* v : indices) out = broadcast(out, v->shape());
  return out;
}

bool write_index(OnnxWriter& w, const Node& n) {
  const Axes& axes = n.as<IndexAt>()->axes;
  const OnnxValue x = w.value(n.input(0));
  const std::size_t rank = n.input(0)->rank();
  const auto indices = std::span(n.inputs()).subspan(1);
  if (axes.size() == 1) {
    w.set(n.output(), w.add("Gather", {x, places(w, indices[0])}, {axis_of(axes[0])}));
    return true;
  }
  const Shape shape = broadcast_shape(indices);
  const OnnxValue read =
      w.add("GatherND", {transposed(w, x, listed_first(rank, axes)), coordinates(w, indices, shape)});
  const Axes order = places_first(n.output()->rank(), places_front(axes), shape.size());
  w.set(n.output(), transposed(w, read, inverse(order)));
  return true;
}

bool write_index_put(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<IndexPut>();
  const Shape& x = n.input(0)->shape();
  const auto indices = std::span(n.inputs()).subspan(2);
  const Shape shape = broadcast_shape(indices), target = indexed_shape(x, op.axes, shape);
  const Axes order = listed_first(x.size(), op.axes);
  OnnxValue values = w.value(n.input(1));
  if (n.input(1)->shape() != target) values = w.add("Expand", {values, w.sizes(target)});
  values = transposed(w, values, places_first(target.size(), places_front(op.axes), shape.size()));
  const OnnxValue written =
      w.add("ScatterND", {transposed(w, w.value(n.input(0)), order), coordinates(w, indices, shape), values},
            {{"reduction", std::string(op.accumulate ? "add" : "none")}});
  w.set(n.output(), transposed(w, written, inverse(order)));
  return true;
}

/// ScatterElements along one axis.
class Scattering {
 public:
  Scattering(OnnxWriter& w, const Node& n)
      : w_(w),
        axis_(n.as<Scatter>()->axis),
        shape_(n.input(1)->shape()),
        x_(n.input(0)->shape()),
        places_(places(w, n.input(1))) {}

  OnnxValue add(const OnnxValue& to, const OnnxValue& source, ScatterReduce reduce) const {
    constexpr std::array words = {"none", "add", "mul", "max", "min"};
    return w_.add("ScatterElements", {to, places_, source},
                  {axis_of(axis_), {"reduction", std::string(words[static_cast<std::size_t>(reduce)])}});
  }
  /// One number for each place.
  OnnxValue each(double number, DType dtype) const {
    return w_.add("Expand", {w_.number(number, dtype), w_.sizes(shape_)});
  }
  /// How many numbers fall on each element of x; 1 where none does.
  OnnxValue counts(bool include_self, DType dtype) const {
    OnnxValue ones = w_.add("Expand", {w_.number(1, dtype), w_.sizes(x_)});
    if (!include_self) ones = add(ones, each(0, dtype), ScatterReduce::none);
    return add(ones, each(1, dtype), ScatterReduce::sum);
  }

 private:
  OnnxWriter& w_;
  std::int64_t axis_;
  const Shape &shape_, &x_;
  OnnxValue places_;
};

/// ONNX reduces together with what is there: what is left out is first replaced by a number that changes
/// nothing. It does not average: sums are divided by their counts.
bool write_scatter(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Scatter>();
  const DType dtype = n.output()->dtype();
  const bool averages = op.reduce == ScatterReduce::mean;
  if (averages && !is_float(dtype)) throw unsupported("the average of whole numbers");
  OnnxValue source = w.value(n.input(2));
  const Shape &covered = n.input(1)->shape(), &shape = n.input(2)->shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != covered[i])
      source = w.add(
          "Slice", {source, w.integers({0}), w.size(covered[i]), w.integers({static_cast<std::int64_t>(i)})});
  const DType sums = averages && dtype != DType::f64 ? DType::f32 : dtype;
  const Scattering scatter(w, n);
  OnnxValue x = w.cast(w.value(n.input(0)), sums);
  source = w.cast(source, sums);
  if (op.reduce != ScatterReduce::none && !op.include_self) {
    const bool is_extreme =
        op.reduce == ScatterReduce::amax || op.reduce == ScatterReduce::amin;  // of itself is itself
    x = scatter.add(x, is_extreme ? source : scatter.each(op.reduce == ScatterReduce::prod ? 1 : 0, sums),
                    ScatterReduce::none);
  }
  OnnxValue y = scatter.add(x, source, averages ? ScatterReduce::sum : op.reduce);
  if (averages) y = w.cast(w.add("Div", {y, scatter.counts(op.include_self, sums)}), dtype);
  w.set(n.output(), y);
  return true;
}

bool write_index_add(OnnxWriter& w, const Node& n) {
  const std::int64_t axis = n.as<IndexAdd>()->axis;
  const Shape& shape = n.input(2)->shape();
  Index along(shape.size(), 1);
  along[static_cast<std::size_t>(axis)] = -1;
  const OnnxValue indices =
      w.add("Expand", {w.add("Reshape", {places(w, n.input(1)), w.integers(along)}), w.sizes(shape)});
  w.set(n.output(), w.add("ScatterElements", {w.value(n.input(0)), indices, w.value(n.input(2))},
                          {axis_of(axis), {"reduction", std::string("add")}}));
  return true;
}

bool write_one_hot(OnnxWriter& w, const Node& n) {
  w.set(n.output(),
        w.add("OneHot", {places(w, n.input()), w.size(n.as<OneHot>()->classes), w.integers({0, 1})},
              {axis_of(-1)}));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> index_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{"gather", write_gather},
      OnnxExportEntry{"index", write_index},
      OnnxExportEntry{"index_add", write_index_add},
      OnnxExportEntry{"index_put", write_index_put},
      OnnxExportEntry{"index_select", write_index_select},
      OnnxExportEntry{"one_hot", write_one_hot},
      OnnxExportEntry{"scatter", write_scatter},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
