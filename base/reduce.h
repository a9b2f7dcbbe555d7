// The folds that reductions are made of: their names, and what each one takes and gives. Their meaning is in
// base/fold.h.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

/// Every fold of a row of elements into one value. NaN wins in min, max, argmin and argmax; argmin and argmax
/// give the position of the first extreme element. Of an empty row: sum 0, prod 1, min and max the largest
/// and smallest value of the type (±inf), any false, all true, argmin and argmax 0.
enum class Reduce : std::uint8_t { sum, prod, min, max, any, all, argmin, argmax };

/// What a fold accepts and returns.
enum class ReduceKind : std::uint8_t {
  number,    // numbers; the result has their type
  truth,     // bools; the result is a bool
  position,  // numbers; the result is an i64: a place in the row
};

struct ReduceInfo {
  Reduce reduce;
  std::string_view name;
  ReduceKind kind;
  bool picks;  // one of the elements, by their order: an operator refuses rows without elements
};

inline constexpr std::array reduce_table = {
    ReduceInfo{Reduce::sum, "sum", ReduceKind::number, false},
    ReduceInfo{Reduce::prod, "prod", ReduceKind::number, false},
    ReduceInfo{Reduce::min, "min", ReduceKind::number, true},
    ReduceInfo{Reduce::max, "max", ReduceKind::number, true},
    ReduceInfo{Reduce::any, "any", ReduceKind::truth, false},
    ReduceInfo{Reduce::all, "all", ReduceKind::truth, false},
    ReduceInfo{Reduce::argmin, "argmin", ReduceKind::position, true},
    ReduceInfo{Reduce::argmax, "argmax", ReduceKind::position, true},
};
inline constexpr std::size_t reduce_count = reduce_table.size();

constexpr bool reduce_table_in_order() {
  for (std::size_t i = 0; i < reduce_count; ++i)
    if (static_cast<std::size_t>(reduce_table[i].reduce) != i) return false;
  return true;
}
static_assert(reduce_table_in_order());

constexpr const ReduceInfo& info(Reduce r) { return reduce_table[static_cast<std::size_t>(r)]; }
constexpr std::string_view name(Reduce r) { return info(r).name; }

}  // namespace tenon
