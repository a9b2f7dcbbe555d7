// Assertions about numbers that only a run knows: they stay, as checks. What they say of sizes of inputs is
// said by the ranges of these already.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "converter/aten/table.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"

namespace tenon::converter {
namespace {

constexpr std::int64_t unbounded_below = std::numeric_limits<std::int64_t>::min(),
                       unbounded_above = std::numeric_limits<std::int64_t>::max();

bool depends_on_data(const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return has_data_size(*dim);
  if (const auto* u = d.get<SymbolicBool>())
    return u->of && std::any_of(u->of->operands.begin(), u->of->operands.end(), depends_on_data);
  return d.is<TensorPtr>();
}

void check(const Ref& holds, std::string message) {
  tenon::apply_all(Check{.message = std::move(message)}, std::array{holds});
}

std::string message_of(Call& call) {
  return call.word("assert_msg", "an assertion of the model does not hold");
}

void assert_that(Call& call, const AbstractValue& condition, std::string message) {
  const auto* known = condition.get<bool>();
  if (known && !*known) throw error("{}", message);
  if (!known && depends_on_data(condition)) check(condition_value(call.build, condition), std::move(message));
}

/// Where the program is functional, an assertion hands on a token.
Results done(Call& call) {
  return call.has("dep_token") ? Results(call.tensor_ptr("dep_token")) : Results::many({});
}

Results assert_scalar(Call& call) {
  assert_that(call, call.value("self"), message_of(call));
  return done(call);
}

Results assert_async(Call& call) {
  const Ref given = call.tensor("self");
  if (numel(given.shape()) != 1)
    throw error("an assertion takes one value, and is given {}", given.value()->type().str());
  const Ref one = reshape(given, {});
  check(is_bool(one.dtype()) ? one : not_equal(one, one.literal(0)), message_of(call));
  return done(call);
}

Results constrain_range(Call& call) {
  const AbstractValue size = call.value("size");
  const std::int64_t lowest = call.name.ends_with("for_size") ? 0 : unbounded_below;
  const std::int64_t min = call.integer("min", lowest), max = call.integer("max", unbounded_above);
  if (!depends_on_data(size)) return done(call);
  const Ref value = number_value(call.build, size);
  const auto bound = [&](std::int64_t number) { return call.build.literal(number, DType::i64); };
  if (min != unbounded_below)
    check(apply(GreaterEqual{}, {value, bound(min)}), fmt::format("a number of the model is below {}", min));
  if (max != unbounded_above)
    check(apply(LessEqual{}, {value, bound(max)}), fmt::format("a number of the model is above {}", max));
  return done(call);
}

constexpr AtenEntry table[] = {
    {"_assert_async", assert_async},
    {"_assert_scalar", assert_scalar},
    {"_functional_assert_async", assert_async},
    {"_functional_assert_scalar", assert_scalar},
    {"_functional_sym_constrain_range", constrain_range},
    {"_functional_sym_constrain_range_for_size", constrain_range},
    {"sym_constrain_range", constrain_range},
    {"sym_constrain_range_for_size", constrain_range},
};

}  // namespace

std::span<const AtenEntry> assertion_entries() { return table; }

}  // namespace tenon::converter
