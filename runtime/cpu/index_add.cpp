// index_add and index_put: one slice after the other, as scatter does with one index for all of a slice.
#include "ir/ops/index.h"
#include "runtime/calls/few_places.h"
#include "runtime/cpu/places.h"
#include "runtime/cpu/scatter_step.h"

namespace tenon {
namespace {

/// Can a kernel join elements of this type, or put them in the place of others?
bool has_type(const Node& node, bool joins) {
  const DType dtype = node.input(0)->dtype();
  return joins ? cpu::can_join(dtype) || joins_few_halves(node) : cpu::can_replace(dtype);
}

/// Slices of x along an axis, and what is added to them or put in their place.
struct Slices {
  std::int64_t axis;
  const Value *x, *indices, *src;
  bool from_end;
  std::optional<Reduce> join;

  static std::optional<Slices> match(const Node& node) {
    if (const auto* add = node.as<IndexAdd>())
      return Slices{add->axis, node.input(0), node.input(1), node.input(2), add->from_end, Reduce::sum};
    const auto& put = *node.as<IndexPut>();
    if (put.axes.size() != 1 || node.inputs().size() != 3) return std::nullopt;
    return Slices{put.axes[0],   node.input(0), node.input(2),
                  node.input(1), true,          put.accumulate ? std::optional(Reduce::sum) : std::nullopt};
  }
  bool fit(const Node& node) const {
    const DType index = indices->dtype();
    if (!has_type(node, join.has_value()) || (index != DType::i32 && index != DType::i64) || x->rank() == 0 ||
        indices->rank() != 1 || numel(src->shape()) == Dim(0) || numel(x->shape()) == Dim(0))
      return false;
    Shape slices = x->shape();
    slices[static_cast<std::size_t>(axis)] = indices->shape()[0];
    return src->shape() == slices;
  }
};

void emit_slices(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Slices slices = *Slices::match(node);
  const auto axis = static_cast<std::size_t>(slices.axis);
  const PlannedTensor x = x_of_scatter(planner, slices.x), indices = planner.dense(slices.indices);
  const auto element = element_of(planner, slices.src);
  const PlannedTensor src = element ? *element : planner.dense(slices.src);
  const std::int64_t outer = numel(std::span(x.shape()).first(axis));
  const std::int64_t inner = numel(std::span(x.shape()).subspan(axis + 1)), count = src.shape()[axis];
  emit_scatter_step(
      planner, node,
      {.outer = outer,
       .count = count,
       .inner = inner,
       .extent = x.shape()[axis],
       .from_end = slices.from_end,
       .dtype = x.dtype(),
       .join = slices.join,
       .src_strides = element ? cpu::Scatter::Strides{} : cpu::Scatter::Strides{count * inner, inner, 1},
       .index_dtype = indices.dtype(),
       .index_strides = {0, 1, 0}},
      {x, indices, src});
}

std::vector<Candidate> lower_slices(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto slices = Slices::match(node);
  if (!slices || !slices->fit(node)) return {};
  const Value &x = *slices->x, &indices = *slices->indices, &src = *slices->src;
  const double elements = static_cast<double>(numel(src.shape()).value());
  const Work work{.flops = slices->join ? elements : 0,
                  .bytes = 2 * bytes_of(x.type()) + 2 * bytes_of(src.type()) + bytes_of(indices.type())};
  const bool has_slices = static_cast<std::size_t>(slices->axis) + 1 < x.rank() && x.shape().back() != Dim(1);
  const double operations = has_slices ? 30 : 100;  // of a product, in the time that one element takes
  return {{{.kernel = slices->join ? "index add" : "index put",
            .work = work,
            .seconds = planner.estimate(operations * elements, work.bytes)},
           emit_slices}};
}

/// Rows that several tensors of indices name, and a value for them that is broadcast.
struct Put {
  IndexedRows rows;
  const Value* value;
  bool adds;
  Index shape;                    // of what is indexed
  cpu::Scatter::Strides strides;  // of the value, dense, as outer, places, row

  static std::optional<Put> match(const Node& node) {
    const auto* op = node.as<IndexPut>();
    if (!op || !has_type(node, op->accumulate)) return std::nullopt;
    const auto rows = IndexedRows::match(node.input(0), op->axes, std::span(node.inputs()).subspan(2));
    if (!rows || rows->order != row_major(rows->x->rank())) return std::nullopt;
    const Value* value = node.input(1);
    const Index sizes = eval(value->shape(), {});
    Shape places;
    for (const std::int64_t size : rows->places) places.emplace_back(size);
    Put put{.rows = *rows,
            .value = value,
            .adds = op->accumulate,
            .shape = eval(indexed_shape(rows->x->shape(), op->axes, places), {})};
    Index strides;
    if (!Strided(value->dtype(), sizes, contiguous_strides(sizes), 0)
             .expand(put.shape)
             .can_view_as({rows->outer, rows->count(), rows->row}, &strides))
      return std::nullopt;
    std::copy(strides.begin(), strides.end(), put.strides.begin());
    return put;
  }
};

void emit_put(Planner& planner, const Node& node, const Put& put) {
  const IndexedRows& rows = put.rows;
  const PlannedTensor x = x_of_scatter(planner, rows.x), value = planner.dense(put.value);
  const PlannedTensor numbers = numbers_of_rows(planner, rows);
  emit_scatter_step(planner, node,
                    {.outer = rows.outer,
                     .count = rows.count(),
                     .inner = rows.row,
                     .extent = rows.rows,
                     .dtype = x.dtype(),
                     .join = put.adds ? std::optional(Reduce::sum) : std::nullopt,
                     .src_strides = put.strides,
                     .index_dtype = DType::i64,
                     .index_strides = {0, 1, 0}},
                    {x, numbers, value});
}

std::vector<Candidate> lower_put(const Planner& planner, const Group& group) {
  const auto put = Put::match(group.node());
  if (!put) return {};
  const auto elements = static_cast<double>(numel(put->shape));
  const Work work{.flops = put->adds ? elements : 0,
                  .bytes = 2 * bytes_of(put->rows.x->type()) + bytes_of(put->value->type()) +
                           elements * static_cast<double>(size_of(put->value->dtype()))};
  const double operations = put->rows.row > 1 ? 30 : 100;  // of a product, in the time that one element takes
  const double seconds =
      estimate_numbers_of_rows(planner, put->rows) + planner.estimate(operations * elements, work.bytes);
  return {{{.kernel = put->adds ? "index add" : "index put", .work = work, .seconds = seconds},
           [=](Planner& p, const Group& g) { emit_put(p, g.node(), *put); }}};
}

}  // namespace

std::vector<OpLowering> index_add_lowerings() {
  return {{.op = &op_info<IndexAdd>(), .lower = lower_slices, .alone = true, .widens = true},
          {.op = &op_info<IndexPut>(), .lower = lower_slices, .alone = true, .widens = true},
          {.op = &op_info<IndexPut>(), .lower = lower_put, .alone = true, .widens = true}};
}

}  // namespace tenon
