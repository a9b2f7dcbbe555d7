// Reductions, sorting and running sums.
#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

/// Sums of integers and bools are i64 unless a dtype is asked for.
Ref summand(Call& call) {
  const Ref x = call.tensor("self");
  return cast(call.dtype("dtype").value_or(is_float(x.dtype()) ? x.dtype() : DType::i64), x);
}
/// Means are floats.
Ref averaged(Call& call) {
  const Ref x = call.tensor("self");
  const DType dtype = call.dtype("dtype").value_or(x.dtype());
  if (!is_float(dtype)) throw error("a mean of {} numbers", name(dtype)).hint("call .float() first");
  return cast(dtype, x);
}

template <class Reduction>
Ref reduced(Call& call, const Ref& x) {
  Reduction op;
  op.axes = call.axes("dim", x.rank());
  op.keepdim = call.flag("keepdim", false);
  return apply(op, {x});
}

Results sum_op(Call& call) {
  const Ref x = summand(call);
  return is_bool(x.dtype()) ? reduced<Any>(call, x) : reduced<Sum>(call, x);
}
/// The numbers of x with NaN replaced.
Ref without_nan(const Ref& x) {
  return is_float(x.dtype()) ? where(apply(IsNan{}, {x}), x.literal(0), x) : x;
}
Results nansum(Call& call) { return reduced<Sum>(call, without_nan(summand(call))); }
Results nanmean(Call& call) {
  const Ref x = averaged(call);
  const Ref count = reduced<Sum>(call, cast(x.dtype(), logical_not(apply(IsNan{}, {x}))));
  return reduced<Sum>(call, without_nan(x)) / count;
}
Results prod_op(Call& call) {
  const Ref x = summand(call);
  return is_bool(x.dtype()) ? reduced<All>(call, x) : reduced<Prod>(call, x);
}
Results mean_op(Call& call) { return reduced<Mean>(call, averaged(call)); }
/// bool, but for u8, which stays what it is.
template <class Op>
Results truth(Call& call) {
  const Ref x = call.tensor("self");
  const Ref y = reduced<Op>(call, x);
  return x.dtype() == DType::u8 ? cast(DType::u8, y) : y;
}
Results any_op(Call& call) { return truth<Any>(call); }
Results all_op(Call& call) { return truth<All>(call); }
Results amax_op(Call& call) { return reduced<Amax>(call, call.tensor("self")); }
Results amin_op(Call& call) { return reduced<Amin>(call, call.tensor("self")); }
Results logsumexp(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x = is_float(given.dtype()) ? given : cast(DType::f32, given);
  if (numel(x.shape()) == Dim(0)) return log(reduced<Sum>(call, x));
  return reduced<LogSumExp>(call, x);
}

Ref flat(const Ref& x) { return reshape(x, {numel(x.shape())}); }

template <class Arg>
Results arg_extreme(Call& call) {
  const Ref x = call.tensor("self");
  Arg op;
  op.keepdim = call.flag("keepdim", false);
  if (!call.has("dim")) {
    const Ref y = apply(Arg{.axis = 0}, {flat(x)});
    return op.keepdim ? reshape(y, Shape(x.rank(), Dim(1))) : y;
  }
  if (x.rank() == 0) return call.ignore({"dim"}), Results(call.build.literal(0.0, DType::i64));
  op.axis = call.axis("dim", x.rank());
  return apply(op, {x});
}

/// max(x), or with a dim (values, indices).
template <class Value, class Arg>
Results extreme(Call& call) {
  const Ref x = call.tensor("self");
  if (!call.has("dim")) return reduced<Value>(call, x);
  const bool keepdim = call.flag("keepdim", false);
  if (x.rank() == 0)
    return call.ignore({"dim"}), Results(std::vector{x, call.build.literal(0.0, DType::i64)});
  const std::int64_t axis = call.axis("dim", x.rank());
  Value value;
  value.axes = {axis};
  value.keepdim = keepdim;
  return std::vector{apply(value, {x}), apply(Arg{.axis = axis, .keepdim = keepdim}, {x})};
}

double correction_of(Call& call) {
  if (call.find("correction")) return call.number("correction", 1);
  return call.flag("unbiased", true) ? 1 : 0;
}
Ref variance_of(Call& call, const Ref& x) {
  Variance op{.correction = correction_of(call)};
  op.axes = call.axes("dim", x.rank());
  op.keepdim = call.flag("keepdim", false);
  return apply(op, {x});
}
Results var(Call& call) { return variance_of(call, call.tensor("self")); }
Results std_op(Call& call) { return sqrt(variance_of(call, call.tensor("self"))); }
Results var_mean(Call& call) {
  const Ref x = call.tensor("self");
  return std::vector{variance_of(call, x), reduced<Mean>(call, x)};
}
Results std_mean(Call& call) {
  const Ref x = call.tensor("self");
  return std::vector{sqrt(variance_of(call, x)), reduced<Mean>(call, x)};
}

/// The exclusive or of the numbers as 64 bits, floats as f64: bit by bit, how often it is set.
Results hash_tensor(Call& call) {
  if (call.integer("mode", 0) != 0) throw unsupported("hash_tensor with mode={}", call.integer("mode"));
  const Ref given = call.tensor("self");
  const Ref x =
      is_float(given.dtype()) ? bitcast(DType::i64, cast(DType::f64, given)) : cast(DType::i64, given);
  const auto rank = static_cast<std::int64_t>(x.rank());
  const Ref places = iota(Dim(64), x.insertion_point());
  const Ref bits = apply(
      BitAnd{}, {apply(ShiftRight{}, {reshape(x, with_axis(x.shape(), rank)), places}), places.literal(1)});
  Sum count;
  count.axes = call.axes("dim", x.rank());
  count.keepdim = call.flag("keepdim", false);
  const Ref odd = apply(BitAnd{}, {apply(count, {bits}), places.literal(1)});
  const auto last = static_cast<std::int64_t>(odd.rank()) - 1;
  return bitcast(DType::u64, sum(apply(ShiftLeft{}, {odd, places}), {last}));
}

Results cumsum_op(Call& call) {
  const Ref x = summand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x);
  return apply(CumSum{.axis = call.axis("dim", x.rank())}, {x});
}
Results cumprod_op(Call& call) {
  const Ref x = summand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x);
  return apply(CumProd{.axis = call.axis("dim", x.rank())}, {x});
}

Results topk(Call& call) {
  const Ref x = call.tensor("self");
  TopK op{.k = call.size("k"), .axis = call.axis("dim", x.rank(), -1)};
  op.largest = call.flag("largest", true);
  op.sorted = call.flag("sorted", true);
  return apply_all(op, std::array{x});
}
Sort sort_of(Call& call, const Ref& x) {
  return Sort{.axis = call.axis("dim", x.rank(), -1),
              .descending = call.flag("descending", false),
              .stable = call.flag("stable", false)};
}
Results sort_op(Call& call) {
  const Ref x = call.tensor("self");
  return apply_all(sort_of(call, x), std::array{x});
}
Results argsort(Call& call) {
  const Ref x = call.tensor("self");
  return apply_all(sort_of(call, x), std::array{x})[1];
}
Results msort(Call& call) { return apply_all(Sort{.axis = 0}, std::array{call.tensor("self")})[0]; }

Results count_nonzero(Call& call) {
  const Ref x = call.tensor("self");
  return sum(cast(DType::i64, not_equal(x, x.literal(0))), call.axes("dim", x.rank()));
}

Results aminmax(Call& call) {
  const Ref x = call.tensor("self");
  return std::vector{reduced<Amin>(call, x), reduced<Amax>(call, x)};
}

constexpr AtenEntry reduction_table[] = {
    {"sum", sum_op},
    {"nansum", nansum},
    {"nanmean", nanmean},
    {"prod", prod_op},
    {"mean", mean_op},
    {"any", any_op},
    {"all", all_op},
    {"amax", amax_op},
    {"amin", amin_op},
    {"aminmax", aminmax},
    {"max", extreme<Amax, ArgMax>},
    {"min", extreme<Amin, ArgMin>},
    {"argmax", arg_extreme<ArgMax>},
    {"argmin", arg_extreme<ArgMin>},
    {"logsumexp", logsumexp},
    {"special_logsumexp", logsumexp},
    {"var", var, HalfPrecision::in_f32},
    {"std", std_op, HalfPrecision::in_f32},
    {"var_mean", var_mean, HalfPrecision::in_f32},
    {"std_mean", std_mean, HalfPrecision::in_f32},
    {"hash_tensor", hash_tensor},
    {"cumsum", cumsum_op},
    {"cumprod", cumprod_op},
    {"topk", with_axes<topk>},
    {"sort", with_axes<sort_op>},
    {"argsort", with_axes<argsort>},
    {"msort", msort},
    {"count_nonzero", count_nonzero},
};

}  // namespace

std::span<const AtenEntry> reduction_entries() { return reduction_table; }

}  // namespace tenon::converter
