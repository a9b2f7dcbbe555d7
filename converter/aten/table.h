// Which handler serves which ATen operator: one table a family.
#pragma once
#include <span>
#include <string_view>

#include "converter/aten/call.h"

namespace tenon::converter {

using Handler = Results (*)(Call&);

/// How floats of 16 and 8 bits are passed to a handler.
enum class HalfPrecision : std::uint8_t {
  as_they_are,
  in_f32,  // operands are read as f32, float results rounded once: what PyTorch does inside one operator
};

/// "name" serves every overload, "name.overload" that one before it. In-place operators ("relu_") and `out=`
/// overloads are served by the handler of the pure one.
struct AtenEntry {
  std::string_view name;
  Handler handler;
  HalfPrecision half_precision = HalfPrecision::as_they_are;
};

// The tables: a file of this folder that defines one is found by that.
#define FAMILY(name) std::span<const AtenEntry> name();
#include "converter/aten/families.def"

/// Runs a handler that needs axes: a rank-0 self, and other rank-0 tensors with it, count as vectors of one
/// element, and the results lose the axis again.
Results run_with_axes(Handler, Call&);
template <Handler handler>
Results with_axes(Call& call) {
  return run_with_axes(handler, call);
}

/// The entry in the tables, or null.
const AtenEntry* find_entry(std::string_view name, std::string_view overload);

}  // namespace tenon::converter
