// Fourier transforms on a GPU.
#include "ir/ops/complex.h"
#include "kernels/gpu/fft_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

// Shared memory of a block that every GPU has.
constexpr std::size_t shared_bytes = 48 * 1024;

void emit_fft(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input(0));
  const PlannedTensor y = planner.assignment().assign(
      node.output(), row_major(x.rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  const std::int64_t length = x.shape().back(), lines = x.numel() / length;
  const std::size_t work_bytes = 3 * static_cast<std::size_t>(length) * size_of(x.dtype());
  const bool in_shared = work_bytes <= shared_bytes;
  Launch launch{.name = {}, .reads = {x}, .writes = {y}};
  launch.kernel = {.source = fft_source(x.dtype(), in_shared),
                   .name = "fft",
                   .size = blocks_of(lines, fft_block),
                   .buffers = {x, y},
                   .arguments = {struct_of(std::vector<std::int64_t>{length, node.as<Fft>()->inverse})}};
  if (in_shared) {
    launch.kernel.size.shared_bytes = static_cast<std::int64_t>(work_bytes);
  } else {
    const PlannedTensor work = planner.bytes(work_bytes * static_cast<std::size_t>(lines));
    launch.kernel.buffers.push_back(work);
    launch.writes.push_back(work);
  }
  emit(planner, node, std::move(launch));
}

std::vector<Candidate> lower_fft(const Planner& planner, const Group& group) {
  const Type& type = group.node().output()->type();
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  const std::int64_t elements = numel(type.shape).value(), length = type.shape.back().value();
  if (elements == 0 || length > limit || elements / length > limit) return {};
  const Work work{.flops = 50.0 * static_cast<double>(elements), .bytes = 2 * bytes_of(type)};
  return {{{.kernel = "fft", .work = work, .seconds = planner.estimate(work.flops, work.bytes)}, emit_fft}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_fft_lowerings() {
  return {{.op = &op_info<Fft>(), .lower = gpu::lower_fft, .alone = true}};
}

}  // namespace tenon
