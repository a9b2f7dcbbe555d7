// A scatter whose indices cover a part of the data alone writes to that part; the rest stands beside it.
#include <algorithm>
#include <array>
#include <vector>

#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"

namespace tenon {
namespace {

/// The axes in which a tensor is larger than the indices, but `whole`.
std::vector<std::size_t> cut_axes(const Shape& shape, const Shape& indices, std::size_t whole) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != whole && shape[i] != indices[i]) axes.push_back(i);
  return axes;
}
/// Are the indices known to fit there?
bool are_covered(const Shape& shape, const Shape& indices, const std::vector<std::size_t>& axes) {
  return std::ranges::all_of(axes, [&](std::size_t i) {
    return shape[i].is_known() && indices[i].is_known() && indices[i].value() <= shape[i].value();
  });
}
Ref front_of(const Ref& x, std::size_t axis, const Dim& size) {
  return slice(x, static_cast<std::int64_t>(axis), 0, size);
}

}  // namespace

Rule scatter_of_covered() {
  static const auto cut = [](const Match& m) {
    const Shape& indices = m["indices"]->shape();
    return std::array{cut_axes(m["x"]->shape(), indices, static_cast<std::size_t>(m.op<Scatter>().axis)),
                      cut_axes(m["src"]->shape(), indices, indices.size())};
  };
  return {.name = "scatter_of_covered",
          .patterns = {op<Scatter>(hole("x"), hole("indices"), hole("src"))},
          .when =
              [](const Match& m) {
                const auto [of_x, of_src] = cut(m);
                const Shape& indices = m["indices"]->shape();
                return (!of_x.empty() || !of_src.empty()) && are_covered(m["x"]->shape(), indices, of_x) &&
                       are_covered(m["src"]->shape(), indices, of_src);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const auto [of_x, of_src] = cut(m);
                const Ref indices(m["indices"], point);
                Ref src(m["src"], point);
                for (const std::size_t axis : of_src) src = front_of(src, axis, indices.shape()[axis]);
                std::vector<Ref> wholes = {Ref(m["x"], point)};
                for (const std::size_t axis : of_x)
                  wholes.push_back(front_of(wholes.back(), axis, indices.shape()[axis]));
                Ref written = apply(m.op<Scatter>(), {wholes.back(), indices, src});
                for (std::size_t i = of_x.size(); i-- > 0;) {
                  const auto axis = static_cast<std::int64_t>(of_x[i]);
                  const Dim &covered = indices.shape()[of_x[i]], &size = wholes[i].shape()[of_x[i]];
                  const Ref parts[] = {written, slice(wholes[i], axis, covered, size)};
                  written = concat(parts, axis);
                }
                return written;
              }};
}

}  // namespace tenon
