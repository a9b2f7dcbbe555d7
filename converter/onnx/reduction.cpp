// Reductions, running sums, orders.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"
#include "ir/ops/softmax.h"
#include "ir/ops/sort.h"

namespace tenon::converter::onnx {

namespace {

/// All axes when none are given, or none of them where the node says so.
Axes reduced_axes(const Call& call, std::size_t rank) {
  Axes all(rank);
  std::iota(all.begin(), all.end(), 0);
  auto given = call.axes(1, rank);
  if (given && !given->empty()) {
    std::sort(given->begin(), given->end());
    return *given;
  }
  return call.integer("noop_with_empty_axes", 0) != 0 ? Axes{} : all;
}

bool keeps_axes(const Call& call) { return call.integer("keepdims", 1) != 0; }

/// Bools are reduced as bytes.
template <class F>
Operands reduced(const Call& call, F&& f) {
  const Ref x = call.tensor(0);
  const Axes axes = reduced_axes(call, x.rank());
  if (!is_bool(x.dtype())) return {f(x, axes, keeps_axes(call))};
  return {cast(x.dtype(), f(cast(DType::u8, x), axes, keeps_axes(call)))};
}

Operands reduce_sum(Call& call) {
  return reduced(call,
                 [](const Ref& x, const Axes& a, bool keep) { return cast(x.dtype(), sum(x, a, keep)); });
}
Operands reduce_mean(Call& call) {
  return reduced(call, [](const Ref& x, const Axes& a, bool keep) {
    return is_float(x.dtype()) ? mean(x, a, keep) : cast(x.dtype(), mean(cast(DType::f64, x), a, keep));
  });
}
Operands reduce_prod(Call& call) {
  return reduced(call,
                 [](const Ref& x, const Axes& a, bool keep) { return cast(x.dtype(), prod(x, a, keep)); });
}
/// Of no elements: what changes nothing.
Ref extreme_of_none(const Call& call, const Ref& x, const Axes& axes, bool keep, bool is_max) {
  const Type type = x.type();
  double least = 0;
  dispatch_real(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, double>>;
    if constexpr (std::is_integral_v<T>)
      least = static_cast<double>(is_max ? Limits::lowest() : Limits::max());
    else
      least = is_max ? -Limits::infinity() : Limits::infinity();
  });
  return full(tenon::reduced(type, axes, keep).shape, least, x.dtype(), call.build.insertion_point());
}

bool has_none(const Ref& x, const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](std::int64_t a) { return x.shape()[static_cast<std::size_t>(a)] == Dim(0); });
}

Operands reduce_max(Call& call) {
  return reduced(call, [&](const Ref& x, const Axes& a, bool keep) {
    return has_none(x, a) ? extreme_of_none(call, x, a, keep, true) : amax(x, a, keep);
  });
}
Operands reduce_min(Call& call) {
  return reduced(call, [&](const Ref& x, const Axes& a, bool keep) {
    return has_none(x, a) ? extreme_of_none(call, x, a, keep, false) : amin(x, a, keep);
  });
}
Operands reduce_l1(Call& call) {
  return reduced(
      call, [](const Ref& x, const Axes& a, bool keep) { return cast(x.dtype(), sum(abs(x), a, keep)); });
}

/// A function of the sum, which integers take in f64.
template <class Before, class After>
Operands reduced_real(const Call& call, Before&& before, After&& after) {
  return reduced(call, [&](const Ref& x, const Axes& a, bool keep) {
    const Ref real = is_float(x.dtype()) ? x : cast(DType::f64, x);
    return cast(x.dtype(), after(sum(before(real), a, keep)));
  });
}
Ref same(const Ref& x) { return x; }
Ref squared(const Ref& x) { return x * x; }
Operands reduce_l2(Call& call) {
  return reduced_real(call, squared, [](const Ref& x) { return sqrt(x); });
}
Operands reduce_sum_square(Call& call) { return reduced_real(call, squared, same); }
Operands reduce_log_sum(Call& call) {
  return reduced_real(call, same, [](const Ref& x) { return log(x); });
}
Operands reduce_log_sum_exp(Call& call) {
  return reduced(call, [&](const Ref& x, const Axes& a, bool keep) {
    if (has_none(x, a)) return extreme_of_none(call, x, a, keep, true);
    const Ref real = is_float(x.dtype()) ? x : cast(DType::f64, x);
    return cast(x.dtype(), apply(LogSumExp{.axes = a, .keepdim = keep}, {real}));
  });
}

template <class Arg>
Operands arg_extreme(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  const bool keep = keeps_axes(call);
  if (call.integer("select_last_index", 0) == 0) return {apply(Arg{.axis = axis, .keepdim = keep}, {x})};
  const Ref from_end = apply(Arg{.axis = axis, .keepdim = keep}, {flip(x, {axis})});
  return {dim_value(x.shape()[static_cast<std::size_t>(axis)] - 1, from_end) - from_end};
}

/// Running sums or products; exclusive ones begin with nothing.
template <class Run>
Operands running(Call& call, Run&& run, double nothing) {
  Ref x = call.tensor(0);
  const std::int64_t axis = normalize_axis(call.integer(1), x.rank());
  const bool reverse = call.integer("reverse", 0) != 0;
  const DType dtype = x.dtype();
  if (reverse) x = flip(x, {axis});
  if (call.integer("exclusive", 0) != 0) {
    Shape pads(x.rank() * 2, Dim(0));
    pads[static_cast<std::size_t>(axis)] = Dim(1);
    x = slice(pad(x, pads, nothing), axis, Dim(0), x.shape()[static_cast<std::size_t>(axis)]);
  }
  x = cast(dtype, run(x, axis));
  return {reverse ? flip(x, {axis}) : x};
}
Operands cum_sum(Call& call) {
  return running(
      call, [](const Ref& x, std::int64_t axis) { return cumsum(x, axis); }, 0);
}
Operands cum_prod(Call& call) {
  return running(
      call, [](const Ref& x, std::int64_t axis) { return cumprod(x, axis); }, 1);
}

Operands top_k(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), -1);
  const TopK op{.k = call.size(1),
                .axis = axis,
                .largest = call.integer("largest", 1) != 0,
                .sorted = call.integer("sorted", 1) != 0};
  const auto out = apply_all(op, std::array{x});
  return {out.at(0), out.at(1)};
}

/// Until operator set 12 all axes from the given one are taken together.
template <class F>
Operands along_axis(const Call& call, F&& f) {
  const Ref x = call.tensor(0);
  if (call.version >= 13) return {f(x, call.axis(x.rank(), -1))};
  const std::int64_t axis = call.axis(x.rank(), 1);
  if (axis + 1 == static_cast<std::int64_t>(x.rank())) return {f(x, axis)};
  const auto middle = x.shape().begin() + axis;
  const Shape rows = {numel(Shape(x.shape().begin(), middle)), numel(Shape(middle, x.shape().end()))};
  return {reshape(f(reshape(x, rows), 1), x.shape())};
}

Operands softmax_axis(Call& call) {
  return along_axis(call, [](const Ref& x, std::int64_t axis) { return softmax(x, axis); });
}
Operands log_softmax_axis(Call& call) {
  return along_axis(call,
                    [](const Ref& x, std::int64_t axis) { return apply(LogSoftmax{.axis = axis}, {x}); });
}
/// 1 at the first largest element, 0 elsewhere.
Operands hardmax(Call& call) {
  return along_axis(call, [&](const Ref& x, std::int64_t axis) {
    const Ref first = apply(ArgMax{.axis = axis, .keepdim = true}, {x});
    Shape along(x.rank(), Dim(1));
    along[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
    const Ref place =
        reshape(iota(along[static_cast<std::size_t>(axis)], call.build.insertion_point()), along);
    return cast(x.dtype(), equal(place, first));
  });
}

}  // namespace

std::span<const OnnxEntry> reduction_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ArgMax", arg_extreme<ArgMax>},
      OnnxEntry{"ArgMin", arg_extreme<ArgMin>},
      OnnxEntry{"CumProd", cum_prod},
      OnnxEntry{"CumSum", cum_sum},
      OnnxEntry{"Hardmax", hardmax},
      OnnxEntry{"LogSoftmax", log_softmax_axis},
      OnnxEntry{"ReduceL1", reduce_l1},
      OnnxEntry{"ReduceL2", reduce_l2},
      OnnxEntry{"ReduceLogSum", reduce_log_sum},
      OnnxEntry{"ReduceLogSumExp", reduce_log_sum_exp},
      OnnxEntry{"ReduceMax", reduce_max},
      OnnxEntry{"ReduceMean", reduce_mean},
      OnnxEntry{"ReduceMin", reduce_min},
      OnnxEntry{"ReduceProd", reduce_prod},
      OnnxEntry{"ReduceSum", reduce_sum},
      OnnxEntry{"ReduceSumSquare", reduce_sum_square},
      OnnxEntry{"Softmax", softmax_axis},
      OnnxEntry{"TopK", top_k},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
