#include "runtime/gpu/peak.h"

#include <algorithm>
#include <limits>

#include "runtime/gpu/arithmetic_peak.h"
#include "runtime/gpu/queue.h"

namespace tenon::gpu {
namespace {

// Bytes read and written in a second, the best of several copies.
double copied_gbs(Queue& queue, const Gpu& gpu, std::size_t bytes) {
  const Memory from = gpu.allocate(bytes, Space::device), to = gpu.allocate(bytes, Space::device);
  constexpr int turns = 8;
  const auto clock = queue.clock(turns + 1);
  clock->mark();
  for (int i = 0; i < turns; ++i) {
    queue.copy(to.data(), from.data(), bytes);
    clock->mark();
  }
  const auto times = clock->times();
  double best = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i + 1 < times.size(); ++i)
    best = std::min(best, std::chrono::duration<double>(times[i + 1] - times[i]).count());
  return best > 0 ? 2e-9 * static_cast<double>(bytes) / best : 0;
}

}  // namespace

Peak measure_peak(Queue& queue) {
  const Gpu& gpu = gpu_queue(queue).gpu();
  Peak peak = arithmetic_peak({.vendor = gpu.driver().vendor,
                               .major = gpu.attribute(Attribute::compute_major),
                               .minor = gpu.attribute(Attribute::compute_minor),
                               .name = gpu.name(),
                               .multiprocessors = gpu.multiprocessors(),
                               .clock_ghz = 1e-6 * gpu.attribute(Attribute::clock_khz)});
  constexpr std::size_t beyond_caches = 256 << 20, in_l2 = 4 << 20;
  peak.gbs = copied_gbs(queue, gpu, beyond_caches);
  peak.l2_gbs = peak.l3_gbs = copied_gbs(queue, gpu, in_l2);
  return peak;
}

}  // namespace tenon::gpu
