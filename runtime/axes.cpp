#include "runtime/axes.h"

#include <algorithm>

#include "base/error.h"
#include "ir/ops/axis_maps.h"
#include "ir/ops/create.h"
#include "ir/ops/shape.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

// Sets of axes, joined one by one (union-find). An axis of size 1 is idle: it broadcasts and belongs to no
// set, unless it is what a reduction left of a longer axis; then it meets the axis it is broadcast along.
class AxisSets {
 public:
  void add(const Value* value) {
    if (ids_.contains(value)) return;
    std::vector<std::size_t>& ids = ids_[value];
    for (const Dim& size : value->shape()) {
      ids.push_back(parent_.size());
      parent_.push_back(parent_.size());
      size_.push_back(size.value());
      idle_.push_back(size.value() == 1);
      reduced_.push_back(false);
    }
    order_.push_back(value);
  }

  bool idle(const Value* value, std::size_t axis) { return idle_[id(value, axis)]; }
  std::size_t root(const Value* value, std::size_t axis) { return find(id(value, axis)); }
  std::int64_t size(std::size_t set) const { return size_[set]; }
  bool is_reduced(std::size_t set) const { return reduced_[set]; }
  void mark_reduced(const Value* value, std::size_t axis) { reduced_[root(value, axis)] = true; }
  const std::vector<const Value*>& values() const { return order_; }

  // False when the sizes differ.
  bool join(const Value* a, std::size_t axis_a, const Value* b, std::size_t axis_b) {
    const std::size_t x = root(a, axis_a);
    const std::size_t y = root(b, axis_b);
    idle_[id(a, axis_a)] = false;
    idle_[id(b, axis_b)] = false;
    if (x == y) return true;
    if (size_[x] != 1 && size_[y] != 1 && size_[x] != size_[y]) return false;
    parent_[y] = x;
    size_[x] = std::max(size_[x], size_[y]);
    reduced_[x] = reduced_[x] || reduced_[y];
    return true;
  }

 private:
  std::size_t id(const Value* value, std::size_t axis) const { return ids_.at(value).at(axis); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  std::unordered_map<const Value*, std::vector<std::size_t>> ids_;
  std::vector<const Value*> order_;
  std::vector<std::size_t> parent_;
  std::vector<std::int64_t> size_;
  std::vector<bool> idle_, reduced_;
};

bool join_broadcast(AxisSets& sets, const Value* in, const Value* out) {
  const std::size_t shift = out->rank() - in->rank();
  for (std::size_t axis = 0; axis < in->rank(); ++axis)
    if (!sets.idle(in, axis) && !sets.join(in, axis, out, axis + shift)) return false;
  return true;
}

bool join_reduction(AxisSets& sets, const Axes& axes, const Value* in, const Value* out) {
  const bool keepdim = in->rank() == out->rank();
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < in->rank(); ++axis) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    if (!sets.idle(in, axis)) {
      if (is_reduced) sets.mark_reduced(in, axis);
      if ((keepdim || !is_reduced) && !sets.join(in, axis, out, next)) return false;
    }
    if (keepdim || !is_reduced) ++next;
  }
  return true;
}

// A reshape that only adds or drops axes of size 1.
bool join_squeeze(AxisSets& sets, const Value* in, const Value* out) {
  std::size_t to = 0;
  for (std::size_t axis = 0; axis < in->rank(); ++axis) {
    if (in->shape()[axis] == 1) continue;
    while (to < out->rank() && out->shape()[to] == 1) ++to;
    if (to == out->rank() || !sets.join(in, axis, out, to)) return false;
    ++to;
  }
  return std::all_of(out->shape().begin() + static_cast<std::ptrdiff_t>(to), out->shape().end(),
                     [](const Dim& d) { return d == 1; });
}

// The indices' axes stand in the result in the place of the axis that they name.
bool join_indices(AxisSets& sets, const SlicesByIndex& slices, const Node& node) {
  const Value *indices = node.input(1), *out = node.output();
  for (std::size_t axis = 0; axis < indices->rank(); ++axis)
    if (!sets.idle(indices, axis) && !sets.join(indices, axis, out, slices.axis + axis)) return false;
  return true;
}

bool join_member(AxisSets& sets, const Node& node) {
  for (std::size_t i = 0; i < node.num_outputs(); ++i) sets.add(node.output(i));
  const Value* out = node.output();
  if (const auto slices = slices_by_index(node)) return join_indices(sets, *slices, node);
  if (mapped_axes(node)) return true;
  if (node.op().is_pointwise() || node.is<Expand>()) {
    return std::all_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value* in) { return join_broadcast(sets, in, out); });
  }
  if (const auto r = reduction_of(node.op())) return join_reduction(sets, r->axes, node.input(), out);
  if (const auto* permute = node.as<Permute>()) {
    for (std::size_t i = 0; i < out->rank(); ++i) {
      const auto from = static_cast<std::size_t>(permute->axes[i]);
      if (!sets.idle(node.input(), from) && !sets.join(node.input(), from, out, i)) return false;
    }
    return true;
  }
  if (node.is<Reshape>()) return join_squeeze(sets, node.input(), out);
  return node.is<Full>() || node.is<Iota>();
}

// The dims in order: as they appear in the results, then elsewhere; reduced ones last.
std::vector<std::size_t> order_of_sets(AxisSets& sets, const Group& group) {
  std::vector<std::size_t> order;
  const auto visit = [&](const Value* value) {
    for (std::size_t axis = 0; axis < value->rank(); ++axis) {
      if (sets.idle(value, axis)) continue;
      const std::size_t set = sets.root(value, axis);
      if (std::find(order.begin(), order.end(), set) == order.end()) order.push_back(set);
    }
  };
  for (const Value* result : group.results()) visit(result);
  for (const Value* value : sets.values()) visit(value);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t set) { return !sets.is_reduced(set); });
  return order;
}

bool has_all(const std::vector<int>& dims, std::size_t begin, std::size_t end) {
  for (std::size_t d = begin; d < end; ++d)
    if (std::find(dims.begin(), dims.end(), static_cast<int>(d)) == dims.end()) return false;
  return true;
}

bool is_read_in_place(const Group& group, const Value* operand) {
  return std::any_of(group.members().begin(), group.members().end(), [&](const Node* member) {
    for (std::size_t i = gathers(*member) ? 1 : 0; i < member->inputs().size(); ++i)
      if (member->input(i) == operand) return true;
    return false;
  });
}

bool repeats_a_dim(std::vector<int> dims) {
  std::erase(dims, -1);
  std::sort(dims.begin(), dims.end());
  return std::adjacent_find(dims.begin(), dims.end()) != dims.end();
}

}  // namespace

Index LoopAxes::strides(const Value* value, const Strided& place) const {
  Index result(sizes.size(), 0);
  const std::vector<int>& of_value = dims.at(value);
  for (std::size_t axis = 0; axis < of_value.size(); ++axis)
    if (of_value[axis] >= 0 && place.shape()[axis] != 1)
      result[static_cast<std::size_t>(of_value[axis])] = place.strides()[axis];
  return result;
}

bool gathers(const Node& member) { return slices_by_index(member) || mapped_axes(member); }

std::vector<std::optional<std::size_t>> gathered_axes(const Node& member) {
  std::vector<std::optional<std::size_t>> of_result(member.input()->rank());
  const auto slices = slices_by_index(member);
  for (std::size_t axis = 0; axis < of_result.size(); ++axis)
    of_result[axis] = slices && axis > slices->axis ? axis + member.input(1)->rank() - 1 : axis;
  const auto moved = slices ? std::vector{slices->axis} : mapped_axes(member).value();
  for (const std::size_t axis : moved) of_result[axis] = std::nullopt;
  return of_result;
}

Index LoopAxes::gather_strides(const Node& member, const Strided& place) const {
  Index result(sizes.size(), 0);
  const std::vector<int>& of_result = dims.at(member.output());
  const auto axes = gathered_axes(member);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const int dim = axes[axis] ? of_result[*axes[axis]] : -1;
    if (dim >= 0 && place.shape()[axis] != 1) result[static_cast<std::size_t>(dim)] = place.strides()[axis];
  }
  return result;
}

std::optional<LoopAxes> find_loop_axes(const Group& group, std::string& why) {
  AxisSets sets;
  for (const Value* operand : group.operands())
    if (is_read_in_place(group, operand)) sets.add(operand);
  for (const Node* member : group.members()) {
    if (gathers(*member) &&
        (group.contains(member->input()) || member->input()->kind() == Value::Kind::literal)) {
      why = "it gathers from what it computes";
      return std::nullopt;
    }
    if (join_member(sets, *member)) continue;
    why = fmt::format("{} does not fit into one loop", member->op().name());
    return std::nullopt;
  }
  const std::vector<std::size_t> order = order_of_sets(sets, group);
  LoopAxes axes;
  for (const std::size_t set : order) {
    axes.sizes.push_back(sets.size(set));
    axes.reduced += sets.is_reduced(set) ? 1 : 0;
  }
  for (const Value* value : sets.values()) {
    std::vector<int>& dims = axes.dims[value];
    for (std::size_t axis = 0; axis < value->rank(); ++axis) {
      const auto at = std::find(order.begin(), order.end(), sets.root(value, axis));
      dims.push_back(sets.idle(value, axis) ? -1 : static_cast<int>(at - order.begin()));
    }
    if (repeats_a_dim(dims)) {
      why = "a value meets its own transpose";
      return std::nullopt;
    }
  }
  const std::size_t kept = order.size() - static_cast<std::size_t>(axes.reduced);
  for (const Value* result : group.results()) {
    if (has_all(axes.dims.at(result), 0, kept)) continue;
    why = "its results have different shapes";
    return std::nullopt;
  }
  for (const Node* member : group.members()) {
    if (!member->op().info().reduction || has_all(axes.dims.at(member->input()), 0, order.size())) continue;
    why = "a reduction would be computed several times";
    return std::nullopt;
  }
  return axes;
}

}  // namespace tenon
