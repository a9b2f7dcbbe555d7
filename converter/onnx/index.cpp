// Reading and writing at places that a tensor names.
#include "ir/ops/index.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/axis.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

bool is_not_negative(const Tensor& t) {
  bool all = true;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> at) { all &= t.get_int(at) >= 0; });
  return all;
}

/// Indices in [0, size): ONNX counts negative ones from the end.
Ref from_start(const Call& call, std::size_t i, const Dim& size) {
  const Ref indices = cast(DType::i64, call.tensor(i));
  const auto known = call.values.data(call.operand(i));
  if (known && is_not_negative(*known)) return indices;
  return where(indices < indices.literal(0), indices + dim_value(size, indices), indices);
}

/// One place that is known is a slice, as PyTorch's x[:, 0] is.
std::optional<Ref> known_place(const Call& call, const Ref& x, std::int64_t axis) {
  const auto data = call.values.data(call.operand(1));
  if (!data || data->rank() != 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t index = data->get_int();
  const Dim place = index < 0 ? x.shape()[at] + index : Dim(index);
  if (!known_less(place, x.shape()[at]).value_or(false) || known_less(place, 0).value_or(true))
    return std::nullopt;
  return reshape(slice(x, axis, place, place + 1), without_axis(x.shape(), axis));
}

Operands gather_axis(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  if (const auto slice = known_place(call, x, axis)) return {*slice};
  return {index_select(x, axis, from_start(call, 1, x.shape()[static_cast<std::size_t>(axis)]))};
}

Operands gather_elements(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  return {gather(x, axis, from_start(call, 1, x.shape()[static_cast<std::size_t>(axis)]))};
}

/// The last axis of the indices as one tensor for each of its places: those in the axes of x from `first` on.
/// No place means all of x, the only row of it along one more axis, which x then has.
std::vector<Ref> coordinates(const Ref& indices, Ref& x, std::size_t first = 0) {
  const Dim& count = indices.shape().back();
  if (!count.is_known()) throw unsupported("indices whose last axis has the size {}", count.str());
  if (count.value() > static_cast<std::int64_t>(x.rank() - first))
    throw error("its indices have {} places for {} axes of {}", count.value(), x.rank() - first,
                x.type().str());
  const auto last = static_cast<std::int64_t>(indices.rank()) - 1;
  const Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  if (count == Dim(0)) {
    x = reshape(x, with_axis(x.shape(), static_cast<std::int64_t>(first)));
    return {full(shape, 0, DType::i64, x.insertion_point())};
  }
  std::vector<Ref> out;
  for (std::int64_t k = 0; k < count.value(); ++k)
    out.push_back(reshape(slice(indices, last, Dim(k), Dim(k + 1)), shape));
  return out;
}

Axes first_axes(std::size_t count) {
  Axes out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::int64_t>(i));
  return out;
}

Operands gather_nd(Call& call) {
  Ref x = call.tensor(0);
  const Ref indices = cast(DType::i64, call.tensor(1));
  const std::int64_t batch_axes = call.integer("batch_dims", 0);
  const auto batch = static_cast<std::size_t>(batch_axes);
  if (batch_axes < 0 || batch >= indices.rank() || batch > x.rank())
    throw error("it has {} batch axes, and indices of rank {}", batch_axes, indices.rank());
  const std::vector<Ref> given = coordinates(indices, x, batch);
  std::vector<Ref> operands = {x};
  for (std::size_t i = 0; i < batch; ++i) {
    Shape along(indices.rank() - 1, Dim(1));
    along[i] = x.shape()[i];
    operands.push_back(reshape(iota(x.shape()[i], call.build.insertion_point()), along));
  }
  operands.insert(operands.end(), given.begin(), given.end());
  return {tenon::apply(IndexAt{.axes = first_axes(operands.size() - 1)}, operands)};
}

ScatterReduce reduction(const Call& call) {
  const std::string word = call.text("reduction", "none");
  if (word == "none") return ScatterReduce::none;
  if (word == "add") return ScatterReduce::sum;
  if (word == "mul") return ScatterReduce::prod;
  if (word == "max") return ScatterReduce::amax;
  if (word == "min") return ScatterReduce::amin;
  throw error("its reduction is '{}'", word);
}

Operands scatter_elements(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  const Ref indices = from_start(call, 1, x.shape()[static_cast<std::size_t>(axis)]);
  return {apply(Scatter{.axis = axis, .reduce = reduction(call)}, {x, indices, call.tensor(2)})};
}

/// The tensor as rows, one for each place the indices may name.
Operands scatter_nd(Call& call) {
  Ref x = call.tensor(0);
  const Shape shape = x.shape();
  const Ref indices = cast(DType::i64, call.tensor(1)), updates = call.tensor(2);
  const std::vector<Ref> at = coordinates(indices, x);
  const ScatterReduce how = reduction(call);
  if (how == ScatterReduce::none || how == ScatterReduce::sum) {
    std::vector<Ref> operands = {x, updates};
    operands.insert(operands.end(), at.begin(), at.end());
    const IndexPut put{.axes = first_axes(at.size()), .accumulate = how == ScatterReduce::sum};
    return {reshape(tenon::apply(put, operands), shape)};
  }
  const auto middle = x.shape().begin() + static_cast<std::ptrdiff_t>(at.size());
  const Dim row = numel(Shape(middle, x.shape().end()));
  const Dim count = numel(Shape(indices.shape().begin(), indices.shape().end() - 1));
  Ref place;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Ref size = dim_value(x.shape()[k], at[k]);
    const Ref inside = logical_and(at[k] >= -size, at[k] < size);
    tenon::apply_all(Check{.message = "an index of ScatterND is outside of its axis"},
                     std::array{all(reshape(inside, {count}), {0})});
    const Ref positive = where(at[k] < at[k].literal(0), at[k] + size, at[k]);
    place = k == 0 ? positive : place * size + positive;
  }
  const Ref rows = reshape(x, {numel(Shape(x.shape().begin(), middle)), row});
  const Ref places = expand(reshape(place, {count, Dim(1)}), {count, row});
  return {reshape(apply(Scatter{.axis = 0, .reduce = how}, {rows, places, reshape(updates, {count, row})}),
                  shape)};
}

/// Writes an update into each sample of a cache, from the index of that sample on.
Operands tensor_scatter(Call& call) {
  const Ref cache = call.tensor(0), update = call.tensor(1);
  const std::int64_t axis = call.axis(cache.rank(), -2);
  const auto at = static_cast<std::size_t>(axis);
  const bool circular = call.text("mode", "linear") == "circular";
  const auto along = [&](const Ref& r, std::size_t i) {
    Shape shape(cache.rank(), Dim(1));
    shape[i] = r.shape()[0];
    return reshape(r, shape);
  };
  Ref place = along(iota(update.shape()[at], call.build.insertion_point()), at);
  if (call.has(2)) place = place + along(cast(DType::i64, call.tensor(2)), 0);
  if (circular) place = apply(Remainder{}, {place, dim_value(cache.shape()[at], place)});
  return {apply(Scatter{.axis = axis}, {cache, expand(place, update.shape()), update})};
}

Operands array_feature_extractor(Call& call) {
  const Ref x = call.tensor(0);
  const Ref indices = cast(DType::i64, call.tensor(1));
  const Ref matrix = x.rank() == 1 ? reshape(x, {Dim(1), x.shape()[0]}) : x;
  return {index_select(matrix, static_cast<std::int64_t>(matrix.rank()) - 1,
                       reshape(indices, {numel(indices.shape())}))};
}

}  // namespace

std::span<const OnnxEntry> index_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Gather", gather_axis},
      OnnxEntry{"GatherElements", gather_elements},
      OnnxEntry{"GatherND", gather_nd},
      OnnxEntry{"Scatter", scatter_elements},
      OnnxEntry{"ScatterElements", scatter_elements},
      OnnxEntry{"ScatterND", scatter_nd},
      OnnxEntry{"com.microsoft.GatherND", gather_nd},
      OnnxEntry{"TensorScatter", tensor_scatter},
      OnnxEntry{"ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
