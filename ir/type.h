// The type of a value: element type and symbolic shape.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"
#include "ir/tensor.h"

namespace tenon {

using Shape = std::vector<Dim>;

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  std::size_t rank() const { return shape.size(); }
  /// "f32[N,64,56,56]"
  std::string str() const;
  /// Reads str()'s form. Throws Error.
  static Type parse(std::string_view text);
  bool operator==(const Type&) const = default;
};

/// Product of the sizes.
Dim numel(const Shape&);
/// The same as a number; sizes must be known.
double elements(const Type&);
/// Sizes under bindings. Throws Error naming the first unbound symbol.
Index eval(const Shape&, const Bindings&);
Shape to_shape(std::span<const std::int64_t> sizes);
/// The integers of a fully known shape, nullopt when a dim is symbolic.
std::optional<Index> known_sizes(const Shape&);
/// "[N,64,56]"
std::string str(const Shape&);
/// NumPy broadcasting, aligned at the last axis. A dim that is not known to be 1 must equal its partner;
/// throws Error when that does not hold or cannot be shown.
Shape broadcast(const Shape& a, const Shape& b);
/// Axis in [0, rank) from one in [-rank, rank). Throws Error.
std::int64_t normalize_axis(std::int64_t axis, std::size_t rank);

}  // namespace tenon
