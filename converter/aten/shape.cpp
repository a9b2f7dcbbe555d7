// Operators that copy elements to other places.
#include "ir/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "compose/repeat.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/create.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"

namespace tenon::converter {

namespace {

/// The tensors of a list in their common dtype.
std::vector<Ref> promoted_list(Call& call, std::string_view argument) {
  std::vector<AbstractValue> given;
  for (const TensorPtr& t : call.tensors(argument)) given.emplace_back(t);
  if (given.empty()) throw error("an empty list of tensors");
  return promoted(call.build, given);
}

Results cat(Call& call) {
  std::vector<Ref> parts = promoted_list(call, "tensors");
  // PyTorch skips empty vectors whatever the shape of the others.
  const auto is_empty_vector = [](const Ref& x) { return x.rank() == 1 && x.shape()[0] == Dim(0); };
  if (!std::all_of(parts.begin(), parts.end(), is_empty_vector)) std::erase_if(parts, is_empty_vector);
  const std::int64_t axis = call.axis("dim", parts[0].rank(), 0);
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Ref stacked(std::vector<Ref> parts, std::int64_t axis) {
  for (Ref& part : parts) part = reshape(part, with_axis(part.shape(), axis));
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Results stack(Call& call) {
  const std::vector<Ref> parts = promoted_list(call, "tensors");
  return stacked(parts, call.axis("dim", parts[0].rank() + 1, 0));
}

/// vstack, hstack, dstack: at least as many axes, then joined along one.
Ref at_least(const Ref& x, std::size_t rank) {
  if (x.rank() >= rank) return x;
  Shape shape = x.shape();
  if (rank == 3 && shape.size() == 2)
    shape.push_back(Dim(1));
  else if (rank == 3 && shape.size() == 1)
    shape = {Dim(1), shape[0], Dim(1)};
  else
    shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  return reshape(x, shape);
}
Results column_stack(Call& call) {
  std::vector<Ref> parts = promoted_list(call, "tensors");
  for (Ref& part : parts)
    if (part.rank() < 2) part = reshape(part, {numel(part.shape()), Dim(1)});
  return parts.size() == 1 ? parts[0] : concat(parts, 1);
}
template <int rank>
Results joined(Call& call) {
  std::vector<Ref> parts = promoted_list(call, "tensors");
  for (Ref& part : parts) part = at_least(part, rank);
  const bool vectors = parts[0].rank() == 1;
  const std::int64_t axis = rank == 2 ? 0 : rank == 3 ? 2 : vectors ? 0 : 1;
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Results repeat(Call& call) {
  const Ref x = call.tensor("self");
  auto repeats = call.sizes("repeats");
  if (repeats.size() < x.rank()) throw error("repeat of {} axes by {} counts", x.rank(), repeats.size());
  return repeated(x, std::move(repeats));
}
Results tile(Call& call) { return repeated(call.tensor("self"), call.sizes("dims")); }

/// Each slice as often as a tensor says.
Results repeat_each(Call& call) {
  const bool places_alone = call.overload == "Tensor";
  Ref repeats = call.tensor("repeats");
  call.ignore({"output_size"});
  if (places_alone) return call.build.sized(RepeatEach{}, {repeats})[0];
  Ref x = call.tensor("self");
  if (!call.has("dim")) x = reshape(x, {numel(x.shape())});
  const std::int64_t axis = call.axis("dim", x.rank(), 0);
  repeats = expand(reshape(repeats, {numel(repeats.shape())}), {x.shape()[at(axis)]});
  return index_select(x, axis, call.build.sized(RepeatEach{}, {repeats})[0]);
}

Results repeat_interleave(Call& call) {
  if (call.overload == "Tensor" || call.overload == "self_Tensor") return repeat_each(call);
  Ref x = call.tensor("self");
  const Dim repeats = call.size("repeats");
  call.ignore({"output_size"});
  if (!call.has("dim")) x = reshape(x, {numel(x.shape())});
  const std::int64_t axis = call.axis("dim", x.rank(), 0);
  Shape single = x.shape();
  single.insert(single.begin() + axis + 1, Dim(1));
  Shape wide = single;
  wide[at(axis) + 1] = repeats;
  Shape result = x.shape();
  result[at(axis)] = result[at(axis)] * repeats;
  return reshape(expand(reshape(x, single), wide), result);
}

Results flip(Call& call) {
  const Ref x = call.tensor("self");
  auto axes = call.integers("dims");
  for (auto& a : axes) a = normalize_axis(a, x.rank());
  std::sort(axes.begin(), axes.end());
  return axes.empty() ? x : tenon::flip(x, axes);
}

template <std::int64_t axis>
Results flip_axis(Call& call) {
  return tenon::flip(call.tensor("self"), {axis});
}

Ref rolled(const Ref& x, std::int64_t axis, const Dim& shift) {
  const Dim size = x.shape()[at(axis)];
  if (size == Dim(0)) return x;
  const Dim cut = mod(size - mod(shift, size), size);
  if (cut == Dim(0)) return x;
  const std::array parts = {slice(x, axis, cut, size), slice(x, axis, 0, cut)};
  return concat(parts, axis);
}

Results roll(Call& call) {
  const Ref x = call.tensor("self");
  const auto shifts = call.sizes("shifts");
  const auto dims = call.integers("dims", {});
  if (dims.empty()) return reshape(rolled(reshape(x, {numel(x.shape())}), 0, shifts.at(0)), x.shape());
  Ref y = x;
  for (std::size_t i = 0; i < dims.size(); ++i)
    y = rolled(y, normalize_axis(dims[i], x.rank()), shifts.at(i));
  return y;
}

/// The zero frequency moved to the middle of the axes, or back.
template <bool back>
Results fft_shift(Call& call) {
  const Ref x = call.tensor("self");
  Ref y = x;
  for (const std::int64_t axis : call.axes("dim", x.rank())) {
    const Dim size = x.shape()[at(axis)];
    y = rolled(y, axis, floor_div(back ? size + 1 : size, Dim(2)));
  }
  return y;
}

/// PyTorch lists (begin, end) from the last axis on; Pad lists all begins, then all ends.
Ref padded(const Ref& x, const std::vector<Dim>& pads, PadMode mode, double value) {
  const std::size_t rank = x.rank();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank)
    throw error("{} paddings for a tensor of rank {}", pads.size(), rank);
  Shape amounts(2 * rank, Dim(0));
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    const std::size_t axis = rank - 1 - i;
    amounts[axis] = pads[2 * i];
    amounts[rank + axis] = pads[2 * i + 1];
  }
  const auto is_negative = [](const Dim& d) { return d.range().max.value_or(0) < 0; };
  if (mode == PadMode::constant || std::none_of(amounts.begin(), amounts.end(), is_negative))
    return apply(Pad{.pads = std::move(amounts), .mode = mode, .value = value}, {x});

  Shape added = amounts, removed = amounts;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    (is_negative(amounts[i]) ? added : removed)[i] = Dim(0);
    removed[i] = -removed[i];
  }
  const auto grow = [&](const Ref& y) { return apply(Pad{.pads = added, .mode = mode}, {y}); };
  const auto cut = [&](Ref y) {
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (removed[axis] != Dim(0) || removed[rank + axis] != Dim(0))
        y = slice(y, static_cast<std::int64_t>(axis), removed[axis], y.shape()[axis] - removed[rank + axis]);
    return y;
  };
  // What is cut off does not come back on the other side; it is reflected, though.
  return mode == PadMode::circular ? grow(cut(x)) : cut(grow(x));
}

Results constant_pad(Call& call) {
  return padded(call.tensor("self"), call.sizes("pad"), PadMode::constant, call.number("value", 0));
}
Results pad_op(Call& call) {
  const std::string mode = call.word("mode", "constant");
  const double value = call.number("value", 0);
  const Ref x = call.tensor("self");
  const auto pads = call.sizes("pad");
  for (std::size_t i = 0; i < EnumNames<PadMode>::names.size(); ++i)
    if (mode == EnumNames<PadMode>::names[i]) return padded(x, pads, static_cast<PadMode>(i), value);
  throw unsupported("padding of mode '{}'", mode);
}
template <PadMode mode>
Results pad_with(Call& call) {
  return padded(call.tensor("self"), call.sizes("padding"), mode, 0);
}

Results pixel_shuffle(Call& call) {
  const Ref x = call.tensor("self");
  const Dim r(call.integer("upscale_factor"));
  const std::size_t lead = x.rank() - 3;
  const auto s = x.shape();
  const Dim channels = floor_div(s[lead], r * r);
  Shape split(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(lead));
  Shape result = split;
  std::vector<std::int64_t> axes(lead);
  std::iota(axes.begin(), axes.end(), 0);
  for (std::int64_t a : {0, 3, 1, 4, 2}) axes.push_back(static_cast<std::int64_t>(lead) + a);
  for (const Dim& d : {channels, r, r, s[lead + 1], s[lead + 2]}) split.push_back(d);
  for (const Dim& d : {channels, s[lead + 1] * r, s[lead + 2] * r}) result.push_back(d);
  return reshape(permute(reshape(x, split), axes), result);
}

Results pixel_unshuffle(Call& call) {
  const Ref x = call.tensor("self");
  const Dim r(call.integer("downscale_factor"));
  const std::size_t lead = x.rank() - 3;
  const auto s = x.shape();
  const Dim height = floor_div(s[lead + 1], r);
  const Dim width = floor_div(s[lead + 2], r);
  Shape split(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(lead));
  Shape result = split;
  std::vector<std::int64_t> axes(lead);
  std::iota(axes.begin(), axes.end(), 0);
  for (std::int64_t a : {0, 2, 4, 1, 3}) axes.push_back(static_cast<std::int64_t>(lead) + a);
  for (const Dim& d : {s[lead], height, r, width, r}) split.push_back(d);
  for (const Dim& d : {s[lead] * r * r, height, width}) result.push_back(d);
  return reshape(permute(reshape(x, split), axes), result);
}

Results channel_shuffle(Call& call) {
  const Ref x = call.tensor("self");
  const Dim groups(call.integer("groups"));
  Shape split = x.shape();
  split[1] = floor_div(split[1], groups);
  split.insert(split.begin() + 1, groups);
  std::vector<std::int64_t> axes(split.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[1], axes[2]);
  return reshape(permute(reshape(x, split), axes), x.shape());
}

/// a[i] and b[j] for all i, j: each vector along an axis of its own.
Results meshgrid(Call& call) {
  const std::string indexing = call.word("indexing", "ij");
  const std::vector<TensorPtr> vectors = call.tensors("tensors");
  Shape shape;
  for (const TensorPtr& t : vectors) shape.push_back(numel(t->shape()));
  if (indexing == "xy" && shape.size() >= 2) std::swap(shape[0], shape[1]);
  std::vector<AbstractValue> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t axis = indexing == "xy" && i < 2 && vectors.size() >= 2 ? 1 - i : i;
    Shape row(shape.size(), Dim(1));
    row[axis] = shape[axis];
    out.emplace_back(call.build.view(reshaped(call.build, vectors[i], row), Expand{.shape = shape}));
  }
  return list_of(std::move(out));
}

Results broadcast_tensors(Call& call) {
  Shape shape;
  const auto given = call.tensors("tensors");
  for (const TensorPtr& t : given) shape = broadcast(shape, t->shape());
  std::vector<AbstractValue> out;
  for (const TensorPtr& t : given) out.emplace_back(call.build.view(t, Expand{.shape = shape}));
  return list_of(std::move(out));
}

/// Patches of an image as columns: [N, C*kh*kw, L].
Results im2col(Call& call) {
  Ref x = call.tensor("self");
  const auto kernel = call.integers("kernel_size");
  const auto dilation = call.integers("dilation");
  const auto pads = call.sizes("padding");
  const auto stride = call.integers("stride");
  const bool batched = x.rank() == 4;
  if (x.rank() == 3) x = reshape(x, {Dim(1), x.shape()[0], x.shape()[1], x.shape()[2]});
  if (x.rank() != 4) throw error("im2col of a tensor of rank {}", x.rank());
  x = padded(x, {pads.at(1), pads.at(1), pads.at(0), pads.at(0)}, PadMode::constant, 0);
  Dim count[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t axis = static_cast<std::int64_t>(i == 0 ? 2 : 4);
    const Dim size = x.shape()[at(axis)];
    count[i] = floor_div(size - Dim(dilation[i] * (kernel[i] - 1) + 1), Dim(stride[i])) + 1;
    const InsertionPoint& point = call.build.insertion_point();
    const Ref steps = apply(Iota{.size = Dim(kernel[i])}, point);
    const Ref starts = apply(Iota{.size = count[i]}, point);
    const Ref rows =
        reshape(steps, {Dim(kernel[i]), Dim(1)}) * steps.literal(static_cast<double>(dilation[i]));
    x = index_select(x, axis, rows + starts * starts.literal(static_cast<double>(stride[i])));
  }
  const auto s = x.shape();  // N, C, kh, H, kw, W
  const Dim columns = s[1] * s[2] * s[4];
  Shape shape = {s[0], columns, count[0] * count[1]};
  if (!batched) shape.erase(shape.begin());
  return reshape(permute(x, {0, 1, 2, 4, 3, 5}), shape);
}

/// x[:-1] and x[1:] along an axis; both are empty where x is.
struct Neighbours {
  Ref before, after;
};
Neighbours neighbours(const Builder& build, const Ref& x, std::int64_t axis) {
  const Dim size = x.shape()[at(axis)];
  const Dim count = build.known_less(size, Dim(1)) == false ? size - 1 : max(size - 1, Dim(0));
  return {slice(x, axis, 0, count), slice(x, axis, size - count, size)};
}

Results diff(Call& call) {
  Ref x = call.tensor("self");
  if (call.integer("n", 1) == 0) return call.ignore({"dim", "prepend", "append"}), Results(x);
  const std::int64_t axis = call.axis("dim", x.rank(), -1);
  std::vector<Ref> parts;
  if (const Ref before = call.optional_tensor("prepend")) parts.push_back(cast(x.dtype(), before));
  parts.push_back(x);
  if (const Ref after = call.optional_tensor("append")) parts.push_back(cast(x.dtype(), after));
  if (parts.size() > 1) x = concat(parts, axis);
  for (std::int64_t n = call.integer("n", 1); n > 0; --n) {
    const auto [before, after] = neighbours(call.build, x, axis);
    x = is_bool(x.dtype()) ? not_equal(after, before) : after - before;
  }
  return x;
}

/// The distances between neighbours of x along an axis of y.
Ref steps_of(Call& call, const Ref& x, const Ref& y, std::int64_t axis) {
  const bool is_row = x.rank() == 1;
  const std::int64_t own = axis - static_cast<std::int64_t>(y.rank()) + static_cast<std::int64_t>(x.rank());
  const auto [before, after] = neighbours(call.build, x, is_row ? 0 : own);
  const Ref d = after - before;
  if (!is_row) return d;
  Shape row(y.rank(), Dim(1));
  row[at(axis)] = d.shape()[0];
  return reshape(d, row);
}

/// Twice the areas between neighbours, of the trapezoidal rule. Those of integers wrap around before they are
/// added up; where the distance is a number, all are floats.
Ref twice_the_areas(Call& call, std::int64_t& axis) {
  const Ref y = call.tensor("y"), x = call.optional_tensor("x");
  axis = call.axis("dim", y.rank(), -1);
  const auto [before, after] = neighbours(call.build, x ? y : in_floats(y), axis);
  const Ref sums = before + after,
            steps = x ? steps_of(call, x, y, axis) : sums.literal(call.number("dx", 1));
  const DType common = promote_types(sums.dtype(), steps.dtype());
  const Ref areas = cast(common, sums) * cast(common, steps);
  return is_float(common) ? areas : cast(DType::i64, areas);
}
Results trapezoid(Call& call) {
  std::int64_t axis = 0;
  const Ref areas = twice_the_areas(call, axis);
  return in_floats(sum(areas, {axis})) / 2.0;
}
Results cumulative_trapezoid(Call& call) {
  std::int64_t axis = 0;
  const Ref areas = twice_the_areas(call, axis);
  return in_floats(cumsum(areas, axis)) / 2.0;
}

Results sum_to_size(Call& call) {
  const Ref x = call.tensor("self");
  const Shape size = call.sizes("size");
  if (size == x.shape() && !size.empty()) return x;
  return sum_to(is_float(x.dtype()) ? x : cast(DType::i64, x), size);
}

/// Each tensor padded with zeros to a multiple of num_chunks along an axis, cut into chunks, and chunk i of
/// all joined as row i.
Results chunk_cat(Call& call) {
  const std::int64_t chunks = call.integer("num_chunks");
  std::vector<Ref> parts = promoted_list(call, "tensors");
  const std::int64_t axis = call.axis("dim", parts[0].rank());
  for (Ref& x : parts) {
    const Dim size = x.shape()[at(axis)];
    const Dim length = ceil_div(size, Dim(chunks));
    Shape pads(2 * x.rank(), Dim(0));
    pads[x.rank() + at(axis)] = length * Dim(chunks) - size;
    const Ref padded = pad(x, pads);
    Shape rows(padded.shape().begin(), padded.shape().begin() + axis);
    rows.emplace_back(chunks);
    rows.push_back(numel(Shape(padded.shape().begin() + axis, padded.shape().end())));
    rows.back() = floor_div(rows.back(), Dim(chunks));
    x = reshape(padded, rows);
  }
  return parts.size() == 1 ? parts[0] : concat(parts, axis + 1);
}

constexpr AtenEntry shape_table[] = {
    {"cat", cat},
    {"concat", cat},
    {"concatenate", cat},
    {"stack", stack},
    {"hstack", joined<1>},
    {"vstack", joined<2>},
    {"row_stack", joined<2>},
    {"dstack", joined<3>},
    {"column_stack", column_stack},
    {"repeat", repeat},
    {"tile", tile},
    {"repeat_interleave", repeat_interleave},
    {"flip", with_axes<flip>},
    {"flipud", flip_axis<0>},
    {"fliplr", flip_axis<1>},
    {"roll", roll},
    {"constant_pad_nd", constant_pad},
    {"pad", pad_op},
    {"reflection_pad1d", pad_with<PadMode::reflect>},
    {"reflection_pad2d", pad_with<PadMode::reflect>},
    {"reflection_pad3d", pad_with<PadMode::reflect>},
    {"replication_pad1d", pad_with<PadMode::replicate>},
    {"replication_pad2d", pad_with<PadMode::replicate>},
    {"replication_pad3d", pad_with<PadMode::replicate>},
    {"pixel_shuffle", pixel_shuffle},
    {"pixel_unshuffle", pixel_unshuffle},
    {"channel_shuffle", channel_shuffle},
    {"native_channel_shuffle", channel_shuffle},
    {"meshgrid", meshgrid},
    {"broadcast_tensors", broadcast_tensors},
    {"im2col", im2col},
    {"fft_fftshift", fft_shift<false>},
    {"fft_ifftshift", fft_shift<true>},
    {"diff", diff},
    {"trapezoid", trapezoid, HalfPrecision::in_f32},
    {"trapz", trapezoid, HalfPrecision::in_f32},
    {"cumulative_trapezoid", cumulative_trapezoid, HalfPrecision::in_f32},
    {"sum_to_size", sum_to_size},
    {"_chunk_cat", chunk_cat},
};

}  // namespace

std::span<const AtenEntry> shape_entries() { return shape_table; }

}  // namespace tenon::converter
