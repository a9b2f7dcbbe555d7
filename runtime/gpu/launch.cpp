#include "runtime/gpu/launch.h"

#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

std::unique_ptr<LaunchStep> step_of(Planner& planner, Launch& launch) {
  auto step = std::make_unique<LaunchStep>(gpu_queue(planner.queue()).gpu(), std::move(launch.kernel));
  step->info.op = step->info.kernel = std::move(launch.name);
  return step;
}

}  // namespace

std::vector<std::byte> struct_of(std::span<const std::int64_t> fields) {
  const auto bytes = std::as_bytes(fields);
  return {bytes.begin(), bytes.end()};
}

LaunchSize blocks_of(std::int64_t count, int threads) { return {.grid = {count, 1, 1}, .block = threads}; }

LaunchSize threads_for(std::int64_t count, int threads) {
  return blocks_of((count + threads - 1) / threads, threads);
}

void prepare(Planner& planner, Launch launch) {
  planner.prepare(step_of(planner, launch), std::move(launch.reads), std::move(launch.writes));
}

void emit(Planner& planner, const Node& node, Launch launch) {
  planner.emit(step_of(planner, launch), node, std::move(launch.reads), std::move(launch.writes));
}

PlannedTensor viewed(Planner& planner, const Value* value, const Index& shape) {
  const PlannedTensor at = planner.assignment().at(value);
  return (at.can_view_as(shape) ? at : planner.dense(value)).view_as(shape);
}

PlannedTensor dense(Planner& planner, const PlannedTensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const PlannedTensor memory =
      planner.bytes(static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype()));
  const PlannedTensor target(memory.buffer(),
                             Strided(tensor.dtype(), tensor.shape(), contiguous_strides(tensor.shape()), 0));
  planner.prepare(make_copy(gpu_of(planner), tensor, target), {tensor}, {target});
  return target;
}

std::vector<Candidate> copy_of_first(const Planner& planner, const Group& group) {
  const double bytes = 2 * bytes_of(group.node().output()->type());
  const CandidateInfo info{.kernel = "copy", .work = {.bytes = bytes}, .seconds = planner.estimate(0, bytes)};
  return {{info, [](Planner& p, const Group& g) {
             const Value* out = g.node().output();
             const PlannedTensor from = p.assignment().at(g.node().input(0));
             p.copy(from, p.assignment().assign(out, row_major(out->rank())), &g.node());
           }}};
}

std::optional<DType> bits_of(DType dtype) {
  if (is_string(dtype)) return std::nullopt;
  switch (size_of(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::i32;
    case 8: return DType::i64;
    default: return std::nullopt;
  }
}

}  // namespace tenon::gpu
