// Pooling.
#include "ir/ops/pool.h"

#include <fmt/format.h>

#include "base/error.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"

namespace tenon::converter {

namespace {

/// The number at the end of "max_pool2d", "adaptive_avg_pool1d", "max_pool3d_with_indices".
std::size_t spatial_dims(const Call& call) {
  const std::size_t place = call.name.find("pool");
  return static_cast<std::size_t>(call.name.at(place + 4) - '0');
}

/// The results for a sample without a batch axis lose the axis again.
template <class F>
std::vector<Ref> with_batch(Call& call, F&& f) {
  const Ref x = call.tensor("self");
  const std::size_t rank = spatial_dims(call) + 2;
  if (x.rank() == rank) return f(x);
  if (x.rank() + 1 != rank)
    throw error("a tensor of rank {} where {} or {} is needed", x.rank(), rank, rank - 1);
  Shape batched = x.shape();
  batched.insert(batched.begin(), Dim(1));
  std::vector<Ref> out = f(reshape(x, batched));
  for (Ref& y : out) y = reshape(y, Shape(y.shape().begin() + 1, y.shape().end()));
  return out;
}

/// An empty stride is the kernel size.
template <class Pool>
Pool windows(Call& call) {
  Pool op;
  op.kernel = call.integers("kernel_size");
  op.stride = call.integers("stride", {});
  if (op.stride.empty()) op.stride = op.kernel;
  op.pad = call.integers("padding", {0});
  op.ceil = call.flag("ceil_mode", false);
  return op;
}

template <class Pool>
Results max_pool(Call& call) {
  Pool op = windows<Pool>(call);
  op.dilation = call.integers("dilation", {1});
  return with_batch(call, [&](const Ref& x) { return apply_all(op, std::array{x}); });
}

Results avg_pool(Call& call) {
  AvgPool op = windows<AvgPool>(call);
  op.count_include_pad = call.flag("count_include_pad", true);
  if (call.has("divisor_override")) op.divisor = call.integer("divisor_override");
  return with_batch(call, [&](const Ref& x) {
    if (is_float(x.dtype())) return apply_all(op, std::array{x});
    return std::vector{
        cast(x.dtype(), apply(op, {cast(DType::f64, x)}))};  // casts truncate, as PyTorch's division
  });
}

/// None in the output size keeps the size of the input.
Shape output_size(Call& call, const Ref& x) {
  const std::size_t dims = spatial_dims(call);
  const AbstractValue given = call.value("output_size");
  std::vector<AbstractValue> items =
      items_of(given) ? *items_of(given) : std::vector<AbstractValue>(dims, given);
  if (items.size() == 1) items.resize(dims, items[0]);
  Shape out;
  for (std::size_t i = 0; i < dims; ++i) {
    const auto* size = items.at(i).get<Dim>();
    out.push_back(size ? *size : x.shape()[i + 2]);
  }
  return out;
}

Results adaptive_avg_pool(Call& call) {
  return with_batch(call, [&](const Ref& x) {
    return std::vector{apply(AdaptiveAvgPool{.output = output_size(call, x)}, {x})};
  });
}

/// Models that do not read the places lose the operator that finds them.
Results adaptive_max_pool(Call& call) {
  return with_batch(call, [&](const Ref& x) {
    const Shape size = output_size(call, x);
    return std::vector{apply(AdaptiveMaxPool{.output = size}, {x}),
                       apply_all(AdaptiveMaxPoolIndices{.output = size}, std::array{x})[1]};
  });
}

/// The first element of each window along one axis, for each sample and channel: Graham's pseudorandom
/// sequence, whose windows need not touch. `random` lies in [0, 1).
Ref fractional_starts(Call& call, const Ref& random, const Dim& size, const Dim& window, const Dim& count) {
  const Dim room = size - window;
  call.build.need_at_least(
      room + 1, count,
      fmt::format("{} windows of {} along an axis of {}", count.str(), window.str(), size.str()));
  const Ref place = iota(count, random.insertion_point());
  const Ref pace = dim_value(room, random) / dim_value(max(count - 1, Dim(1)), random);
  const Ref starts =
      cast(DType::i64, (cast(random.dtype(), place) + random) * pace) - cast(DType::i64, random * pace);
  return where(equal(place, dim_value(count - 1, place)), dim_value(room, place), starts);
}

/// The results of a window that holds NaN are its last one, as PyTorch walks over it.
std::vector<Ref> largest_of_windows(const Ref& values, const Ref& places) {
  const std::int64_t axis = static_cast<std::int64_t>(values.rank()) - 1;
  const Ref largest = amax(values, {axis});
  const Ref number = iota(values.shape().back(), values.insertion_point());
  const Ref last_nan = amax(where(not_equal(values, values), number, -1), {axis}, true);
  const Ref first = apply(ArgMax{.axis = axis, .keepdim = true}, {values});
  const Ref at = gather(places, axis, where(last_nan < last_nan.literal(0), first, last_nan));
  return {largest, reshape(at, largest.shape())};
}

/// Windows of one size whose places are random numbers that the model brings, or draws: (maxima, places).
Results fractional_max_pool(Call& call) {
  const Shape window = call.sizes("kernel_size"), output = call.sizes("output_size");
  const Ref random = call.tensor("random_samples");
  return with_batch(call, [&](const Ref& x) -> std::vector<Ref> {
    const std::size_t dims = spatial_dims(call);
    const Dim samples = x.shape()[0], channels = x.shape()[1];
    Ref places;
    for (std::size_t axis = 0; axis < dims; ++axis) {
      // Of images, the first number is that of the columns.
      const std::size_t number = dims == 2 ? 1 - axis : axis;
      const Ref own = slice(random, 2, Dim(static_cast<std::int64_t>(number)),
                            Dim(static_cast<std::int64_t>(number) + 1));
      const Dim& size = x.shape()[axis + 2];
      Shape starts(2 * dims + 2, Dim(1)), offsets = starts;
      starts[0] = samples;
      starts[1] = channels;
      starts[axis + 2] = output.at(axis);
      offsets[axis + 2 + dims] = window.at(axis);
      const Ref along = reshape(fractional_starts(call, own, size, window[axis], output[axis]), starts) +
                        reshape(iota(window[axis], x.insertion_point()), offsets);
      places = !places ? along : places * dim_value(size, places) + along;
    }
    const Dim taps = numel(window);
    const Shape flat = {samples, channels, numel(output) * taps};
    Shape windows = {samples, channels};
    windows.insert(windows.end(), output.begin(), output.end());
    windows.push_back(taps);
    const Dim elements = numel(Shape(x.shape().begin() + 2, x.shape().end()));
    const Ref values = gather(reshape(x, {samples, channels, elements}), 2, reshape(places, flat));
    return largest_of_windows(reshape(values, windows), reshape(places, windows));
  });
}

constexpr AtenEntry pool_table[] = {
    {"max_pool1d", max_pool<MaxPool>},
    {"max_pool2d", max_pool<MaxPool>},
    {"max_pool3d", max_pool<MaxPool>},
    {"max_pool1d_with_indices", max_pool<MaxPoolIndices>},
    {"max_pool2d_with_indices", max_pool<MaxPoolIndices>},
    {"max_pool3d_with_indices", max_pool<MaxPoolIndices>},
    {"avg_pool1d", avg_pool},
    {"avg_pool2d", avg_pool},
    {"avg_pool3d", avg_pool},
    {"adaptive_avg_pool1d", adaptive_avg_pool},
    {"adaptive_avg_pool2d", adaptive_avg_pool},
    {"adaptive_avg_pool3d", adaptive_avg_pool},
    {"_adaptive_avg_pool2d", adaptive_avg_pool},
    {"_adaptive_avg_pool3d", adaptive_avg_pool},
    {"adaptive_max_pool1d", adaptive_max_pool},
    {"adaptive_max_pool2d", adaptive_max_pool},
    {"adaptive_max_pool3d", adaptive_max_pool},
    {"fractional_max_pool2d", fractional_max_pool},
    {"fractional_max_pool3d", fractional_max_pool},
};

}  // namespace

std::span<const AtenEntry> pool_entries() { return pool_table; }

}  // namespace tenon::converter
