#include "runtime/cpu/scatter_step.h"

#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

class ScatterStep : public CpuStep {
 public:
  ScatterStep(const cpu::Scatter& scatter, bool x_is_one) : scatter_(scatter) {
    scatter_.x_is_one = x_is_one;
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    cpu::Scatter scatter = scatter_;
    scatter.x = frame.at<const void>(x);
    scatter.indices = frame.at<const void>(indices);
    scatter.src = frame.at<const void>(src);
    scatter.out = frame.at<void>(out);
    const long wrong = cpu::scatter(scatter, frame.scratch, frame.pool);
    if (wrong < 0) return;
    const long i = wrong % scatter.inner, e = wrong / scatter.inner % scatter.count,
               o = wrong / scatter.inner / scatter.count;
    const auto& [of_outer, of_count, of_inner] = scatter.index_strides;
    report_index(frame.faults[0],
                 index_at(scatter.indices, scatter.index_dtype, o * of_outer + e * of_count + i * of_inner),
                 scatter.extent, scatter.from_end);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address x, indices, src, out;

 private:
  cpu::Scatter scatter_;
};

bool is_one_element(const PlannedTensor& t) {
  for (std::size_t axis = 0; axis < t.rank(); ++axis)
    if (t.shape()[axis] != 1 && t.strides()[axis] != 0) return false;
  return true;
}

}  // namespace

std::optional<PlannedTensor> element_of(Planner& planner, const Value* value) {
  const PlannedTensor at = planner.repeated(planner.assignment().at(value));
  return is_one_element(at) ? std::optional(at) : std::nullopt;
}

PlannedTensor x_of_scatter(Planner& planner, const Value* x) {
  const auto element = element_of(planner, x);
  return element ? *element : planner.dense(x);
}

void emit_scatter_step(Planner& planner, const Node& node, const cpu::Scatter& scatter,
                       const Scattered& operands) {
  const auto& [x, indices, src] = operands;
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step = std::make_unique<ScatterStep>(scatter, is_one_element(x));
  step->x = x.address();
  step->indices = indices.address();
  step->src = src.address();
  step->out = out.address();
  step->scratch_bytes = cpu::scatter_scratch_size(scatter, planner.threads());
  planner.emit(std::move(step), node, {x, indices, src}, {out});
}

}  // namespace tenon
