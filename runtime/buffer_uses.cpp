#include "runtime/buffer_uses.h"

namespace tenon {

BufferUses::BufferUses(std::span<const std::unique_ptr<Step>> steps, std::span<const RecordedRange> recorded,
                       std::size_t buffers)
    : uses_(buffers, StepSet(steps.size())), before_(uses_) {
  const StepOrder order = order_of(steps.size(), recorded);
  std::vector<bool> is_used(buffers);
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const auto* tensors : {&steps[i]->reads, &steps[i]->writes})
      for (const PlannedTensor& t : *tensors) {
        const std::size_t b = t.buffer();
        uses_[b].add(i);
        if (is_used[b])
          before_[b].keep(order.before(i));
        else
          before_[b] = order.before(i);
        is_used[b] = true;
      }
}

}  // namespace tenon
