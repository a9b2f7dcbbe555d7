// Places of elements that are not zero, and elements that a mask names.
#include "ir/ops/masked.h"

#include "kernels/cpu/set_bits.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class FirstNonZeroStep : public CpuStep {
 public:
  FirstNonZeroStep(const FirstNonZero& op, DType dtype, Index sizes)
      : size_(op.size.value()), fill_(op.fill), dtype_(dtype), sizes_(std::move(sizes)), n_(numel(sizes_)) {
    scratch_bytes = cpu::set_bits_bytes(n_);
  }

  void compute(const CpuFrame& frame) const override {
    auto* const to = frame.at<std::int64_t>(places);
    const auto set = cpu::find_set_bits(frame.at<const void>(x), dtype_, n_, frame.scratch, frame.pool);
    cpu::list_places(set, sizes_, size_, to, frame.pool);
    const auto rank = static_cast<std::int64_t>(sizes_.size());
    std::fill(to + std::min(size_, set.count()) * rank, to + size_ * rank, fill_);
  }

  Address x, places;

 private:
  std::int64_t size_, fill_;
  DType dtype_;
  Index sizes_;
  std::int64_t n_;
};

class MaskedScatterStep : public CpuStep {
 public:
  MaskedScatterStep(std::int64_t n, std::int64_t of_source, std::size_t bytes)
      : n_(n), of_source_(of_source), bytes_(bytes) {
    faults = 1;
    scratch_bytes = cpu::set_bits_bytes(n);
  }

  void compute(const CpuFrame& frame) const override {
    const auto set =
        cpu::find_set_bits(frame.at<const void>(mask), DType::boolean, n_, frame.scratch, frame.pool);
    if (set.count() > of_source_) return report_index(frame.faults[0], of_source_, of_source_, false);
    cpu::fill_in_order(set,
                       {.x = frame.at<const void>(x),
                        .source = frame.at<const void>(source),
                        .y = frame.at<void>(y),
                        .bytes = bytes_},
                       frame.pool);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address x, mask, source, y;

 private:
  std::int64_t n_, of_source_;
  std::size_t bytes_;
};

PlannedTensor dense_result(Planner& planner, const Node& node) {
  return planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                     [](const PlannedTensor& t) { return t.is_contiguous(); });
}

void emit_first_nonzero(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input()), places = dense_result(planner, node);
  auto step = std::make_unique<FirstNonZeroStep>(*node.as<FirstNonZero>(), x.dtype(), Index(x.shape()));
  step->x = x.address();
  step->places = places.address();
  planner.emit(std::move(step), node, {x}, {places});
}

void emit_masked_scatter(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input(0)), mask = planner.dense(node.input(1)),
                      source = planner.dense(node.input(2)), y = dense_result(planner, node);
  auto step = std::make_unique<MaskedScatterStep>(x.numel(), source.numel(), size_of(x.dtype()));
  step->x = x.address();
  step->mask = mask.address();
  step->source = source.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x, mask, source}, {y});
}

std::vector<Candidate> lower_masked(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (is_string(node.input()->dtype())) return {};
  const bool is_scatter = node.is<MaskedScatter>();
  double bytes = bytes_of(node.output()->type()), copies = 0;
  for (const Value* v : node.inputs()) {
    bytes += bytes_of(v->type());
    copies += planner.estimate_copy(v, [](const Strided& t) { return t.is_contiguous(); });
  }
  constexpr double operations = 50;  // of a product, in the time that an element takes
  const auto elements = static_cast<double>(numel(node.input()->shape()).value());
  return {{{.kernel = is_scatter ? "masked scatter" : "first nonzero",
            .work = {.bytes = bytes},
            .seconds = copies + planner.estimate(operations * elements, bytes)},
           is_scatter ? emit_masked_scatter : emit_first_nonzero}};
}

}  // namespace

std::vector<OpLowering> masked_lowerings() {
  return {{.op = &op_info<FirstNonZero>(), .lower = lower_masked, .alone = true},
          {.op = &op_info<MaskedScatter>(), .lower = lower_masked, .alone = true}};
}

}  // namespace tenon
