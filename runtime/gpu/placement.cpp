#include "runtime/gpu/placement.h"

#include <bit>

#include "kernels/gpu/placed_fold_source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/order.h"

namespace tenon::gpu {
namespace {

// Sizes and strides get as many leading dims as the kernel has.
void append_dims(std::vector<std::int64_t>& list, const Index& values, std::int64_t missing) {
  list.insert(list.end(), static_cast<std::size_t>(places_rank) - values.size(), missing);
  list.insert(list.end(), values.begin(), values.end());
}

// PlacesShape of places.gpu.h.
std::vector<std::int64_t> fields(const Placement& p, std::int64_t wrong) {
  std::vector<std::int64_t> list{p.entries(), wrong};
  append_dims(list, p.sizes, 1);
  append_dims(list, p.base, 0);
  for (const IndexOperand& o : p.operands) {
    append_dims(list, o.indices.strides(), 0);
    list.insert(list.end(), {o.range, o.step, o.from_end});
  }
  return list;
}

// Axis `at` and the one before it become one, where all goes on evenly from the end of a row to the next.
void merge(Placement& p, std::size_t at) {
  const std::int64_t before = p.sizes[at - 1], size = p.sizes[at];
  std::vector<Index> all;
  if (!p.base.empty()) all.push_back(p.base);
  for (const IndexOperand& o : p.operands) all.push_back(o.indices.strides());
  for (Index& strides : all) {
    if (size != 1 && before != 1 && strides[at - 1] != strides[at] * size) return;
    if (size != 1) strides[at - 1] = strides[at];
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(at));
  }
  p.sizes[at - 1] = before * size;
  p.sizes.erase(p.sizes.begin() + static_cast<std::ptrdiff_t>(at));
  std::size_t next = 0;
  if (!p.base.empty()) p.base = all[next++];
  for (IndexOperand& o : p.operands)
    o.indices = {o.indices.buffer(), Strided(o.indices.dtype(), p.sizes, all[next++], o.indices.offset())};
}

Placement merged(Placement p) {
  for (std::size_t at = p.sizes.size(); at-- > 1;) merge(p, at);
  return p;
}

// As many as the kernel has at most: indices that do not lie so are copied.
Placement with_few_axes(Planner& planner, Placement p) {
  p = merged(std::move(p));
  if (p.sizes.size() <= places_rank) return p;
  for (IndexOperand& o : p.operands) o.indices = dense(planner, o.indices);
  return merged(std::move(p));
}

PlannedTensor integers(Planner& planner, std::int64_t count) {
  const PlannedTensor memory = planner.bytes(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  return {memory.buffer(), Strided(DType::i32, {count}, {1}, 0)};
}

struct Ranks {
  PlannedTensor starts, rows;
};

// Where the entries of each place begin, and which rows they take.
Ranks ranks_of(Planner& planner, const Placement& p, const Ordered& ordered,
               const std::optional<IndexOperand>& source) {
  const PlannedTensor starts = integers(planner, p.places + 1);
  const PlannedTensor rows = source ? integers(planner, p.entries()) : ordered.numbers;
  Launch launch{.name = "find starts", .reads = {ordered.keys, ordered.numbers}, .writes = {starts}};
  launch.kernel = {.name = "starts",
                   .size = threads_for(std::max(p.places + 1, source ? p.entries() : 0)),
                   .buffers = {ordered.keys, ordered.numbers}};
  std::vector<std::int64_t> shape{p.entries(), p.places, 0, 0};
  if (source) {
    launch.kernel.buffers.push_back(source->indices);
    launch.reads.push_back(source->indices);
    launch.writes.push_back(rows);
    shape[2] = source->range;
    shape[3] = source->from_end;
  }
  const DType dtype = source ? source->indices.dtype() : DType::i64;
  launch.kernel.source = starts_source(source ? &dtype : nullptr);
  launch.kernel.buffers.insert(launch.kernel.buffers.end(), launch.writes.begin(), launch.writes.end());
  launch.kernel.arguments = {struct_of(shape)};
  launch.kernel.may_fault = source.has_value();
  prepare(planner, std::move(launch));
  return {starts, rows};
}

}  // namespace

bool are_indices(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

bool fits(const Placement& p) {
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - 1;
  return merged(p).sizes.size() <= places_rank && p.entries() > 0 && p.entries() < limit && p.places > 0 &&
         p.places < limit;
}

PlannedTensor places_of(Planner& planner, const Placement& given, std::int64_t wrong) {
  const Placement p = with_few_axes(planner, given);
  const PlannedTensor places = integers(planner, p.entries());
  std::vector<PlannedTensor> reads;
  std::vector<DType> types;
  for (const IndexOperand& o : p.operands) {
    reads.push_back(o.indices);
    types.push_back(o.indices.dtype());
  }
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(places);
  prepare(planner, {.name = "find places",
                    .kernel = {.source = places_source(types),
                               .name = "places",
                               .size = threads_for(p.entries()),
                               .buffers = std::move(buffers),
                               .arguments = {struct_of(fields(p, wrong))},
                               .may_fault = true},
                    .reads = std::move(reads),
                    .writes = {places}});
  return places;
}

PlacedEntries entries_by_place(Planner& planner, const Placement& p,
                               const std::optional<IndexOperand>& source) {
  const PlannedTensor keys = places_of(planner, p, p.places);
  const OrderSize size{.length = p.entries(),
                       .bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(p.places)))};
  const Ordered ordered = order_keys(planner, keys, size);
  const Ranks ranks = ranks_of(planner, p, ordered, source);
  return {ranks.starts, ranks.rows, ordered.numbers};
}

}  // namespace tenon::gpu
