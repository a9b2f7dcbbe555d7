#include "runtime/cpu/sized.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/ops/data_size.h"
#include "kernels/cpu/set_bits.h"
#include "runtime/cpu/queue.h"
#include "runtime/open_device.h"

namespace tenon {
namespace {

using Results = std::vector<Tensor>;

Results nonzero(const Node&, std::span<const Tensor> in, OpenDevice& device) {
  const Tensor& x = in[0];
  ThreadPool& pool = cpu_queue(*device.queue).pool();
  std::vector<std::uint64_t> memory(cpu::set_bits_bytes(x.numel()) / sizeof(std::uint64_t));
  const cpu::SetBits set = cpu::find_set_bits(x.bytes(), x.dtype(), x.numel(), memory.data(), pool);
  Tensor places = device.empty(DType::i64, {set.count(), static_cast<std::int64_t>(x.rank())});
  cpu::list_places(set, x.shape(), set.count(), places.mutable_data<std::int64_t>(), pool);
  return {places};
}

Results repeat_each(const Node& node, std::span<const Tensor> in, OpenDevice& device) {
  const Tensor repeats = in[0].to(DType::i64);
  const auto* const times = repeats.data<std::int64_t>();
  const std::int64_t n = repeats.numel();
  const auto* const negative = std::find_if(times, times + n, [](std::int64_t t) { return t < 0; });
  if (negative != times + n) return evaluate(node, in);  // which says so
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (__builtin_add_overflow(total, times[i], &total))
      throw error("{}: its counts add up to more elements than 64 bits count", node.op().name());
  Tensor places = device.empty(DType::i64, {total});
  auto* to = places.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) to = std::fill_n(to, times[i], i);
  return {places};
}

}  // namespace

std::span<const SizedKernel> sized_kernels() {
  static const std::array kernels = {SizedKernel{&op_info<NonZero>(), nonzero},
                                     SizedKernel{&op_info<RepeatEach>(), repeat_each},
                                     SizedKernel{&op_info<Unique>(), unique_elements}};
  return kernels;
}

}  // namespace tenon
