// Random integers on a GPU: those of the CPU.
#include "ir/ops/random.h"

#include "kernels/gpu/random_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

void emit_random(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<RandomBits>();
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  std::vector<PlannedTensor> reads;
  for (const Value* step : node.inputs()) reads.push_back(planner.dense(step));
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(out);
  const std::int64_t fields[] = {out.numel(), op.bits, op.seed, op.stream}, each = drawn_at_once(op.bits);
  emit(planner, node,
       {.name = {},
        .kernel = {.source = random_source(op.bits, !reads.empty()),
                   .name = "random_bits",
                   .size = threads_for((out.numel() + each - 1) / each, random_threads),
                   .buffers = std::move(buffers),
                   .arguments = {struct_of(fields)}},
        .reads = std::move(reads),
        .writes = {out}});
}

std::vector<Candidate> lower_random(const Planner& planner, const Group& group) {
  const Type& type = group.node().output()->type();
  constexpr double operations = 100;  // of a product, in the time that one number takes
  const Work work{.bytes = bytes_of(type)};
  const double numbers = static_cast<double>(numel(type.shape).value());
  return {
      {{.kernel = "random bits", .work = work, .seconds = planner.estimate(operations * numbers, work.bytes)},
       emit_random}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_random_lowerings() {
  return {{.op = &op_info<RandomBits>(), .lower = gpu::lower_random, .alone = true}};
}

}  // namespace tenon
