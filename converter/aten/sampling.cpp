// Reading and writing at computed places of images: grid_sampler, affine_grid, unpooling, fold, bags of
// embeddings.
#include <array>
#include <numeric>

#include "base/error.h"
#include "converter/aten/fold.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "converter/aten/vision.h"
#include "ir/ops/functions.h"
#include "ir/ops/grid_sample.h"
#include "ir/ops/index.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

/// Its numbers for modes are those of the enums.
Results grid_sampler(Call& call) {
  const std::int64_t mode = call.integer("interpolation_mode"), outside = call.integer("padding_mode");
  const auto is_one = [](std::int64_t number, const auto& names) {
    return number >= 0 && number < static_cast<std::int64_t>(names.size());
  };
  if (!is_one(mode, EnumNames<SampleMode>::names) || !is_one(outside, EnumNames<Outside>::names))
    throw unsupported("grid_sampler in mode {} with padding {}", mode, outside);
  return apply(GridSample{.mode = static_cast<SampleMode>(mode),
                          .outside = static_cast<Outside>(outside),
                          .align_corners = call.flag("align_corners", false)},
               {call.tensor("input"), call.tensor("grid")});
}

Results affine_grid_generator(Call& call) {
  return affine_grid(call.build, call.tensor("theta"), call.sizes("size"), call.flag("align_corners", false));
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
  const Ref zero = full(out, 0, x.dtype(), call.build.insertion_point());
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
  if (padding < 0 && !counts_from_end)
    return full(indices.shape(), 1, DType::boolean, indices.insertion_point());
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
  const InsertionPoint& point = call.build.insertion_point();
  Ref bag = apply(SearchSorted{.right = true}, {offsets, iota(count, point)}) - 1.0;
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
  const Ref zero = full({bags, weight.shape()[1]}, 0, weight.dtype(), point);
  const Ref sizes = index_add(full({bags}, 0, DType::i64, point), 0, bag, cast(DType::i64, counted));
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
  std::vector<AbstractValue> results = {AbstractValue(call.build.tensor(y))};
  results.resize(4, AbstractValue(Uninitialized{}));
  return Results::many(std::move(results));
}

constexpr AtenEntry sampling_table[] = {
    {"grid_sampler", grid_sampler, HalfPrecision::in_f32},
    {"grid_sampler_2d", grid_sampler, HalfPrecision::in_f32},
    {"grid_sampler_3d", grid_sampler, HalfPrecision::in_f32},
    {"affine_grid_generator", affine_grid_generator},
    {"max_unpool2d", max_unpool},
    {"max_unpool3d", max_unpool},
    {"col2im", col2im},
    {"embedding_bag", embedding_bag},
    {"_embedding_bag", embedding_bag},
    {"_embedding_bag_forward_only", embedding_bag},
};

}  // namespace

std::span<const AtenEntry> sampling_entries() { return sampling_table; }

}  // namespace tenon::converter
