#include "runtime/gpu/library_candidate.h"

#include <algorithm>

#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "runtime/gpu/queue.h"

namespace tenon::gpu {
namespace {

// What is added to the sum, if it is a value of the same type from outside of the group.
const Value* added_to(const Group& group, const Node& add, const Value* sum) {
  const Value* other = add.input(add.input(0) == sum ? 1 : 0);
  const bool fits = other != sum && !group.contains(other) && other->kind() != Value::Kind::literal &&
                    other->dtype() == sum->dtype() && other->shape() == sum->shape();
  return fits ? group.outer(other) : nullptr;
}

}  // namespace

std::optional<LibraryEpilogue> LibraryEpilogue::match(const Planner& planner, const Group& group,
                                                      const Node& anchor, const Value* bias) {
  LibraryEpilogue e;
  if (bias) {
    e.bias = group.outer(bias);
    const Strided layout = planner.assignment().layout(e.bias);
    if (layout.dtype() != anchor.output()->dtype() || !layout.is_contiguous()) return std::nullopt;
  }
  const Value* result = anchor.output();
  for (const Node* member : group.members()) {
    if (member == &anchor) continue;
    const auto& inputs = member->inputs();
    if (e.relu || std::find(inputs.begin(), inputs.end(), result) == inputs.end()) return std::nullopt;
    if (member->is<Relu>())
      e.relu = true;
    else if (!member->is<Add>() || e.residual || !(e.residual = added_to(group, *member, result)))
      return std::nullopt;
    result = member->output();
  }
  if (group.results().size() != 1 || group.results()[0] != result) return std::nullopt;
  return e;
}

std::string LibraryEpilogue::text() const {
  return std::string(bias ? "+bias" : "") + (residual ? "+residual" : "") + (relu ? "+relu" : "");
}

void price_without_unit(const Planner& planner, DType dtype, const Work& work, CandidateInfo& ours) {
  constexpr double slower = 8;  // ordinary units, as product_tiling.cpp has it
  Gpu& gpu = gpu_queue(*planner.device().queue).gpu();
  const MatrixUnit unit = *unit_of_waves(dtype);
  if (units_of(gpu).has(unit) && !proven(gpu, {unit}).has(unit))
    ours.seconds = planner.estimate(slower * work.flops, work.bytes);
}

}  // namespace tenon::gpu
