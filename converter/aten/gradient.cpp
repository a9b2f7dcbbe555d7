// torch.gradient: the slope of samples along axes, by differences of second order inside.
#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// Element or range along one axis, counted from the end where negative.
struct Samples {
  Ref x;
  std::int64_t axis;
  Dim size() const { return x.shape()[static_cast<std::size_t>(axis)]; }
  Ref range(std::int64_t start, const Dim& end) const { return slice(x, axis, Dim(start), end); }
  Ref one(std::int64_t i) const {
    const Dim start = i < 0 ? size() + i : Dim(i);
    return slice(x, axis, start, start + 1);
  }
};

Ref joined(const Ref& first, const Ref& inner, const Ref& last, std::int64_t axis) {
  const std::array parts = {first, inner, last};
  return concat(parts, axis);
}

/// Samples a distance apart.
Ref even_slope(const Samples& s, const Ref& distance, std::int64_t edge_order) {
  const Dim n = s.size();
  const Ref inner = (s.range(2, n) - s.range(0, n - 2)) / (distance * 2.0);
  if (edge_order == 1)
    return joined((s.one(1) - s.one(0)) / distance, inner, (s.one(-1) - s.one(-2)) / distance, s.axis);
  const Ref first = (s.one(0) * -1.5 + s.one(1) * 2.0 - s.one(2) * 0.5) / distance;
  const Ref last = (s.one(-1) * 1.5 - s.one(-2) * 2.0 + s.one(-3) * 0.5) / distance;
  return joined(first, inner, last, s.axis);
}

/// Samples at places, of which `steps` are the distances, along the axis.
Ref uneven_slope(const Samples& s, const Samples& steps, std::int64_t edge_order) {
  const Dim n = s.size();
  const Ref before = steps.range(0, n - 2), after = steps.range(1, n - 1), both = before + after;
  const Ref inner = s.range(0, n - 2) * (-after / (before * both)) +
                    s.range(1, n - 1) * ((after - before) / (before * after)) +
                    s.range(2, n) * (before / (after * both));
  if (edge_order == 1)
    return joined((s.one(1) - s.one(0)) / steps.one(0), inner, (s.one(-1) - s.one(-2)) / steps.one(-1),
                  s.axis);
  const auto end = [](const Ref& a, const Ref& b, const Ref& x, const Ref& y, const Ref& z) {
    return x * (-(a * 2.0 + b) / (a * (a + b))) + y * ((a + b) / (a * b)) - z * (a / (b * (a + b)));
  };
  const Ref first = end(steps.one(0), steps.one(1), s.one(0), s.one(1), s.one(2));
  const Ref last = -end(steps.one(-1), steps.one(-2), s.one(-1), s.one(-2), s.one(-3));
  return joined(first, inner, last, s.axis);
}

Samples distances(const Ref& places, std::size_t rank, std::int64_t axis) {
  if (places.rank() != 1) throw error("coordinates of rank {}", places.rank());
  const Dim n = places.shape()[0];
  Shape along(rank, Dim(1));
  along[static_cast<std::size_t>(axis)] = n - 1;
  return {reshape(slice(places, 0, Dim(1), n) - slice(places, 0, Dim(0), n - 1), along), axis};
}

Results gradient(Call& call) {
  const AbstractValue self = call.value("self");
  const std::size_t rank = call.tensor_ptr("self")->rank();
  const auto axes = call.axes("dim", rank);
  std::vector<std::int64_t> order = axes;
  if (call.has("dim")) {
    order = call.integers("dim");
    for (auto& a : order) a = normalize_axis(a, rank);
  }
  std::vector<AbstractValue> spacing(order.size(), AbstractValue(1.0));
  if (call.has("spacing")) {
    const AbstractValue given = call.value("spacing");
    const auto* items = items_of(given);
    if (items && items->size() != order.size() && items->size() != 1)
      throw error("{} spacings for {} axes", items->size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      spacing[i] = items ? (*items)[items->size() == 1 ? 0 : i] : given;
  }
  const std::int64_t edge_order = call.integer("edge_order", 1);
  if (edge_order != 1 && edge_order != 2) throw error("gradient with edge_order={}", edge_order);
  std::vector<AbstractValue> out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::array given = {self, spacing[i]};
    const auto x = promoted(call.build, given, true);
    const Samples samples{x[0], order[i]};
    const bool places = spacing[i].is_tensor() && x[1].rank() > 0;
    out.emplace_back(
        call.build.tensor(places ? uneven_slope(samples, distances(x[1], rank, order[i]), edge_order)
                                 : even_slope(samples, x[1], edge_order)));
  }
  return AbstractValue(list_of(std::move(out)));
}

constexpr AtenEntry gradient_table[] = {
    {"gradient", gradient},
};

}  // namespace

std::span<const AtenEntry> gradient_entries() { return gradient_table; }

}  // namespace tenon::converter
