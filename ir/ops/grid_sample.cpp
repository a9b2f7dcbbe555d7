// The type rule and the parts of reading images at computed places: a gather for each corner.
#include "ir/ops/grid_sample.h"

#include <array>
#include <vector>

#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

/// One spatial axis of the image and where the grid looks along it.
struct Along {
  Ref size;  // as a number of the grid's dtype
  Outside outside;
  bool align_corners;

  Ref last() const { return size - 1.0; }

  /// From [-1, 1] to places.
  Ref place(const Ref& grid) const {
    return align_corners ? (grid + 1.0) / 2.0 * last() : ((grid + 1.0) * size - 1.0) / 2.0;
  }

  /// Of no number PyTorch takes the first pixel of images, the last one of volumes.
  Ref inside(const Ref& place, bool of_volume) const {
    if (outside == Outside::zeros) return place;
    const Ref p = outside == Outside::reflection ? reflected(place) : place;
    if (!of_volume) return minimum(where(p > p.literal(0), p, 0), last());
    const Ref above = where(p < p.literal(0), p.literal(0), p);
    return where(above < last(), above, last());
  }

  /// Mirrored at the centres of the border's pixels or at their outer edges.
  Ref reflected(const Ref& place) const {
    const double low = align_corners ? 0 : -0.5;
    const Ref span = align_corners ? last() : size;
    const Ref from_low = abs(place - low);
    const Ref rest = apply(Fmod{}, {from_low, span});
    const Ref flips = apply(Fmod{}, {floor(from_low / span), span.literal(2)});
    const Ref mirrored = where(equal(flips, flips.literal(0)), rest + low, span - rest + low);
    return where(equal(span, span.literal(0)), span.literal(0), mirrored);
  }
};

bool is_volume(const std::vector<Along>& axes) { return axes.size() == 3; }

/// As the weights of read_at's values.
Ref as_weight(const Ref& w) {
  return reshape(w, {w.shape()[0], Dim(1), floor_div(numel(w.shape()), w.shape()[0])});
}

/// What stands at whole places (one Ref for each axis) of x[N, C, P], times a weight; 0 outside, in volumes
/// also of a weight that is no number.
Ref read_at(const Ref& x, const std::vector<Ref>& at, const std::vector<Along>& axes,
            const Ref& weight = {}) {
  Ref flat, inside;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Ref valid = logical_and(at[d] >= at[d].literal(0), at[d] <= axes[d].last());
    const Ref place = where(valid, at[d], 0);
    inside = d == 0 ? valid : logical_and(inside, valid);
    const Ref whole = cast(DType::i64, place);
    flat = d == 0 ? whole : flat * cast(DType::i64, axes[d].size) + whole;
  }
  const Dim count = floor_div(numel(flat.shape()), flat.shape()[0]);
  const Shape wide = {x.shape()[0], x.shape()[1], count};
  const Ref values = gather(x, 2, expand(reshape(flat, {flat.shape()[0], Dim(1), count}), wide));
  const Ref is_inside = reshape(inside, {flat.shape()[0], Dim(1), count});
  if (weight && is_volume(axes)) return where(is_inside, values * as_weight(weight), 0);
  const Ref found = where(is_inside, values, 0);
  return weight ? found * as_weight(weight) : found;
}

Ref sample_linear(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  Ref total;
  for (unsigned corner = 0; corner < 1U << axes.size(); ++corner) {
    std::vector<Ref> at;
    Ref weight;
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const Ref place = axes[d].inside(places[d], is_volume(axes));
      const Ref low = floor(place);
      const bool upper = corner >> d & 1;
      at.push_back(upper ? low + 1.0 : low);
      const Ref share = upper ? place - low : low + 1.0 - place;
      weight = d == 0 ? share : weight * share;
    }
    const Ref part = read_at(x, at, axes, weight);
    total = corner == 0 ? part : total + part;
  }
  return total;
}

Ref sample_nearest(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  std::vector<Ref> at;
  for (std::size_t d = 0; d < axes.size(); ++d)
    at.push_back(round(axes[d].inside(places[d], is_volume(axes))));
  return read_at(x, at, axes);
}

/// Keys' weights (a = -0.75) of the four places around one that is t behind the second.
std::array<Ref, 4> cubic_weights(const Ref& t) {
  constexpr double a = -0.75;
  const auto near = [](const Ref& d) { return ((d * (a + 2) - (a + 3)) * d * d) + 1.0; };
  const auto far = [](const Ref& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

Ref sample_cubic(const Ref& x, const std::vector<Ref>& places, const std::vector<Along>& axes) {
  const Ref top = floor(places[0]), left = floor(places[1]);
  const auto down = cubic_weights(places[0] - top), right = cubic_weights(places[1] - left);
  Ref total;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      const std::vector<Ref> at = {axes[0].inside(top + (static_cast<double>(i) - 1), false),
                                   axes[1].inside(left + (static_cast<double>(j) - 1), false)};
      const Ref part = read_at(x, at, axes, down[i] * right[j]);
      total = i + j == 0 ? part : total + part;
    }
  return total;
}

}  // namespace

Type GridSample::infer(const Type& x, const Type& grid) const {
  check_float("the image", x);
  check_same_dtype("the image", x, "the grid", grid);
  const std::size_t dims = x.rank() < 2 ? 0 : x.rank() - 2;
  if (dims == 0 || grid.rank() != x.rank() || grid.shape.back() != Dim(dims))
    throw error("the image {} and the grid {} do not fit", x.str(), grid.str());
  if (mode == SampleMode::cubic && dims != 2)
    throw error("bicubic sampling takes 2 spatial axes, not {}", dims);
  check_same_size("the images", x.shape[0], "the grids", grid.shape[0]);
  Type out = x;
  std::copy(grid.shape.begin() + 1, grid.shape.end() - 1, out.shape.begin() + 2);
  return out;
}

Ref GridSample::decompose(Ref x, Ref grid) const {
  const std::size_t dims = x.rank() - 2;
  std::vector<Along> axes;
  std::vector<Ref> places;
  const Shape points(grid.shape().begin(), grid.shape().end() - 1);
  Dim pixels(1);
  for (std::size_t d = 0; d < dims; ++d) {
    const Dim size = x.shape()[d + 2];
    pixels = pixels * size;
    axes.push_back({dim_value(size, grid), outside, align_corners});
    const auto k = static_cast<std::int64_t>(dims - 1 - d);  // the grid lists x before y
    places.push_back(
        axes[d].place(reshape(slice(grid, static_cast<std::int64_t>(dims) + 1, k, k + 1), points)));
  }
  const Ref image = reshape(x, {x.shape()[0], x.shape()[1], pixels});
  const Ref y = mode == SampleMode::linear    ? sample_linear(image, places, axes)
                : mode == SampleMode::nearest ? sample_nearest(image, places, axes)
                                              : sample_cubic(image, places, axes);
  Shape shape = points;
  shape.insert(shape.begin() + 1, x.shape()[1]);
  return reshape(y, shape);
}

std::vector<const OpInfo*> grid_sample_ops() { return family(GridSamples{}); }

}  // namespace tenon
