// The connectionist temporal classification loss, step by step over a known length.
#include <limits>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Ref column(const Ref& x) { return reshape(x, {x.shape()[0], Dim(1)}); }

/// One length for each sample: [N].
Ref lengths(Call& call, std::string_view argument) {
  const AbstractValue given = call.value(argument);
  if (const auto* t = given.get<TensorPtr>()) {
    const Ref x = cast(DType::i64, call.build.read(*t));
    return reshape(x, {numel(x.shape())});
  }
  std::vector<Ref> parts;
  for (const AbstractValue& d : *items_of(given))
    parts.push_back(reshape(operand(call.build, d, DType::i64), {Dim(1)}));
  if (parts.empty()) throw error("ctc_loss of no samples");
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

/// log(sum(exp(x))) of some tensors of one shape.
Ref log_sum_exp(const std::vector<Ref>& x) {
  Ref top = x[0];
  for (const Ref& r : x) top = maximum(top, r);
  top = where(equal(top, top.literal(-infinity)), top.literal(0), top);
  Ref total;
  for (const Ref& r : x) total = total ? total + exp(r - top) : exp(r - top);
  return log(total) + top;
}

/// Targets as rows [N, S]; those that are given one behind the other are cut apart.
Ref target_rows(const Ref& given, const Ref& sizes) {
  if (given.rank() == 2) return given;
  const Dim most = given.shape()[0];
  if (most == Dim(0)) return full({sizes.shape()[0], Dim(0)}, 0, given.dtype(), given.insertion_point());
  const Ref starts = cumsum(sizes, 0) - sizes;
  const Ref places = column(starts) + iota(most, given.insertion_point());
  return index_select(given, 0, minimum(places, dim_value(most - 1, places)));
}

/// x[:, s - by], -infinity before the first.
Ref shifted(const Ref& x, std::int64_t by) {
  return pad(slice(x, 1, Dim(0), x.shape()[1] - by), {Dim(0), Dim(by), Dim(0), Dim(0)}, -infinity);
}

/// The losses of log_p[T, N, C].
Ref losses_of(const Ref& log_p, const Ref& rows, const Ref& steps, const Ref& sizes, std::int64_t blank) {
  const Dim length = log_p.shape()[0], count = log_p.shape()[1];
  if (!length.is_known()) throw unsupported("ctc_loss over an unknown number of steps ({})", length.str());
  const Dim most = rows.shape()[1], states = most * 2 + 1;
  const Ref i = iota(states, log_p.insertion_point()), half = apply(FloorDiv{}, {i, i.literal(2)});
  const Ref is_label = equal(apply(Remainder{}, {i, i.literal(2)}), i.literal(1));
  const Ref used = logical_and(is_label, half < column(sizes));
  const Ref none = full({count, states}, static_cast<double>(blank), DType::i64, log_p.insertion_point());
  Ref labels = none;
  if (most != Dim(0)) {
    const Ref at = minimum(half, dim_value(most - 1, half));
    labels = where(used, index_select(cast(DType::i64, rows), 1, at), none);
  }
  const Ref own = labels;
  const Ref skips = logical_and(used, not_equal(own, pad(slice(own, 1, Dim(0), max(states - 2, Dim(0))),
                                                         {Dim(0), min(states, Dim(2)), Dim(0), Dim(0)}, -1)));
  const auto emitted = [&](std::int64_t t) {
    return gather(reshape(slice(log_p, 0, Dim(t), Dim(t + 1)), {count, log_p.shape()[2]}), 1, labels);
  };
  const Ref nowhere = full({count, states}, -infinity, log_p.dtype(), log_p.insertion_point());
  const Ref before = where(equal(i, i.literal(0)), zeros_like(nowhere), nowhere);
  Ref alpha = nowhere;
  for (std::int64_t t = 0; t < length.value(); ++t) {
    Ref next;
    if (t == 0) {
      next = where(logical_or(equal(i, i.literal(0)), logical_and(equal(i, i.literal(1)), used)), emitted(0),
                   nowhere);
    } else {
      std::vector<Ref> from = {alpha};
      if (states != Dim(1)) {
        from.push_back(shifted(alpha, 1));
        from.push_back(where(skips, shifted(alpha, 2), nowhere));
      }
      next = log_sum_exp(from) + emitted(t);
    }
    alpha = where(column(steps) > i.literal(static_cast<double>(t)), next, alpha);
  }
  alpha = where(equal(column(steps), i.literal(0)), before, alpha);
  const Ref end = column(sizes) * 2.0;
  const Ref last = gather(alpha, 1, end);
  const Ref label = gather(alpha, 1, maximum(end - 1.0, end.literal(0)));
  const Ref total = log_sum_exp({last, where(end > end.literal(0), label, label.literal(-infinity))});
  return reshape(-total, {count});
}

Results ctc_loss(Call& call) {
  const Ref given = call.tensor("log_probs");
  const bool batched = given.rank() == 3;
  const Ref log_p = batched ? given : reshape(given, {given.shape()[0], Dim(1), given.shape()[1]});
  const Ref sizes = lengths(call, "target_lengths"), steps = lengths(call, "input_lengths");
  const Ref targets = call.tensor("targets");
  const Ref rows = batched ? target_rows(targets, sizes) : reshape(targets, {Dim(1), numel(targets.shape())});
  Ref losses = losses_of(log_p, rows, steps, sizes, call.integer("blank", 0));
  if (call.flag("zero_infinity", false))
    losses = where(equal(losses, losses.literal(infinity)), losses.literal(0), losses);
  switch (call.integer("reduction", 1)) {
    case 0: return batched ? losses : reshape(losses, {});
    case 1: return mean(losses / cast(losses.dtype(), maximum(sizes, sizes.literal(1))), {0});
    case 2: return sum(losses, {0});
  }
  throw error("reduction is {}", call.integer("reduction"));
}

constexpr AtenEntry ctc_table[] = {
    {"ctc_loss", ctc_loss},
};

}  // namespace

std::span<const AtenEntry> ctc_entries() { return ctc_table; }

}  // namespace tenon::converter
