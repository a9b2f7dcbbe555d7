#include "runtime/cpu/scatter_step.h"

#include <algorithm>
#include <cstring>

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
  return std::ranges::all_of(t.strides(), [](std::int64_t stride) { return stride == 0; });
}

/// Is every element of a tensor the same?
bool is_uniform(const Tensor& t) {
  const std::size_t size = size_of(t.dtype());
  return t.numel() > 0 && t.is_contiguous() &&
         std::memcmp(t.bytes(), t.bytes() + size, (static_cast<std::size_t>(t.numel()) - 1) * size) == 0;
}

}  // namespace

std::optional<PlannedTensor> element_of_constant(Planner& planner, const Value* value) {
  const auto known = planner.assignment().constant(value);
  if (!known || !is_uniform(*known)) return std::nullopt;
  Tensor element = Tensor::empty(value->dtype(), {});
  std::memcpy(element.mutable_bytes(), known->bytes(), size_of(value->dtype()));
  return planner.constant(element).expand(known->shape());
}

PlannedTensor x_of_scatter(Planner& planner, const Value* x) {
  if (const auto element = element_of_constant(planner, x)) return *element;
  const PlannedTensor at = planner.assignment().at(x);
  return is_one_element(at) ? at : planner.dense(x);
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
