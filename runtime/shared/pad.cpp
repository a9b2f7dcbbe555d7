// Padding with a constant, and resizing by whole factors: copies from broadcast sources.
#include "ir/ops/interpolate.h"
#include "ir/ops/shape.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

Order order_like(const Strided& tensor) {
  return is_channels_last(tensor) ? channels_last(tensor.rank()) : row_major(tensor.rank());
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// The factors that a nearest-neighbour resize repeats each spatial place by. Only powers of two: their
// reciprocals are exact, so that every rounding rule names the same source.
std::optional<Index> repeats(const Interpolate& op, const Index& in) {
  if (op.mode != InterpolateMode::nearest || op.align_corners) return std::nullopt;
  Index factors;
  for (std::size_t i = 0; i < op.output.size(); ++i) {
    const std::int64_t factor = in[2 + i] > 0 ? op.output[i].value() / in[2 + i] : 0;
    if (!is_power_of_two(factor) || factor * in[2 + i] != op.output[i].value()) return std::nullopt;
    const bool given = i < op.scales.size() && op.scales[i] > 0;
    if (given && op.scales[i] != static_cast<double>(factor)) return std::nullopt;
    factors.push_back(factor);
  }
  return factors;
}

void emit_pad(Planner& planner, const Group& group) {
  const auto& op = *group.node().as<Pad>();
  const Value* out = group.node().output();
  const PlannedTensor in = planner.assignment().at(group.node().input());
  const std::size_t rank = in.rank();
  const PlannedTensor whole = planner.assignment().assign(out, order_like(in));
  planner.copy(planner.constant(Tensor::scalar(out->dtype(), op.value)).expand(whole.shape()), whole,
               &group.node());
  PlannedTensor from = in, to = whole;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const std::int64_t before = op.pads[i].value(), after = op.pads[rank + i].value();
    const std::int64_t kept =
        in.shape()[i] + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
    if (kept <= 0) return;
    from = from.slice(axis, std::max<std::int64_t>(-before, 0), std::max<std::int64_t>(-before, 0) + kept);
    to = to.slice(axis, std::max<std::int64_t>(before, 0), std::max<std::int64_t>(before, 0) + kept);
  }
  planner.copy(from, to, &group.node());
}

void emit_repeat(Planner& planner, const Group& group, const Index& factors) {
  const PlannedTensor in = planner.assignment().at(group.node().input());
  const PlannedTensor out = planner.assignment().assign(group.node().output(), order_like(in));
  // Each spatial axis as [place, repeat]: the source does not move along the repeats.
  Index split{in.shape()[0], in.shape()[1]}, single = split;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    split.insert(split.end(), {in.shape()[2 + i], factors[i]});
    single.insert(single.end(), {in.shape()[2 + i], 1});
  }
  planner.copy(in.view_as(single).expand(split), out.view_as(split), &group.node());
}

CandidateInfo copies(const Planner& planner, const Group& group) {
  const double bytes = bytes_of(group.node().input()->type()) + bytes_of(group.node().output()->type());
  return {.kernel = "copies", .work = {.bytes = bytes}, .seconds = planner.estimate(0, bytes)};
}

std::vector<Candidate> lower_pad(const Planner& planner, const Group& group) {
  const auto* op = group.node().as<Pad>();
  if (!op || op->mode != PadMode::constant) return {};
  return {{copies(planner, group), emit_pad}};
}

std::vector<Candidate> lower_repeat(const Planner& planner, const Group& group) {
  const auto* op = group.node().as<Interpolate>();
  const auto factors = op ? repeats(*op, eval(group.node().input()->shape(), {})) : std::nullopt;
  if (!factors) return {};
  return {{copies(planner, group), [=](Planner& p, const Group& g) { emit_repeat(p, g, *factors); }}};
}

}  // namespace

std::vector<OpLowering> pad_lowerings() {
  return {{.op = &op_info<Pad>(), .lower = lower_pad, .alone = true},
          {.op = &op_info<Interpolate>(), .lower = lower_repeat, .alone = true}};
}

}  // namespace tenon
