#include "ir/axis.h"

#include "base/error.h"

namespace tenon {

namespace {

void check_place(const Shape& shape, std::int64_t at, std::size_t places) {
  if (at < 0 || at >= static_cast<std::int64_t>(places))
    throw error("there is no axis {} in a tensor of shape {}", at, str(shape));
}

}  // namespace

Shape with_axis(Shape shape, std::int64_t at, Dim size) {
  check_place(shape, at, shape.size() + 1);
  shape.insert(shape.begin() + at, std::move(size));
  return shape;
}

Shape without_axis(Shape shape, std::int64_t at) {
  check_place(shape, at, shape.size());
  shape.erase(shape.begin() + at);
  return shape;
}

}  // namespace tenon
