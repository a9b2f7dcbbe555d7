// Also the operators of torchvision.
#include "converter/aten/vision.h"

#include <limits>

#include "base/count.h"
#include "base/error.h"
#include "converter/aten/call.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/reduce.h"
#include "ir/ops/rules.h"

namespace tenon::converter {

namespace {

constexpr std::int64_t most = 4096;  // bins of an axis, and samples of a bin

/// The image at places from -1 to 1, zero outside.
Ref sampled(Builder& build, const Ref& image, const Ref& grid) {
  const auto found = run_aten(build, "grid_sampler", "",
                              {{"input", AbstractValue(build.tensor(image))},
                               {"grid", AbstractValue(build.tensor(grid))},
                               {"interpolation_mode", 0},
                               {"padding_mode", 0},
                               {"align_corners", true}});
  return build.read(*found[0].get<TensorPtr>());
}

}  // namespace

Ref affine_grid(Builder& build, const Ref& theta, std::span<const Dim> sizes, bool align_corners) {
  check_rank("the maps", theta.type(), 3);
  if (sizes.size() < 4 || sizes.size() > 5)
    throw error("a grid of {}: two or three spatial axes are needed", counted(sizes.size(), "size"));
  const Shape spatial(sizes.begin() + 2, sizes.end());
  const std::size_t n = spatial.size();
  std::vector<Ref> coordinates;  // x before y
  for (std::size_t axis = n; axis-- > 0;) {
    const Ref place = iota(spatial[axis], build.insertion_point(), theta.dtype());
    const Ref count = cast(theta.dtype(), dim_value(spatial[axis], place));
    const Ref last = count - 1.0;
    const Ref at = (place * 2.0 - last) / (align_corners ? maximum(last, last.literal(1)) : count);
    Shape along(n + 1, Dim(1));
    along[axis] = spatial[axis];
    Shape all = spatial;
    all.emplace_back(1);
    coordinates.push_back(expand(reshape(at, along), all));
  }
  coordinates.push_back(full(coordinates[0].shape(), 1, theta.dtype(), build.insertion_point()));
  const Ref places = reshape(concat(coordinates, static_cast<std::int64_t>(n)),
                             {numel(spatial), Dim(static_cast<std::int64_t>(n) + 1)});
  Shape out = {theta.shape()[0]};
  out.insert(out.end(), spatial.begin(), spatial.end());
  out.emplace_back(static_cast<std::int64_t>(n));
  return reshape(matmul(places, transpose(theta, -1, -2)), out);
}

Ref deform_conv(Builder& build, const Ref& x, const Ref& weight, const Ref& offset, const Ref& bias,
                const Ref& mask, const DeformConv& how) {
  check_rank("the input", x.type(), 4);
  check_rank("the weight", weight.type(), 4);
  check_rank("the offset", offset.type(), 4);
  const auto sizes = known_sizes(Shape{x.shape()[1], x.shape()[2], x.shape()[3], weight.shape()[0],
                                       weight.shape()[1], weight.shape()[2], weight.shape()[3]});
  if (!sizes) throw unsupported("a deformable convolution of unknown sizes");
  const std::int64_t channels = (*sizes)[0], kh = (*sizes)[5], kw = (*sizes)[6], taps = kh * kw;
  const auto [stride, pads, dilation, groups, parts] = how;
  if (parts < 1 || groups < 1 || channels % parts != 0 || channels % groups != 0)
    throw error("{} channels in {} groups of offsets, for {} groups", channels, parts, groups);
  const Dim batch = x.shape()[0], high = offset.shape()[2], wide = offset.shape()[3];
  const Ref moved = reshape(offset, {batch * Dim(parts), Dim(kh), Dim(kw), Dim(2), high, wide});
  const InsertionPoint& point = build.insertion_point();
  const auto along = [&, stride = stride, pads = pads, dilation = dilation, parts = parts](
                         std::size_t d) {  // as a share of the image from -1 to 1, for align_corners
    const Dim& count = d == 0 ? high : wide;
    const Ref start =
        iota(count, point, offset.dtype()) * static_cast<double>(stride[d]) - static_cast<double>(pads[d]);
    const Ref tap = iota(Dim(d == 0 ? kh : kw), point, offset.dtype()) * static_cast<double>(dilation[d]);
    const Ref at =
        reshape(start, d == 0 ? Shape{count, Dim(1)} : Shape{count}) +
        reshape(tap, d == 0 ? Shape{Dim(kh), Dim(1), Dim(1), Dim(1)} : Shape{Dim(kw), Dim(1), Dim(1)});
    const Ref by =
        reshape(slice(moved, 3, Dim(d), Dim(d + 1)), {batch * Dim(parts), Dim(kh), Dim(kw), high, wide});
    const auto last = static_cast<double>((*sizes)[d + 1] - 1);
    return reshape((at + by) / std::max(last, 1.0) * 2.0 - 1.0,
                   {batch * Dim(parts), Dim(taps) * high, wide, Dim(1)});
  };
  if ((*sizes)[1] < 2 || (*sizes)[2] < 2)
    throw unsupported("a deformable convolution of an image of one row or column");
  const Ref grid = concat(std::array{along(1), along(0)}, 3);
  const Ref image = reshape(x, {batch * Dim(parts), Dim(channels / parts), x.shape()[2], x.shape()[3]});
  Ref read = sampled(build, image, grid);
  read = reshape(read, {batch, Dim(parts), Dim(channels / parts), Dim(taps), high * wide});
  if (mask) read = read * reshape(mask, {batch, Dim(parts), Dim(1), Dim(taps), high * wide});
  const std::int64_t each = channels / groups;
  const Ref columns = reshape(read, {batch, Dim(groups), Dim(each * taps), high * wide});
  const Dim filters = floor_div(weight.shape()[0], Dim(groups));
  const Ref rows = reshape(weight, {Dim(groups), filters, Dim(each * taps)});
  Ref y = reshape(matmul(rows, columns), {batch, weight.shape()[0], high, wide});
  if (bias) y = y + reshape(bias, {weight.shape()[0], Dim(1), Dim(1)});
  return y;
}

Ref roi_align(Builder& build, const Ref& x, const Ref& boxes, const Ref& images, const RoiAlign& how) {
  check_rank("the input", x.type(), 4);
  check_rank("the regions", boxes.type(), 2);
  const auto [of_bins, ratio, scale, half, largest] = how;
  const Dim count = boxes.shape()[0], channels = x.shape()[1];
  const InsertionPoint& point = build.insertion_point();
  struct Corner {
    Ref position, weight;
  };
  std::array<std::array<Corner, 2>, 2> corners;  // of each axis, lower and upper
  std::array<Ref, 2> inside;
  std::array<std::int64_t, 2> samples{};
  for (const std::size_t d : {0, 1}) {  // down, then right
    const std::int64_t bins = of_bins[d];
    if (bins < 1 || bins > most || ratio > most) throw error("{} bins of {} samples", bins, ratio);
    samples[d] = bins * ratio;
    const auto edge = [&, half = half, scale = scale](std::int64_t i) {
      return slice(boxes, 1, Dim(i), Dim(i + 1)) * scale - (half ? 0.5 : 0.0);
    };
    const Ref begin = edge(d == 0 ? 1 : 0);
    Ref size = edge(d == 0 ? 3 : 2) - begin;
    if (!half) size = maximum(size, size.literal(1));
    const Ref steps = (iota(Dim(samples[d]), point, x.dtype()) + 0.5) / static_cast<double>(samples[d]);
    const Ref at = begin + size * steps;  // [regions, samples]
    const Ref extent = dim_value(x.shape()[d + 2], at);
    inside[d] = logical_and(at >= at.literal(-1), at <= extent);
    const Ref last = extent - 1.0;
    const Ref clipped = minimum(maximum(at, at.literal(0)), last);
    const Ref low = floor(clipped);
    const Ref share = clipped - low;
    corners[d][0] = {low, 1.0 - share};
    corners[d][1] = {minimum(low + 1.0, last), share};
  }
  const Shape places = {count, Dim(samples[0]), Dim(samples[1])};
  const auto down = [&](const Ref& r) {
    return expand(reshape(r, {count, Dim(samples[0]), Dim(1)}), places);
  };
  const auto right = [&](const Ref& r) {
    return expand(reshape(r, {count, Dim(1), Dim(samples[1])}), places);
  };
  const Ref rows = permute(x, {0, 2, 3, 1});  // places before channels
  const Ref image = expand(reshape(images, {count, Dim(1), Dim(1)}), places);
  const Ref valid = logical_and(down(inside[0]), right(inside[1]));
  Ref pooled;
  for (const std::size_t a : {0, 1})
    for (const std::size_t b : {0, 1}) {
      const Ref y = cast(DType::i64, down(corners[0][a].position)),
                z = cast(DType::i64, right(corners[1][b].position));
      const Ref value = apply(IndexAt{.axes = {0, 1, 2}}, {rows, image, y, z});
      const Ref weight = where(valid, down(corners[0][a].weight) * right(corners[1][b].weight), 0);
      const Ref part = value * reshape(weight, {count, Dim(samples[0]), Dim(samples[1]), Dim(1)});
      pooled = !pooled ? part : largest ? maximum(pooled, part) : pooled + part;
    }
  const Shape bins = {count,   Dim(samples[0] / ratio), Dim(ratio), Dim(samples[1] / ratio), Dim(ratio),
                      channels};
  const Ref split = reshape(pooled, bins);
  const Ref y = largest ? amax(split, {2, 4}) : mean(split, {2, 4});
  return permute(y, {0, 3, 1, 2});
}

namespace {

/// How much of each place of an axis the samples of each bin of a region see: [regions, bins, places]. The
/// number of samples of a bin is its size, rounded up.
Ref seen_places(Builder& build, const Ref& begin, const Ref& size, std::int64_t bins, const Dim& places) {
  const Dim count = size.shape()[0];
  const auto each = [&](const Ref& r) { return reshape(r, {count, Dim(1), Dim(1)}); };
  const Ref bin = size / static_cast<double>(bins), samples = maximum(ceil(bin), bin.literal(0));
  const Ref one = reshape(full({Dim(1)}, 1, bin.dtype(), build.insertion_point()), {Dim(1)});
  const Ref most_samples = amax(concat(std::array{reshape(samples, {count}), one}, 0), {0});
  const Dim steps = build.data_size(cast(DType::i64, most_samples));
  const DType t = bin.dtype();
  const Ref i = iota(steps, build.insertion_point(), t), k = iota(Dim(bins), build.insertion_point(), t);
  const Ref taken = maximum(each(samples), bin.literal(1));
  const Ref at = each(begin) + reshape(k, {Dim(bins), Dim(1)}) * each(bin) + (i + 0.5) * (each(bin) / taken);
  const Ref extent = dim_value(places, at), last = extent - 1.0;
  const Ref valid = logical_and(logical_and(at >= at.literal(-1), at <= extent), i < each(samples));
  const Ref clipped = minimum(maximum(at, at.literal(0)), last);
  const Shape wide = {count, Dim(bins), steps, Dim(1)};
  const Ref distance = abs(reshape(clipped, wide) - iota(places, build.insertion_point(), t));
  const Ref share = maximum(distance.literal(1) - distance, distance.literal(0));
  const Ref seen = sum(where(reshape(valid, wide), share, 0), {2});
  return seen / taken;
}

// A bilinear sample is a product of what it sees along one axis and the other: so is the mean of samples.
Ref roi_align_adaptive(Builder& build, const Ref& x, const Ref& boxes, const Ref& images,
                       const RoiAlign& how) {
  const Dim count = boxes.shape()[0], batch = x.shape()[0], channels = x.shape()[1];
  std::array<Ref, 2> seen;
  for (const std::size_t d : {0, 1}) {
    if (how.bins[d] < 1 || how.bins[d] > most) throw error("{} bins", how.bins[d]);
    const auto edge = [&](std::int64_t i) {
      return slice(boxes, 1, Dim(i), Dim(i + 1)) * how.scale - (how.aligned ? 0.5 : 0.0);
    };
    const Ref begin = edge(d == 0 ? 1 : 0);
    Ref size = edge(d == 0 ? 3 : 2) - begin;
    if (!how.aligned) size = maximum(size, size.literal(1));
    seen[d] = seen_places(build, begin, size, how.bins[d], x.shape()[d + 2]);
  }
  const Dim rows(how.bins[0]), columns(how.bins[1]), high = x.shape()[2], wide = x.shape()[3];
  // The rows of the region's own image, those of the others as zeros.
  const Ref own = equal(reshape(images, {count, Dim(1)}), iota(batch, build.insertion_point(), DType::i64));
  const Ref of_image = reshape(seen[0], {count, rows, Dim(1), high}) *
                       cast(x.dtype(), reshape(own, {count, Dim(1), batch, Dim(1)}));
  const Ref picture = reshape(permute(x, {0, 2, 1, 3}), {batch * high, channels * wide});
  const Ref down = matmul(reshape(of_image, {count * rows, batch * high}), picture);
  const Ref across = matmul(reshape(down, {count, rows * channels, wide}), permute(seen[1], {0, 2, 1}));
  return permute(reshape(across, {count, rows, channels, columns}), {0, 2, 1, 3});
}

/// torchvision's regions: the number of the image, then the box.
struct Regions {
  Ref images, boxes;
};
Regions regions(Call& call) {
  const Ref rois = call.tensor("rois");
  check_rank("rois", rois.type(), 2);
  const Ref images = reshape(slice(rois, 1, 0, 1), {rois.shape()[0]});
  return {cast(DType::i64, images), slice(rois, 1, 1, 5)};
}
std::array<std::int64_t, 2> bins(Call& call) {
  return {call.integer("pooled_height"), call.integer("pooled_width")};
}
/// The regions in bins; sampling_ratio 0 or -1 takes as many samples as a bin is large.
Ref aligned(Call& call, const Regions& r, bool half) {
  RoiAlign how{.bins = bins(call),
               .samples = call.integer("sampling_ratio"),
               .scale = call.number("spatial_scale"),
               .aligned = half};
  const Ref x = call.tensor("input");
  return how.samples > 0 ? roi_align(call.build, x, r.boxes, r.images, how)
                         : roi_align_adaptive(call.build, x, r.boxes, r.images, how);
}

Results nms(Call& call) {
  const SuppressOverlaps how{.threshold = call.number("iou_threshold")};
  return call.build.sized(how, {call.tensor("dets"), call.tensor("scores")})[0];
}

Results aligned_regions(Call& call) {
  const Regions r = regions(call);
  return aligned(call, r, call.flag("aligned", false));
}

/// Of [regions, classes * bins, bins] each bin from the channel of its own: [regions, classes, bins].
Results own_channels(Call& call, const Ref& all, const std::array<std::int64_t, 2>& size) {
  const std::int64_t places = size[0] * size[1];
  const Dim count = all.shape()[0], classes = floor_div(all.shape()[1], Dim(places));
  if (!(classes * Dim(places) == all.shape()[1]))
    throw error("{} channels for {} bins", all.shape()[1].str(), places);
  const Shape out = {count, classes, Dim(size[0]), Dim(size[1])};
  const Ref square = reshape(all, {count, classes, Dim(places), Dim(places)});
  const auto own =
      run_aten(call.build, "diagonal", "",
               {{"self", AbstractValue(call.build.tensor(square))}, {"offset", 0}, {"dim1", 2}, {"dim2", 3}});
  const Ref channels =
      cast(DType::i32, iota(classes * Dim(places), call.build.insertion_point(), DType::i64));
  return std::vector<Ref>{reshape(call.build.read(*own[0].get<TensorPtr>()), out),
                          expand(reshape(channels, {Dim(1), classes, Dim(size[0]), Dim(size[1])}), out)};
}

Results aligned_regions_by_place(Call& call) {
  const Regions r = regions(call);
  const auto size = bins(call);
  const Ref all = aligned(call, r, true);
  return own_channels(call, all, size);
}

/// Which places of an axis belong to each bin: [regions, bins, places].
struct Spread {
  Ref first, extent;  // of each region: where it begins, and how long it is
  std::int64_t bins;
  bool whole = true;  // regions begin at whole places, which are added behind the rounding
  BinEdges edges = BinEdges::times_size;
};
Ref members(Builder& build, const Spread& s, const Dim& extent) {
  const auto bins = static_cast<double>(s.bins);
  const Ref i = reshape(iota(Dim(s.bins), build.insertion_point(), s.first.dtype()), {Dim(s.bins), Dim(1)});
  const Ref limit = dim_value(extent, s.first), zero = s.first.literal(0);
  const Shape each = {s.first.shape()[0], Dim(1), Dim(1)};
  const Ref first = reshape(s.first, each), length = reshape(s.extent, each);
  const auto cut = [&](const Ref& bin, bool up) {
    const auto whole = [&](const Ref& at) { return up ? ceil(at) : floor(at); };
    if (!s.whole) return whole(bin * (length / bins) + first);
    if (s.edges == BinEdges::times_size) return whole(bin * (length / bins)) + first;
    const Ref n = cast(DType::i64, bin * length) + (up ? bins - 1 : 0);
    return cast(first.dtype(), apply(FloorDiv{}, {n, n.literal(bins)})) + first;
  };
  const auto edge = [&](const Ref& at) { return minimum(maximum(at, zero), limit); };
  const Ref begin = edge(cut(i, false)), end = edge(cut(i + 1.0, true));
  const Ref position = iota(extent, build.insertion_point(), s.first.dtype());
  return logical_and(begin <= position, position < end);
}

/// The places of x in each bin of each region, others as `outside`, reduced along one axis and the other.
template <class Reduce>
Ref pooled(const Ref& images, const std::array<Ref, 2>& inside, double outside, Reduce&& reduce) {
  const auto wide = [](const Ref& r) -> Dim { return r.shape()[1]; };
  const Shape s = images.shape();
  const Ref columns = reshape(inside[1], {s[0], Dim(1), Dim(1), wide(inside[1]), s[3]});
  const Ref spread = reshape(images, {s[0], s[1], s[2], Dim(1), s[3]});
  const Ref across = reduce(where(columns, spread, outside), 4);  // [regions, channels, H, bins]
  const Ref rows = reshape(inside[0], {s[0], Dim(1), wide(inside[0]), s[2], Dim(1)});
  const Ref down = reshape(across, {s[0], s[1], Dim(1), s[2], wide(inside[1])});
  return reduce(where(rows, down, outside), 3);
}
Ref area(const std::array<Ref, 2>& inside, DType t) {
  const auto count = [&](const Ref& m) { return sum(cast(t, m), {2}); };
  const Shape r = inside[0].shape(), c = inside[1].shape();
  return reshape(count(inside[0]), {r[0], Dim(1), r[1], Dim(1)}) *
         reshape(count(inside[1]), {r[0], Dim(1), Dim(1), c[1]});
}

/// C's round.
Ref rounded(const Ref& x) { return where(x < x.literal(0), ceil(x - 0.5), floor(x + 0.5)); }

}  // namespace

Ref roi_pool(Builder& build, const Ref& x, const Ref& boxes, const Ref& images,
             const std::array<std::int64_t, 2>& bins, double scale, BinEdges edges) {
  check_rank("the input", x.type(), 4);
  check_rank("the regions", boxes.type(), 2);
  std::array<Ref, 2> inside;
  for (const std::size_t d : {0, 1}) {
    if (bins[d] < 1 || bins[d] > most) throw error("{} bins along an axis", bins[d]);
    const auto at = [&](std::int64_t i) { return rounded(slice(boxes, 1, i, i + 1) * scale); };
    const Ref first = at(d == 0 ? 1 : 0), last = at(d == 0 ? 3 : 2);
    const Ref extent = maximum(last - first + 1.0, first.literal(1));
    inside[d] = members(build, {first, extent, bins[d], true, edges}, x.shape()[d + 2]);
  }
  const Ref best = pooled(index_select(x, 0, images), inside, -std::numeric_limits<double>::infinity(),
                          [](const Ref& v, std::int64_t axis) { return amax(v, {axis}); });
  const Ref count = area(inside, boxes.dtype());
  return where(count > count.literal(0), best, best.literal(0));
}

namespace {

Results pooled_regions(Call& call) {
  const Regions r = regions(call);
  const Ref best = roi_pool(call.build, call.tensor("input"), r.boxes, r.images, bins(call),
                            call.number("spatial_scale"), BinEdges::times_size);
  return Results::many(
      {AbstractValue(call.build.tensor(best)),
       AbstractValue(DivergentValue{"the places of roi_pool's maxima, which training needs"})});
}

Results pooled_regions_by_place(Call& call) {
  const Regions r = regions(call);
  const Ref x = call.tensor("input");
  const auto size = bins(call);
  const double scale = call.number("spatial_scale");
  std::array<Ref, 2> inside;
  for (const std::size_t d : {0, 1}) {
    const auto at = [&](std::int64_t i, double by) {
      const Ref edge = slice(r.boxes, 1, i, i + 1);
      return (rounded(edge) + by) * scale;
    };
    const Ref first = at(d == 0 ? 1 : 0, 0), last = at(d == 0 ? 3 : 2, 1);
    const Ref extent = maximum(last - first, first.literal(0.1));
    inside[d] = members(call.build, {first, extent, size[d], /*whole=*/false}, x.shape()[d + 2]);
  }
  const Ref images = index_select(x, 0, r.images);
  const Ref total = pooled(images, inside, 0, [](const Ref& v, std::int64_t axis) { return sum(v, {axis}); });
  const Ref count = area(inside, x.dtype());
  return own_channels(call, total / maximum(count, count.literal(1)), size);
}

Results deformed(Call& call) {
  const bool has_mask = call.flag("use_mask", false);
  call.ignore({"mask"});
  const auto two = [&](const std::string& name) {
    return std::array{call.integer(name + "_h"), call.integer(name + "_w")};
  };
  return deform_conv(call.build, call.tensor("input"), call.tensor("weight"), call.tensor("offset"),
                     call.tensor("bias"), has_mask ? call.tensor("mask") : Ref(),
                     {.stride = two("stride"),
                      .pads = two("pad"),
                      .dilation = two("dilation"),
                      .groups = call.integer("groups"),
                      .parts = call.integer("offset_groups")});
}

}  // namespace

std::span<const AtenEntry> vision_entries() {
  static constexpr std::array entries = {
      AtenEntry{"deform_conv2d", deformed, HalfPrecision::in_f32},
      AtenEntry{"nms", nms, HalfPrecision::in_f32},
      AtenEntry{"ps_roi_align", aligned_regions_by_place, HalfPrecision::in_f32},
      AtenEntry{"ps_roi_pool", pooled_regions_by_place, HalfPrecision::in_f32},
      AtenEntry{"roi_align", aligned_regions, HalfPrecision::in_f32},
      AtenEntry{"roi_pool", pooled_regions},
  };
  return entries;
}

}  // namespace tenon::converter
