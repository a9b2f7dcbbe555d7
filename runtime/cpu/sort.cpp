// Sorting, the first few along an axis, and the most frequent.
#include "ir/ops/sort.h"

#include "kernels/cpu/sort.h"
#include "runtime/calls/one_of_line.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class SortStep : public CpuStep {
 public:
  explicit SortStep(const cpu::SortLines& sort) : sort_(sort) {}

  void compute(const CpuFrame& frame) const override {
    cpu::SortLines sort = sort_;
    sort.x = frame.at<const void>(x);
    sort.values = frame.at<void>(values);
    sort.places = frame.at<std::int64_t>(places);
    if (ranks) sort.ranks = frame.at<const std::int64_t>(*ranks);
    cpu::sort_lines(sort, frame.scratch, frame.pool);
  }

  Address x, values, places;
  std::optional<Address> ranks;

 private:
  cpu::SortLines sort_;
};

struct SortCall {
  cpu::SortLines lines;
  Order order;                   // the axis last
  const Value* ranks = nullptr;  // of the elements that are read, one of each line
};

std::optional<SortCall> sort_call(const Node& node) {
  SortCall call;
  std::int64_t axis = 0;
  if (const auto* sort = node.as<Sort>()) {
    axis = sort->axis;
    call.lines.descending = sort->descending;
  } else if (const auto* top = node.as<TopK>()) {
    axis = top->axis;
    call.lines.descending = top->largest;
    call.lines.sorted = top->sorted;
  } else if (const auto* mode = node.as<Mode>()) {
    axis = mode->axis;
    call.lines.part = cpu::LinePart::mode;
  } else {
    return std::nullopt;
  }
  const Value& x = *node.input();
  if (x.rank() == 0 || numel(x.shape()).value() == 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  call.lines.dtype = x.dtype();
  call.lines.length = x.shape()[at].value();
  call.lines.lines = numel(x.shape()).value() / call.lines.length;
  call.lines.k = node.is<Mode>() ? 1 : node.output()->shape()[at].value();
  // A few are in order, as those of PyTorch are.
  constexpr std::int64_t few = 64;
  call.lines.sorted = call.lines.sorted || few * call.lines.k <= call.lines.length;
  if (const auto one = one_of_line(node); one && call.lines.k > 1) {
    call.lines.part = cpu::LinePart::one;
    call.ranks = one->ranks;
  }
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != at) call.order.push_back(static_cast<std::int64_t>(d));
  call.order.push_back(axis);
  return call;
}

/// Of the results: that of the lines, or what is left without the axis.
Order order_of(const SortCall& call, const Value& result) {
  return result.rank() == call.order.size() ? call.order : row_major(result.rank());
}

void emit(Planner& planner, const Node& node, const SortCall& call, std::size_t scratch_bytes) {
  const Order order = order_of(call, *node.output());
  const auto is_dense = [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); };
  const PlannedTensor x = planner.dense(node.input(), call.order);
  const PlannedTensor values = planner.assignment().assign(node.output(0), order, is_dense);
  const PlannedTensor places = planner.assignment().assign(node.output(1), order, is_dense);
  auto step = std::make_unique<SortStep>(call.lines);
  step->x = x.address();
  step->values = values.address();
  step->places = places.address();
  step->scratch_bytes = scratch_bytes;
  std::vector<PlannedTensor> reads{x};
  if (call.ranks) {
    reads.push_back(planner.dense(call.ranks));
    step->ranks = reads.back().address();
  }
  planner.emit(std::move(step), node, std::move(reads), {values, places});
}

std::vector<Candidate> lower_sort(const Planner& planner, const Group& group) {
  const auto call = sort_call(group.node());
  if (!call) return {};
  const double elements = static_cast<double>(call->lines.lines) * static_cast<double>(call->lines.length);
  const bool is_mode = group.node().is<Mode>();
  const bool is_one = call->lines.part == cpu::LinePart::one;
  const bool is_whole = !is_mode && !is_one && call->lines.k == call->lines.length && call->lines.sorted;
  const double operations = is_whole ? 600 : 100;  // of a product, in the time that one element takes
  const Work work{.bytes = bytes_of(group.node().input()->type()) + bytes_of(group.node().output(0)->type()) +
                           bytes_of(group.node().output(1)->type()),
                  .rows = call->lines.lines,
                  .columns = call->lines.length};
  const double copies = planner.estimate_copy(
      group.node().input(), [&](const Strided& t) { return t.permute(call->order).is_contiguous(); });
  const std::size_t scratch = cpu::sort_scratch_size(call->lines, planner.threads());
  const CandidateInfo info{.kernel = is_mode    ? "mode"
                                     : is_one   ? "one of each line"
                                     : is_whole ? "sort"
                                                : "top k",
                           .work = work,
                           .seconds = copies + planner.estimate(operations * elements, work.bytes),
                           .scratch_bytes = scratch};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g.node(), *call, scratch); }}};
}

}  // namespace

std::vector<OpLowering> sort_lowerings() {
  return {{.op = &op_info<Sort>(), .lower = lower_sort, .alone = true},
          {.op = &op_info<TopK>(), .lower = lower_sort, .alone = true},
          {.op = &op_info<Mode>(), .lower = lower_sort, .alone = true}};
}

}  // namespace tenon
