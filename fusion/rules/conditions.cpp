// Truth values: one spelling for each operation, and none where a constant says the same everywhere.
//   bit_and(a, b) = logical_and(a, b)        for bools
//   logical_and(true, b) = b, logical_or(false, b) = b
//   where(true, a, b) = a
#include <optional>

#include "fusion/rules/constants.h"
#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"

namespace tenon {
namespace {

const Pattern x = hole("x"), y = hole("y"), known = hole("known");

bool is_of_bools(const Match& m) { return is_bool(m["x"]->dtype()); }

/// What a constant says at every place.
std::optional<bool> said(const Value& condition) {
  if (!is_bool(condition.dtype())) return std::nullopt;
  std::optional<double> first;
  const bool is_one =
      every_element(condition, [&](double value) { return value == *(first ? first : first = value); });
  return is_one && first ? std::optional(*first != 0) : std::nullopt;
}

template <class Bits, class Logical>
Rule of_bools(std::string_view name) {
  return {.name = name,
          .patterns = {op<Bits>(x, y)},
          .when = is_of_bools,
          .build = [](const Match& m, const InsertionPoint& point) {
            return apply(Logical{}, {Ref(m["x"], point), Ref(m["y"], point)});
          }};
}

/// The other operand, where the known one changes nothing.
template <class Logical>
Rule of_known(std::string_view name, bool neutral) {
  return {.name = name,
          .patterns = {op<Logical>(known, x), op<Logical>(x, known)},
          .when = [neutral](const Match& m) { return is_of_bools(m) && said(*m["known"]) == neutral; },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return expand(Ref(m["x"], point), m.root()->output()->shape());
              }};
}

Value* taken(const Match& m) { return m[*said(*m["known"]) ? "x" : "y"]; }

}  // namespace

Rule not_of_equal() {
  return {
      .name = "not_of_equal",
      .patterns = {op<LogicalNot>(op<Equal>(x, y))},
      .when = [](const Match& m) { return !is_string(m["x"]->dtype()); },
      .build = [](const Match& m,
                  const InsertionPoint& point) { return not_equal(Ref(m["x"], point), Ref(m["y"], point)); }};
}

Rule bit_not_of_bool() {
  return {
      .name = "bit_not_of_bool",
      .patterns = {op<BitNot>(x)},
      .when = is_of_bools,
      .build = [](const Match& m, const InsertionPoint& point) { return logical_not(Ref(m["x"], point)); }};
}

Rule bit_and_of_bool() { return of_bools<BitAnd, LogicalAnd>("bit_and_of_bool"); }
Rule bit_or_of_bool() { return of_bools<BitOr, LogicalOr>("bit_or_of_bool"); }
Rule bit_xor_of_bool() { return of_bools<BitXor, LogicalXor>("bit_xor_of_bool"); }

Rule and_of_known() { return of_known<LogicalAnd>("and_of_known", true); }
Rule or_of_known() { return of_known<LogicalOr>("or_of_known", false); }

Rule where_of_known() {
  return {.name = "where_of_known",
          .patterns = {op<Where>(known, x, y)},
          .when =
              [](const Match& m) {
                return said(*m["known"]) && taken(m)->dtype() == m.root()->output()->dtype();
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return expand(Ref(taken(m), point), m.root()->output()->shape());
              }};
}

}  // namespace tenon
