// Order statistics, counts of values, running extremes, covariance.
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }
Shape with_one(Shape shape, std::int64_t axis) {
  shape[at(axis)] = Dim(1);
  return shape;
}

/// A value and its place along an axis for each line, as torch.median and its like give them.
Results value_and_place(Call& call, const Ref& x, std::int64_t axis, Ref value, Ref place) {
  if (call.flag("keepdim", false)) {
    value = reshape(value, with_one(x.shape(), axis));
    place = reshape(place, with_one(x.shape(), axis));
  }
  return std::vector{value, place};
}

/// A rank-0 tensor counts as a vector of one element.
Ref at_least_vector(const Ref& x) { return x.rank() == 0 ? reshape(x, {Dim(1)}) : x; }

/// Element `rank` (one for each line, as an index of size 1 along the axis; counted from 0) of the sorted
/// lines.
std::vector<Ref> ranked(const Ref& x, std::int64_t axis, const Ref& rank) {
  const auto sorted = apply_all(Sort{.axis = axis}, std::array{x});
  Shape shape = without_axis(x.shape(), axis);
  const auto taken = [&](const Ref& y) { return reshape(gather(y, axis, rank), shape); };
  return {taken(sorted[0]), taken(sorted[1])};
}

/// The k-th smallest element of the lines, counted from 1.
std::vector<Ref> kth_smallest(const Ref& x, std::int64_t axis, const Dim& k) {
  const auto first = apply_all(TopK{.k = k, .axis = axis, .largest = false, .sorted = false}, std::array{x});
  const Shape shape = without_axis(x.shape(), axis);
  const auto last = [&](const Ref& y) { return reshape(slice(y, axis, k - 1, k), shape); };
  return {last(first[0]), last(first[1])};
}

/// Lines that may have no elements get one, NaN. Where PyTorch takes none of them, the run stops.
Ref with_elements(Call& call, const Ref& x, std::int64_t axis, bool may_be_empty) {
  const Dim& size = x.shape()[at(axis)];
  if (call.build.known_less(Dim(0), size) == true) return x;
  if (!may_be_empty) call.build.need_at_least(size, Dim(1), fmt::format("{} of no elements", call.name));
  Shape pads(2 * x.rank(), Dim(0));
  pads[x.rank() + at(axis)] = max(Dim(1) - size, Dim(0));
  return pad(x, pads, is_float(x.dtype()) ? std::numeric_limits<double>::quiet_NaN() : 0);
}

/// The lower median; with NaN in a line the first NaN, or with `skip_nan` that of the numbers.
std::vector<Ref> median_of(const Ref& x, std::int64_t axis, bool skip_nan) {
  const bool may_be_nan = is_float(x.dtype());
  if (skip_nan && may_be_nan) {
    const Ref numbers = sum(cast(DType::i64, logical_not(apply(IsNan{}, {x}))), {axis}, true);
    const Ref last = maximum(numbers - 1.0, numbers.literal(0));
    return ranked(x, axis, apply(FloorDiv{}, {last, numbers.literal(2)}));
  }
  auto found = kth_smallest(x, axis, floor_div(x.shape()[at(axis)] - 1, Dim(2)) + 1);
  if (!may_be_nan) return found;
  const Ref is_nan = apply(IsNan{}, {x}), has_nan = any(is_nan, {axis}, false);
  found[0] = where(has_nan, x.literal(std::numeric_limits<double>::quiet_NaN()), found[0]);
  const Ref first_nan = apply(ArgMax{.axis = axis}, {cast(DType::i32, is_nan)});
  found[1] = where(has_nan, first_nan, found[1]);
  return found;
}

template <bool skip_nan>
Results median(Call& call) {
  const Ref given = call.tensor("self");
  if (call.has("dim")) {
    const Ref vector = at_least_vector(given);
    const std::int64_t axis = normalize_axis(call.integer("dim"), vector.rank());
    const Ref x = with_elements(call, vector, axis, false);
    const auto found = median_of(x, axis, skip_nan);
    if (given.rank() == 0)
      return call.ignore({"keepdim"}), std::vector{reshape(found[0], {}), reshape(found[1], {})};
    return value_and_place(call, x, axis, found[0], found[1]);
  }
  return median_of(with_elements(call, flat(given), 0, is_float(given.dtype())), 0, skip_nan)[0];
}

Results mode(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x = at_least_vector(given);
  const std::int64_t axis = normalize_axis(call.integer("dim", -1), x.rank());
  const auto found = apply_all(Mode{.axis = axis}, std::array{x});
  if (given.rank() == 0) return call.ignore({"keepdim"}), found;
  return value_and_place(call, x, axis, found[0], found[1]);
}

Results kthvalue(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x = at_least_vector(given);
  const std::int64_t axis = normalize_axis(call.integer("dim", -1), x.rank());
  const auto found = kth_smallest(x, axis, call.size("k"));
  if (given.rank() == 0)
    return call.ignore({"keepdim"}), std::vector{reshape(found[0], {}), reshape(found[1], {})};
  return value_and_place(call, x, axis, found[0], found[1]);
}

/// Element `place` (floats, the last axis) between the elements of the sorted last axis of x.
Ref between(const Ref& sorted, const Ref& place, const std::string& how) {
  const auto last = static_cast<std::int64_t>(sorted.rank()) - 1;
  const auto element = [&](const Ref& p) { return gather(sorted, last, cast(DType::i64, p)); };
  if (how == "lower") return element(floor(place));
  if (how == "higher") return element(ceil(place));
  if (how == "nearest") return element(round(place));
  const Ref below = floor(place), low = element(below), high = element(ceil(place));
  const Ref weight = how == "midpoint" ? place.literal(0.5) : place - below;
  const Ref start = low + weight * (high - low), end = high - (high - low) * (1.0 - weight);
  return where(weight < weight.literal(0.5), start, end);
}

/// torch.quantile: of the numbers in each line; a line with NaN gives NaN unless NaN is skipped.
template <bool skip_nan>
Results quantile(Call& call) {
  Ref x = call.tensor("self");
  const std::string how = call.word("interpolation", "linear");
  const Ref q = operand(call.build, call.value("q"), x.dtype());
  const bool keepdim = call.flag("keepdim", false);
  const bool all = !call.has("dim");
  Shape kept = all ? Shape(x.rank(), Dim(1)) : x.shape();
  const std::int64_t axis = all || x.rank() == 0 ? 0 : call.axis("dim", x.rank());
  call.ignore({"dim"});
  if (all)
    x = flat(x);
  else if (x.rank() == 0)
    x = at_least_vector(x);
  else
    x = transpose(x, axis, -1);
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Ref is_nan = apply(IsNan{}, {x});
  const Ref numbers = sum(cast(x.dtype(), logical_not(is_nan)), {last}, true);
  const Dim size = x.shape().back();
  const Dim count = numel(q.shape());
  Ref top = skip_nan ? maximum(numbers - 1.0, numbers.literal(0)) : dim_value(size - 1, x);
  Shape lines = x.shape();
  lines.back() = count;
  const Ref place = expand(top * reshape(q, {count}), lines);
  Ref y = between(apply_all(Sort{.axis = last}, std::array{x})[0], place, how);
  const Ref poisoned = skip_nan ? equal(numbers, numbers.literal(0)) : any(is_nan, {last}, true);
  y = where(poisoned, y.literal(std::numeric_limits<double>::quiet_NaN()), y);
  y = transpose(reshape(y, lines), all ? 0 : axis, -1);
  Axes in_front = {all ? 0 : axis};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.rank()); ++i)
    if (i != in_front[0]) in_front.push_back(i);
  y = permute(y, in_front);
  Shape shape;
  if (q.rank() > 0) shape.push_back(count);
  if (!all && !kept.empty()) kept[at(axis)] = Dim(1);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (keepdim || (!all && static_cast<std::int64_t>(i) != axis)) shape.push_back(kept[i]);
  return reshape(y, shape);
}

Results bucketize(Call& call) {
  const bool scalar = !call.value("self").is_tensor();
  const Ref rows = call.tensor(call.find("boundaries") ? "boundaries" : "sorted_sequence");
  const bool right = call.flag("right", false) || call.word("side", "left") == "right";
  Ref sorted = rows;
  if (const Ref order = call.optional_tensor("sorter"))
    sorted = gather(rows, static_cast<std::int64_t>(rows.rank()) - 1, order);
  const std::array given = {AbstractValue(call.build.tensor(sorted)), call.value("self")};
  const auto x = promoted(call.build, given);
  Ref values = x[1];
  if (scalar) values = reshape(values, {Dim(1)});
  Ref y = apply(SearchSorted{.right = right}, {x[0], values});
  if (scalar) y = reshape(y, {});
  return call.flag("out_int32", false) ? cast(DType::i32, y) : y;
}

template <class Extreme>
Results running_extreme(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() == 0)
    return call.ignore({"dim"}), Results(std::vector{x, call.build.literal(0.0, DType::i64)});
  return apply_all(Extreme{.axis = call.axis("dim", x.rank())}, std::array{x});
}
Results logcumsumexp(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x);
  return apply(LogCumSumExp{.axis = call.axis("dim", x.rank())}, {x});
}

/// How often each number occurs, or the sum of the weights where it does: as many bins as the largest number
/// needs.
Results bincount(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x =
      cast(size_of(given.dtype()) < 4 || given.dtype() == DType::i32 ? DType::i32 : DType::i64, given);
  const Ref weights = call.optional_tensor("weights");
  const DType dtype = !weights ? DType::i64 : weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  const Ref least = call.build.literal(call.integer("minlength", 0), DType::i64);
  const bool has_elements = x.shape()[0].range().min.value_or(0) > 0;
  const std::array with_none = {x, expand(x.literal(-1), {Dim(1)})};
  const Ref largest = amax(has_elements ? x : concat(with_none, 0), {0});
  const Ref count = maximum(cast(DType::i64, largest) + 1.0, least);
  const Ref bins = full({call.build.data_size(count)}, 0, dtype, call.build.insertion_point());
  const Ref each = weights ? cast(dtype, weights) : full(x.shape(), 1, dtype, call.build.insertion_point());
  return scatter_sum(bins, 0, x, each);
}

/// x[variables, observations] of at most two axes.
Ref covariance(Call& call) {
  std::vector<AbstractValue> given = {call.value("self")};
  if (call.has("aweights")) given.push_back(call.value("aweights"));
  Ref x = promoted(call.build, given, true)[0];
  if (x.rank() < 2) x = reshape(x, {Dim(1), numel(x.shape())});
  Ref weight;
  if (const Ref f = call.optional_tensor("fweights")) weight = cast(x.dtype(), f);
  const Ref importance = call.has("aweights") ? cast(x.dtype(), call.tensor("aweights")) : Ref();
  if (importance) weight = weight ? weight * importance : importance;
  const double correction = call.number("correction", 1);
  const Ref total = weight ? sum(weight, {0}) : dim_value(x.shape()[1], x);
  const Ref average = weight ? sum(x * weight, {1}, true) / total : mean(x, {1}, true);
  const Ref spent = importance ? sum(weight * importance, {0}) / total * correction : x.literal(correction);
  const Ref norm = maximum(total - spent, x.literal(0));
  const Ref centred = x - average;
  return matmul(centred, transpose(weight ? centred * weight : centred, 0, 1)) / norm;
}
/// A number when there is one variable.
Results cov(Call& call) {
  const Ref c = covariance(call);
  return call.build.is_one(c.shape()[0]) ? reshape(c, {}) : c;
}
Results corrcoef(Call& call) {
  const Ref c = covariance(call);
  if (call.build.is_one(c.shape()[0])) return reshape(c / c, {});
  const Ref i = iota(c.shape()[0], call.build.insertion_point());
  const Ref diagonal = where(equal(reshape(i, {c.shape()[0], Dim(1)}), i), c, c.literal(0));
  const Ref deviation = sqrt(sum(diagonal, {1}, true));
  const Ref y = c / deviation / transpose(deviation, 0, 1);
  return apply(Clamp{.min = -1, .max = 1}, {y});
}

constexpr AtenEntry statistics_table[] = {
    {"median", median<false>},
    {"nanmedian", median<true>},
    {"mode", mode},
    {"kthvalue", kthvalue},
    {"quantile", quantile<false>},
    {"nanquantile", quantile<true>},
    {"bucketize", bucketize},
    {"searchsorted", bucketize},
    {"cummax", running_extreme<CumMax>},
    {"cummin", running_extreme<CumMin>},
    {"logcumsumexp", logcumsumexp},
    {"bincount", bincount},
    {"cov", cov, HalfPrecision::in_f32},
    {"corrcoef", corrcoef, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> statistics_entries() { return statistics_table; }

}  // namespace tenon::converter
