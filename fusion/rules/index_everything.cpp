// index(x, [[0],[1]], [[0,1,2]]) = reshape(x), index_select(x, [0,1,2]) = reshape(x): constant indices that
// name each place once, in order. Masks are read so when their code is written for one place and run for all
// of them (vmap).
#include <optional>

#include "fusion/rules/constants.h"
#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"

namespace tenon {
namespace {

/// The element that belongs to a place of the broadcast shape.
std::int64_t at_place(const Tensor& t, std::span<const std::int64_t> place) {
  Index at(place.end() - static_cast<std::ptrdiff_t>(t.rank()), place.end());
  for (std::size_t i = 0; i < at.size(); ++i)
    if (t.shape()[i] == 1) at[i] = 0;
  return t.get_int(at);
}

/// The constant indices of the node, with the sizes of the axes they name; empty: something is not known.
struct ConstantIndices {
  std::vector<Tensor> indices;
  Index sizes, shape;  // of the axes; of the indices together
};

std::optional<ConstantIndices> constant_indices(const Node& node) {
  const Axes& axes = node.as<IndexAt>()->axes;
  ConstantIndices out;
  Shape all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Value& index = *node.input(1 + i);
    const Dim& size = node.input()->shape()[i];
    if (axes[i] != static_cast<std::int64_t>(i) || !index.is_constant() || !index.tensor().defined() ||
        !size.is_known())
      return std::nullopt;
    out.indices.push_back(index.tensor());
    out.sizes.push_back(size.value());
    all = broadcast(all, index.shape());
  }
  const auto shape = known_sizes(all);
  if (!shape || numel(*shape) != numel(out.sizes)) return std::nullopt;
  out.shape = *shape;
  return out;
}

bool are_in_order(const ConstantIndices& p) {
  std::int64_t next = 0;
  bool so_far = true;
  for_each_index(p.shape, [&](std::span<const std::int64_t> place) {
    if (!so_far) return;
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < p.indices.size(); ++i) {
      const std::int64_t size = p.sizes[i], at = at_place(p.indices[i], place);
      so_far = -size <= at && at < size;
      if (!so_far) return;
      flat = flat * size + (at < 0 ? at + size : at);
    }
    so_far = flat == next++;
  });
  return so_far;
}

/// 0, 1, 2, ... up to the size of the axis.
bool counts_up(const Value& index, const Dim& size) {
  double next = 0;
  return numel(index.shape()) == size && every_element(index, [&](double value) { return value == next++; });
}

}  // namespace

Rule index_select_of_everything() {
  return {.name = "index_select_of_everything",
          .patterns = {op<IndexSelect>(hole("x"), hole("i"))},
          .when =
              [](const Match& m) {
                const auto axis = static_cast<std::size_t>(m.op<IndexSelect>().axis);
                return counts_up(*m["i"], m["x"]->shape()[axis]);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return reshape(Ref(m["x"], point), m.root()->output()->shape());
              }};
}

Rule index_of_everything() {
  const Pattern x = hole("x");
  return {.name = "index_of_everything",
          .patterns = {op<IndexAt>(x, hole("i")), op<IndexAt>(x, hole("i"), hole("j")),
                       op<IndexAt>(x, hole("i"), hole("j"), hole("k"))},
          .when =
              [](const Match& m) {
                const auto found = constant_indices(*m.root());
                return found && are_in_order(*found);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return reshape(Ref(m["x"], point), m.root()->output()->shape());
              }};
}

}  // namespace tenon
