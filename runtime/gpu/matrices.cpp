#include "runtime/gpu/matrices.h"

#include <algorithm>
#include <numeric>

#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

/// [matrices, rows, columns] of a tensor whose matrices have this rank.
Index in_matrices(const Index& shape, std::size_t rank, std::int64_t count) {
  Index seen{count};
  for (std::size_t i = rank; i < 2; ++i) seen.push_back(1);
  seen.insert(seen.end(), shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
  return seen;
}

std::vector<std::byte> layout_of(const PlannedTensor& t) {
  const std::int64_t fields[] = {t.shape()[1], t.shape()[2], t.strides()[0], t.strides()[1], t.strides()[2]};
  return struct_of(fields);
}

/// How blocks share the work of a launch.
struct Division {
  std::int64_t parts = 1, columns = 0, words = 0;
  bool in_shared = true;
  std::int64_t items = 0, blocks = 0;
};

Division divide(const MatrixLaunch& launch, std::int64_t count, std::int64_t processors) {
  Division d{.words = launch.words};
  if (launch.to_divide > 0) {
    const auto parts_of = [&](std::int64_t columns) { return (launch.to_divide + columns - 1) / columns; };
    d.columns = std::min<std::int64_t>(count * parts_of(32) < processors ? 8 : 32, launch.to_divide);
    while (d.columns > 4 && launch.words * (d.columns | 1) > most_shared_words) d.columns /= 2;
    d.words = launch.words * (d.columns | 1);
    d.parts = parts_of(d.columns);
  }
  d.in_shared = d.words <= most_shared_words;
  d.items = count * d.parts;
  constexpr std::int64_t most_blocks = 1 << 30, blocks_a_processor = 4;  // that have global memory at once
  d.blocks = std::min(d.items, d.in_shared ? most_blocks : processors * blocks_a_processor);
  return d;
}

}  // namespace

MatrixNode::MatrixNode(Planner& planner, const Node& node, std::size_t rank)
    : planner_(planner), node_(node) {
  const Index shape = eval(node.input(0)->shape(), {});
  count_ = std::accumulate(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rank), std::int64_t{1},
                           std::multiplies<>());
}

MatrixOperand MatrixNode::read(std::string name, std::size_t input, std::size_t rank) const {
  const Value* value = node_.input(input);
  return {std::move(name), viewed(planner_, value, in_matrices(eval(value->shape(), {}), rank, count_))};
}

MatrixOperand MatrixNode::result(std::string name, std::size_t output, std::size_t rank) const {
  const Value* value = node_.output(output);
  const PlannedTensor at = planner_.assignment().assign(
      value, row_major(value->rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  return {std::move(name), at.view_as(in_matrices(at.shape(), rank, count_)), true};
}

MatrixOperand MatrixNode::scratch(std::string name, DType dtype, std::int64_t rows,
                                  std::int64_t columns) const {
  const Index shape{count_, rows, columns};
  const PlannedTensor memory =
      planner_.bytes(static_cast<std::size_t>(std::max<std::int64_t>(1, numel(shape))) * size_of(dtype));
  return {std::move(name),
          PlannedTensor(memory.buffer(), Strided(dtype, shape, contiguous_strides(shape), 0)), true};
}

MatrixOperand MatrixNode::read_again(MatrixOperand operand) {
  operand.is_result = false;
  return operand;
}

Launch MatrixNode::planned(MatrixLaunch launch) const {
  const Division d = divide(launch, count_, limits_of(gpu_of(planner_)).processors);
  MatrixProgram program{.header = launch.header,
                        .call = launch.call,
                        .in_shared = d.in_shared,
                        .may_fault = launch.complaint != nullptr};
  Launch planned{.name = launch.call.substr(0, launch.call.find('('))};
  std::replace(planned.name.begin(), planned.name.end(), '_', ' ');
  for (const MatrixOperand& o : launch.operands) {
    program.buffers.push_back({o.name, o.tensor.dtype(), o.is_result});
    planned.kernel.buffers.push_back(o.tensor);
    planned.kernel.arguments.push_back(layout_of(o.tensor));
    (o.is_result ? planned.writes : planned.reads).push_back(o.tensor);
  }
  if (!d.in_shared) {
    const PlannedTensor memory =
        planner_.bytes(static_cast<std::size_t>(d.blocks * d.words) * sizeof(double));
    planned.kernel.buffers.push_back(memory);
    planned.writes.push_back(memory);
  }
  const std::int64_t blocks[] = {d.items, d.parts, d.columns, d.words};
  planned.kernel.arguments.push_back(struct_of(blocks));
  planned.kernel.source = matrix_source(program);
  planned.kernel.name = "on_matrices";
  constexpr std::int64_t small = 1024;
  planned.kernel.size = blocks_of(d.blocks, d.words <= small ? 64 : 256);
  if (d.in_shared) planned.kernel.size.shared_bytes = static_cast<unsigned>(d.words * 8);
  planned.kernel.may_fault = program.may_fault;
  if (launch.complaint) planned.kernel.complaint = std::move(launch.complaint);
  return planned;
}

void MatrixNode::prepare(MatrixLaunch launch) const { gpu::prepare(planner_, planned(std::move(launch))); }
void MatrixNode::emit(MatrixLaunch launch) const { gpu::emit(planner_, node_, planned(std::move(launch))); }

}  // namespace tenon::gpu
