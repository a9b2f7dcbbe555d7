// Reading and writing at computed places of images: grid_sampler, unpooling, fold, bags of embeddings.
#include <array>
#include <numeric>

#include "base/error.h"
#include "converter/aten/fold.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

/// grid_sampler's numbers for its modes.
enum Interpolation : std::int64_t { linear = 0, nearest = 1, cubic = 2 };
enum Outside : std::int64_t { zeros = 0, border = 1, reflection = 2 };

/// One spatial axis of the image and where the grid looks along it.
struct Along {
  Ref size;  // as a number of the grid's dtype
  Outside outside;
  bool align_corners;

  Ref last() const { return size - 1.0; }

  /// From [-1, 1] to places.
  Ref place(const Ref& grid) const {
    return align_corners ? (grid + 1.0) / 2.0 * last() : ((grid + 1.0) * size - 1.0) / 2.0;
  }

  Ref inside(const Ref& place) const {
    if (outside == zeros) return place;
    const Ref p = outside == reflection ? reflected(place) : place;
    return minimum(maximum(p, p.literal(0)), last());
  }

  /// Mirrored at the centres of the border's pixels or at their outer edges.
  Ref reflected(const Ref& place) const {
    const double low = align_corners ? 0 : -0.5;
    const Ref span = align_corners ? last() : size;
    const Ref from_low = abs(place - low);
    const Ref rest = apply(Fmod{}, {from_low, span});
    const Ref flips = apply(Fmod{}, {floor(from_low / span), span.literal(2)});
    const Ref mirrored = where(equal(flips, flips.literal(0)), rest + low, span - rest + low);
    return where(equal(span, span.literal(0)), span.literal(0), mirrored);
  }
};

/// What stands at whole places (one Ref for each axis) of x[N, C, P]; 0 outside.
Ref read_at(const Ref& x, const std::vector<Ref>& at, const std::vector<Along>& axes) {
  Ref flat, inside;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Ref valid = logical_and(at[d] >= at[d].literal(0), at[d] <= axes[d].last());
    const Ref place = where(valid, at[d], 0);
    inside = d == 0 ? valid : logical_and(inside, valid);
    const Ref whole = cast(DType::i64, place);
    flat = d == 0 ? whole : flat * cast(DType::i64, axes[d].size) + whole;
  }
  const Dim count = floor_div(numel(flat.shape()), flat.shape()[0]);
  const Shape wide = {x.shape()[0], x.shape()[1], count};
  const Ref values = gather(x, 2, expand(reshape(flat, {flat.shape()[0], Dim(1), count}), wide));
  return where(reshape(inside, {flat.shape()[0], Dim(1), count}), values, 0);
}

/// As the weights of read_at's values.
Ref as_weight(const Ref& w) {
  return reshape(w, {w.shape()[0], Dim(1), floor_div(numel(w.shape()), w.shape()[0])});
}

Ref sample_linear(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  Ref total;
  for (unsigned corner = 0; corner < 1U << axes.size(); ++corner) {
    std::vector<Ref> at;
    Ref weight;
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const Ref place = axes[d].inside(places[d]);
      const Ref low = floor(place);
      const bool upper = corner >> d & 1;
      at.push_back(upper ? low + 1.0 : low);
      const Ref share = upper ? place - low : low + 1.0 - place;
      weight = d == 0 ? share : weight * share;
    }
    const Ref part = read_at(x, at, axes) * as_weight(weight);
    total = corner == 0 ? part : total + part;
  }
  return total;
}

Ref sample_nearest(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  std::vector<Ref> at;
  for (std::size_t d = 0; d < axes.size(); ++d) at.push_back(round(axes[d].inside(places[d])));
  return read_at(x, at, axes);
}

/// Keys' weights (a = -0.75) of the four places around one that is t behind the second.
std::array<Ref, 4> cubic_weights(const Ref& t) {
  constexpr double a = -0.75;
  const auto near = [](const Ref& d) { return ((d * (a + 2) - (a + 3)) * d * d) + 1.0; };
  const auto far = [](const Ref& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

Ref sample_cubic(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  const Ref top = floor(places[0]), left = floor(places[1]);
  const auto down = cubic_weights(places[0] - top), right = cubic_weights(places[1] - left);
  Ref total;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      const std::vector<Ref> at = {axes[0].inside(top + (static_cast<double>(i) - 1)),
                                   axes[1].inside(left + (static_cast<double>(j) - 1))};
      const Ref part = read_at(x, at, axes) * as_weight(down[i] * right[j]);
      total = i + j == 0 ? part : total + part;
    }
  return total;
}

Results grid_sampler(Call& call) {
  const Ref x = call.tensor("input"), grid = call.tensor("grid");
  const auto mode = static_cast<Interpolation>(call.integer("interpolation_mode"));
  const auto outside = static_cast<Outside>(call.integer("padding_mode"));
  const bool corners = call.flag("align_corners", false);
  const std::size_t dims = x.rank() - 2;
  if (grid.rank() != x.rank() || grid.shape().back() != Dim(dims) || mode > cubic || outside > reflection)
    throw unsupported("grid_sampler of {} at {}", x.type().str(), grid.type().str());
  if (mode == cubic && dims != 2) throw error("bicubic sampling takes 2 spatial axes, not {}", dims);
  std::vector<Along> axes;
  std::vector<Ref> places;
  const Shape points(grid.shape().begin(), grid.shape().end() - 1);
  Dim pixels(1);
  for (std::size_t d = 0; d < dims; ++d) {
    const Dim size = x.shape()[d + 2];
    pixels = pixels * size;
    axes.push_back({dim_value(size, grid), outside, corners});
    const auto k = static_cast<std::int64_t>(dims - 1 - d);  // the grid lists x before y
    places.push_back(
        axes[d].place(reshape(slice(grid, static_cast<std::int64_t>(dims) + 1, k, k + 1), points)));
  }
  const Ref image = reshape(x, {x.shape()[0], x.shape()[1], pixels});
  const Ref y = mode == linear    ? sample_linear(image, places, axes)
                : mode == nearest ? sample_nearest(image, places, axes)
                                  : sample_cubic(image, places, axes);
  Shape shape = points;
  shape.insert(shape.begin() + 1, x.shape()[1]);
  return reshape(y, shape);
}

/// Values put back to the places that a max pooling took them from.
Results max_unpool(Call& call) {
  call.ignore({"stride", "padding"});
  const Ref x = call.tensor("self");
  const std::vector<Dim> sizes = call.sizes("output_size");
  const auto lead = static_cast<std::ptrdiff_t>(x.rank() - sizes.size());
  Shape shape(x.shape().begin(), x.shape().begin() + lead);
  Shape rows = shape, out = shape;
  rows.push_back(numel(Shape(x.shape().begin() + lead, x.shape().end())));
  out.push_back(numel(sizes));
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  const Ref zero = full(out, 0, x.dtype(), call.build.place());
  const Ref places = reshape(call.tensor("indices"), rows);
  return reshape(apply(Scatter{.axis = lead}, {zero, places, reshape(x, rows)}), shape);
}

/// torch.nn.functional.fold.
Results col2im(Call& call) {
  const Ref given = call.tensor("self");
  const bool batched = given.rank() == 3;
  const Ref x = batched ? given : reshape(given, {Dim(1), given.shape()[0], given.shape()[1]});
  const Axes pads = call.integers("padding");
  const Folded folded{.size = call.sizes("output_size"),
                      .kernel = call.integers("kernel_size"),
                      .dilation = call.integers("dilation"),
                      .stride = call.integers("stride"),
                      .before = pads,
                      .after = pads};
  const Ref y = columns_folded(call.build, x, folded);
  return batched ? y : reshape(y, Shape(y.shape().begin() + 1, y.shape().end()));
}

/// Which indices count: not those of the padding, which `_embedding_bag` has none of when it is negative, and
/// `embedding_bag` counts from the end.
Ref bag_counts(Call& call, const Ref& indices, const Dim& rows) {
  const bool counts_from_end = call.name == "embedding_bag" && call.has("padding_idx");
  const std::int64_t padding = call.integer("padding_idx", -1);
  if (padding < 0 && !counts_from_end) return full(indices.shape(), 1, DType::boolean, indices.place());
  return not_equal(indices, dim_value(padding < 0 ? rows + padding : Dim(padding), indices));
}

/// Sums, means or maxima of the embeddings in each bag. The other results, which training needs, may not be
/// read.
Results embedding_bag(Call& call) {
  call.ignore({"scale_grad_by_freq", "sparse"});
  const Ref weight = call.tensor("weight");
  const Ref indices = cast(DType::i64, call.tensor("indices"));
  const Ref offsets = cast(DType::i64, call.tensor("offsets"));
  const bool has_end = call.flag("include_last_offset", false);
  const Dim bags = offsets.shape()[0] - (has_end ? 1 : 0), count = indices.shape()[0];
  const Place& place = call.build.place();
  Ref bag = apply(SearchSorted{.right = true}, {offsets, iota(count, place)}) - 1.0;
  const Ref counted = bag_counts(call, indices, weight.shape()[0]);
  Ref summed = counted;
  if (has_end) {  // what lies behind the last offset is of the last bag, but PyTorch does not sum it
    const Ref end = dim_value(bags, bag);
    summed = logical_and(counted, bag < end);
    bag = minimum(bag, end - 1.0);
  }
  const auto column = [&](const Ref& of) { return reshape(of, {count, Dim(1)}); };
  Ref rows = index_select(weight, 0, indices);
  if (const Ref w = call.optional_tensor("per_sample_weights")) rows = rows * reshape(w, {count, Dim(1)});
  const Ref zero = full({bags, weight.shape()[1]}, 0, weight.dtype(), place);
  const Ref sizes = index_add(full({bags}, 0, DType::i64, place), 0, bag, cast(DType::i64, counted));
  const Ref filled = reshape(sizes, {bags, Dim(1)});
  Ref y;
  if (call.integer("mode", 0) == 2) {
    const double lowest = -std::numeric_limits<double>::infinity();
    const Ref places = expand(reshape(bag, {count, Dim(1)}), rows.shape());
    const Scatter largest{.axis = 0, .reduce = ScatterReduce::amax, .include_self = false};
    y = apply(largest, {zero, places, where(column(counted), rows, lowest)});
    y = where(filled > filled.literal(0), y, 0);
  } else {
    y = index_add(zero, 0, bag, where(column(summed), rows, 0));
    if (call.integer("mode", 0) == 1) y = y / cast(y.dtype(), maximum(filled, filled.literal(1)));
  }
  std::vector<Datum> results = {Datum(call.build.tensor(y))};
  results.resize(4, Datum(Uninitialized{}));
  return Results::many(std::move(results));
}

constexpr Entry entries[] = {
    {"grid_sampler", grid_sampler, Halves::in_f32},
    {"grid_sampler_2d", grid_sampler, Halves::in_f32},
    {"grid_sampler_3d", grid_sampler, Halves::in_f32},
    {"max_unpool2d", max_unpool},
    {"max_unpool3d", max_unpool},
    {"col2im", col2im},
    {"embedding_bag", embedding_bag},
    {"_embedding_bag", embedding_bag},
    {"_embedding_bag_forward_only", embedding_bag},
};

}  // namespace

std::span<const Entry> sampling_entries() { return entries; }

}  // namespace tenon::converter
