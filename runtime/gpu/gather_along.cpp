// gather along an axis, and index by several tensors, on a GPU: loops over the places that indices name.
#include "ir/ops/index.h"
#include "ir/ops/index_places.h"
#include "runtime/complex_parts.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/placement.h"

namespace tenon::gpu {
namespace {

bool is_copied(DType dtype) { return bits_of(dtype) || dtype == DType::c128; }
// Elements of 16 bytes are two of 8, along an axis behind the others.
PlannedTensor in_words(const PlannedTensor& t) {
  return t.dtype() == DType::c128 ? in_parts(t, DType::i64) : t;
}

// Elements as integers of their size; strides along the dims of the loop.
LoopOperand elements(int buffer, const PlannedTensor& t, Index strides) {
  return {.buffer = buffer, .dtype = *bits_of(t.dtype()), .strides = std::move(strides)};
}

void emit_loop(Planner& planner, const Node& node, LoopProgram program, std::vector<PlannedTensor> buffers) {
  std::vector<PlannedTensor> reads(buffers.begin(), buffers.end() - 1), writes{buffers.back()};
  planner.emit(make_loop_step(gpu_queue(planner.queue()).gpu(), {std::move(program), std::move(buffers)}),
               node, std::move(reads), std::move(writes));
}

// Of the node's operands and result; strides along the result's axes.
void emit_along(Planner& planner, const Node& node, std::size_t axis, const PlannedTensor& table,
                Index of_table, Index of_index) {
  const PlannedTensor indices = planner.assignment().at(node.input(1));
  const PlannedTensor out =
      in_words(planner.assignment().assign(node.output(), row_major(node.output()->rank())));
  of_index.resize(out.rank(), 0);
  LoopProgram program("gather along", out.shape());
  LoopOperand from = elements(0, table, std::move(of_table));
  from.index_stride = table.strides()[axis];
  from.range = table.shape()[axis];
  const Reg index = program.load({.buffer = 1, .dtype = indices.dtype(), .strides = std::move(of_index)});
  const Reg element = program.gather(std::move(from), index);
  program.store(elements(2, out, out.strides()), element);
  emit_loop(planner, node, std::move(program), {table, indices, out});
}

void emit_gather(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto axis = static_cast<std::size_t>(node.as<Gather>()->axis);
  const PlannedTensor table = in_words(planner.assignment().at(node.input(0)));
  Index of_table = table.strides();
  of_table[axis] = 0;
  emit_along(planner, node, axis, table, std::move(of_table),
             planner.assignment().at(node.input(1)).strides());
}

void emit_select(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto axis = static_cast<std::size_t>(node.as<IndexSelect>()->axis);
  const PlannedTensor table = in_words(planner.assignment().at(node.input(0)));
  const Index indices = planner.assignment().at(node.input(1)).strides();
  Index of_table = table.strides(), of_index(axis, 0);
  of_table.erase(of_table.begin() + static_cast<std::ptrdiff_t>(axis));
  of_table.insert(of_table.begin() + static_cast<std::ptrdiff_t>(axis), indices.size(), 0);
  of_index.insert(of_index.end(), indices.begin(), indices.end());
  emit_along(planner, node, axis, table, std::move(of_table), std::move(of_index));
}

// The axes that indices name, in the order of the indices.
Axes indexed_axes(const Node& node) {
  if (const auto* op = node.as<IndexAt>()) return op->axes;
  return {node.is<Gather>() ? node.as<Gather>()->axis : node.as<IndexSelect>()->axis};
}

bool chooses_of_nothing(const Node& node) {
  const Shape& shape = node.input(0)->shape();
  const Axes axes = indexed_axes(node);
  return !shape.empty() && std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return shape[static_cast<std::size_t>(axis)] == Dim(0);
  });
}

// Any index of an axis without elements is wrong: a run reports one, and nothing is read.
void emit_of_nothing(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Axes axes = indexed_axes(node);
  std::size_t k = 0;
  while (node.input(0)->shape()[static_cast<std::size_t>(axes[k])] != 0) ++k;
  const PlannedTensor indices = planner.dense(node.input(1 + k));
  places_of(planner,
            {.sizes = {indices.numel()}, .operands = {{.indices = indices.view_as({indices.numel()})}}}, 0);
  planner.assignment().assign(node.output(), row_major(node.output()->rank()));
}

std::vector<Candidate> lower_of_nothing(const Node& node) {
  for (std::size_t i = 1; i < node.inputs().size(); ++i)
    if (!are_indices(node.input(i)->dtype())) return {};
  return {{{.kernel = "wrong index"}, emit_of_nothing}};
}

Work work_of(const Node& node) {
  return {.bytes = 2 * bytes_of(node.output()->type()) + bytes_of(node.input(1)->type())};
}

std::vector<Candidate> lower_gather(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (chooses_of_nothing(node)) return lower_of_nothing(node);
  if (!node.is<Gather>() || !is_copied(node.input(0)->dtype()) || !are_indices(node.input(1)->dtype()) ||
      node.input(0)->rank() == 0)
    return {};
  const Work work = work_of(node);
  return {
      {{.kernel = "gather along", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit_gather}};
}

// Slices of complex numbers; those of others are loops as they are.
std::vector<Candidate> lower_select(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (chooses_of_nothing(node)) return lower_of_nothing(node);
  if (!node.is<IndexSelect>() || !is_complex(node.input(0)->dtype()) || !are_indices(node.input(1)->dtype()))
    return {};
  const Work work = work_of(node);
  return {{{.kernel = "select", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit_select}};
}

// Places are where in memory the rows begin.
void emit_index(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Axes& axes = node.as<IndexAt>()->axes;
  const PlannedTensor table = in_words(planner.dense(node.input(0)));
  std::vector<Type> types;
  for (std::size_t k = 0; k < axes.size(); ++k) types.push_back(node.input(1 + k)->type());
  const Index places = eval(index_places(node.input(0)->type(), axes, types), {});
  Placement p{.sizes = places, .places = table.numel()};
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    p.operands.push_back({.indices = planner.assignment().at(node.input(1 + k)).expand(places),
                          .range = table.shape()[axis],
                          .step = table.strides()[axis],
                          .from_end = true});
  }
  const PlannedTensor begins = places_of(planner, p, 0).view_as(places);
  const PlannedTensor out = planner.assignment().assign(node.output(), row_major(node.output()->rank()));
  const PlannedTensor rows =
      in_words(out.permute(places_first(out.rank(), places_front(axes), places.size())));

  LoopProgram program("index", rows.shape());
  Index of_table(places.size(), 0), of_index = begins.strides();
  for (const std::int64_t axis : listed_first(node.input(0)->rank(), axes))
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      of_table.push_back(table.strides()[static_cast<std::size_t>(axis)]);
  of_index.resize(rows.rank(), 0);
  if (of_table.size() < rows.rank()) of_table.push_back(1);
  LoopOperand from = elements(0, table, std::move(of_table));
  from.index_stride = 1;
  from.range = table.numel();
  const Reg index = program.load({.buffer = 1, .dtype = DType::i32, .strides = std::move(of_index)});
  const Reg element = program.gather(std::move(from), index);
  program.store(elements(2, rows, rows.strides()), element);
  emit_loop(planner, node, std::move(program), {table, begins, out});
}

std::vector<Candidate> lower_index(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (chooses_of_nothing(node)) return lower_of_nothing(node);
  const auto* op = node.as<IndexAt>();
  const bool is_loop = op && op->axes.size() == 1 && !is_complex(node.input(0)->dtype());
  if (!op || is_loop || !is_copied(node.input(0)->dtype())) return {};
  std::vector<Type> types;
  for (std::size_t k = 0; k < op->axes.size(); ++k) {
    types.push_back(node.input(1 + k)->type());
    if (!are_indices(node.input(1 + k)->dtype())) return {};
  }
  const Index places = eval(index_places(node.input(0)->type(), op->axes, types), {});
  if (!fits({.sizes = places, .places = numel(node.input(0)->shape()).value()})) return {};
  const Work work = work_of(node);
  return {{{.kernel = "index", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit_index}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_gather_lowerings() {
  return {{.op = &op_info<Gather>(), .lower = gpu::lower_gather, .alone = true},
          {.op = &op_info<IndexSelect>(), .lower = gpu::lower_select, .alone = true},
          {.op = &op_info<IndexAt>(), .lower = gpu::lower_index, .alone = true}};
}

}  // namespace tenon
