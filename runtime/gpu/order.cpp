#include "runtime/gpu/order.h"

#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

Ordered memory_for(Planner& planner, const OrderSize& size) {
  const auto elements = static_cast<std::size_t>(size.lines * size.length);
  return {planner.bytes(elements * static_cast<std::size_t>(size.key_bytes)), planner.bytes(elements * 4)};
}

Ordered order_in_blocks(Planner& planner, const PlannedTensor& keys, const OrderSize& size) {
  const Ordered out = memory_for(planner, size);
  prepare(planner, {.name = "sort lines",
                    .kernel = {.source = order_lines_source(size),
                               .name = "order_lines",
                               .size = blocks_of(size.lines, order_threads),
                               .buffers = {keys, out.keys, out.numbers},
                               .arguments = {struct_of(size.fields())}},
                    .reads = {keys},
                    .writes = {out.keys, out.numbers}});
  return out;
}

}  // namespace

Ordered order_keys(Planner& planner, const PlannedTensor& keys, const OrderSize& size) {
  if (size.fits_block()) return order_in_blocks(planner, keys, size);
  const std::string source = order_pass_source(size);
  const LaunchSize parts = blocks_of(size.lines * size.parts(), order_threads);
  const PlannedTensor counts =
      planner.bytes(static_cast<std::size_t>(size.lines * size.parts() * 256) * sizeof(std::uint32_t));
  const Ordered turns[2] = {memory_for(planner, size), memory_for(planner, size)};
  PlannedTensor from = keys, numbers = turns[1].numbers;
  for (int pass = 0; pass < size.passes(); ++pass) {
    const Ordered& to = turns[pass % 2];
    const std::vector<std::vector<std::byte>> arguments{struct_of(size.fields(8 * pass))};
    prepare(planner,
            {"count digits", {source, "count_digits", parts, {from, counts}, arguments}, {from}, {counts}});
    prepare(planner, {"sum counts",
                      {source, "sum_counts", blocks_of(size.lines, order_threads), {counts}, arguments},
                      {counts},
                      {counts}});
    prepare(planner,
            {"move by digit",
             {source, "move_by_digit", parts, {from, numbers, counts, to.keys, to.numbers}, arguments},
             {from, numbers, counts},
             {to.keys, to.numbers}});
    from = to.keys;
    numbers = to.numbers;
  }
  return {from, numbers};
}

}  // namespace tenon::gpu
