// The CPU as a device. What lowers which operator stands in the .cpp of each family of kernels.
#include "runtime/device.h"

#include "base/alignment.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/peak.h"
#include "runtime/calls/loop.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/loop.h"
#include "runtime/cpu/name.h"
#include "runtime/cpu/queue.h"
#include "runtime/cpu/sized.h"
#include "runtime/shared/general.h"

namespace tenon {

#define FAMILY(name) std::vector<OpLowering> name();
#include "runtime/shared/families.def"
#define FAMILY(name) std::vector<OpLowering> name();
#include "runtime/cpu/families.def"

namespace {

constexpr std::array families = {
#define FAMILY(name) name,
#include "runtime/shared/families.def"
#define FAMILY(name) name,
#include "runtime/cpu/families.def"
};

// Arithmetic and traffic one after the other, and a call.
double estimate(int threads, double cost, double bytes) {
  constexpr double call = 0.2e-6, l2_bytes = 512 << 10, l3_bytes = 16 << 20;
  const double gflops = 100.0 * threads;
  const double gbs = bytes <= l2_bytes ? 100.0 * threads : bytes <= l3_bytes ? 60 : 20;
  return call + 1e-9 * (cost / gflops + bytes / gbs);
}

}  // namespace

const Device& cpu_device() {
  static const std::vector<OpLowering> lowerings = [] {
    std::vector<OpLowering> all;
    for (const auto family : families)
      for (const OpLowering& l : family()) all.push_back(l);
    return all;
  }();
  static constexpr std::array general = {GeneralLowering{"view", lower_view, is_view},
                                         GeneralLowering{"loop", lower_loop, is_loop},
                                         GeneralLowering{"reference", lower_reference, has_reference}};
  // Rows of 2 KiB multiples, and buffers at one distance from page boundaries, meet in the same sets of L1;
  // those a few lines further from one than others wait for stores (base/alignment.h).
  static const Device device{
      .name = "cpu",
      .lowerings = lowerings,
      .general = general,
      .sized = sized_kernels(),
      .knobs = {.threads = true},
      .memory = {.row_period = 2048, .row_gap = 64, .page_skew = stream_skew},
      .allocate = [](std::size_t bytes, Space) { return touched_host_memory(bytes); },
      .make_copy = make_copy,
      .hardware = [] { return fmt::format("{} | {}", cpu_name(), cpu::name(cpu::isa())); },
      .measure_peak = [](Queue& queue) { return cpu::measure_peak(cpu_queue(queue).pool()); },
      .estimate = estimate,
      .open_queue = [](int threads) -> std::unique_ptr<Queue> { return std::make_unique<CpuQueue>(threads); },
  };
  return device;
}

}  // namespace tenon
