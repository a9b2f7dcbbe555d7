// Which makers plan which operators on the CPU.
#include "runtime/device.h"

#include <algorithm>
#include <array>

#include "ir/ops/attention.h"
#include "ir/ops/control.h"
#include "ir/ops/conv.h"
#include "ir/ops/index.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/linear.h"
#include "ir/ops/pool.h"
#include "ir/ops/shape.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/peak.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/name.h"
#include "runtime/cpu/queue.h"
#include "runtime/shared/makers.h"

namespace tenon {

const Device& cpu_device() {
  static const std::array table = {
      MakerEntry{&op_info<Conv>(), make_conv, true},
      MakerEntry{&op_info<ConvTranspose>(), make_conv_transpose, true},
      MakerEntry{&op_info<MaxPool>(), make_pool, true},
      MakerEntry{&op_info<AvgPool>(), make_pool, true},
      MakerEntry{&op_info<AdaptiveAvgPool>(), make_pool, true},
      MakerEntry{&op_info<AdaptiveMaxPool>(), make_pool, true},
      MakerEntry{&op_info<Linear>(), make_linear},
      MakerEntry{&op_info<Linear>(), make_matmul},
      MakerEntry{&op_info<MatMul>(), make_linear},
      MakerEntry{&op_info<MatMul>(), make_matmul},
      MakerEntry{&op_info<Attention>(), make_attention},
      MakerEntry{&op_info<IndexAdd>(), make_index_add},
      MakerEntry{.op = &op_info<IndexSelect>(), .make = make_gather, .alone = true},
      MakerEntry{.op = &op_info<IndexAt>(), .make = make_gather, .alone = true},
      MakerEntry{&op_info<Concat>(), make_concat},
      MakerEntry{&op_info<Pad>(), make_pad},
      MakerEntry{&op_info<Interpolate>(), make_repeat},
      MakerEntry{&op_info<If>(), make_if},
      MakerEntry{&op_info<Loop>(), make_iteration},
  };
  static constexpr std::array general = {GeneralMaker{"view", make_view, is_view},
                                         GeneralMaker{"loop", make_loop, is_loop},
                                         GeneralMaker{"reference", make_reference, has_reference}};
  // Rows of 2 KiB multiples, and buffers at one distance from page boundaries, meet in the same sets of L1.
  static const Device device{
      .name = "cpu",
      .makers = table,
      .general = general,
      .memory = {.row_period = 2048, .row_gap = 16, .page_skew = 192},
      .allocate = [](std::size_t bytes, Space) { return touched_host_memory(bytes); },
      .make_copy = make_copy,
      .hardware = [] { return fmt::format("{} | {}", cpu_name(), cpu::name(cpu::isa())); },
      .measure_peak = [](Queue& queue) { return cpu::measure_peak(cpu_queue(queue).pool()); },
      .open_queue = [](int threads) -> std::unique_ptr<Queue> { return std::make_unique<CpuQueue>(threads); },
  };
  return device;
}

std::string_view Device::runs(const Op& op) const {
  for (const MakerEntry& e : makers)
    if (e.op == &op.info()) return "kernel";
  for (const GeneralMaker& g : general)
    if (g.takes(op)) return g.name;
  return "parts";
}

bool Device::works_channels_last(const Op& op) const {
  return std::any_of(makers.begin(), makers.end(),
                     [&](const MakerEntry& e) { return e.op == &op.info() && e.channels_last; });
}

}  // namespace tenon
