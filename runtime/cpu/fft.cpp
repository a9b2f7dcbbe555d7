// Fourier transforms of dense lines.
#include "kernels/cpu/fft.h"

#include "ir/ops/complex.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

template <class T>
class FftStep : public CpuStep {
 public:
  FftStep(cpu::FftTables<T> tables, long lines, long columns, int threads)
      : tables_(std::move(tables)), lines_(lines), columns_(columns) {
    scratch_bytes = cpu::fft_scratch_size(tables_, threads);
  }

  void compute(const CpuFrame& frame) const override {
    cpu::fft(cpu::FftLines<T>{&tables_, lines_, frame.at<const T>(x), frame.at<T>(y), columns_},
             frame.scratch, frame.pool);
  }

  Address x, y;

 private:
  cpu::FftTables<T> tables_;
  long lines_, columns_;
};

/// The two last axes swapped.
Order columns_order(std::size_t rank) {
  Order order = row_major(rank);
  if (rank > 1) std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

/// Of complex numbers whose lines lie side by side, as after a transform along another axis.
bool lies_in_columns(const Node& node, const Strided& x) {
  return node.is<Fft>() && x.rank() > 1 && !x.is_contiguous() &&
         x.permute(columns_order(x.rank())).is_contiguous();
}

struct FftCall {
  cpu::FftKind kind = cpu::FftKind::complex;
  bool inverse = false;
  long n = 0, lines = 0;
  DType dtype = DType::f32;  // of the parts

  explicit FftCall(const Node& node) {
    const Type &in = node.input()->type(), &out = node.output()->type();
    if (const auto* fft = node.as<Fft>()) inverse = fft->inverse;
    if (node.is<RealFft>()) kind = cpu::FftKind::real_to_half;
    if (node.is<RealOfFft>()) kind = cpu::FftKind::half_to_real, inverse = true;
    n = (node.is<RealOfFft>() ? out : in).shape.back().value();
    const std::int64_t elements = numel(in.shape).value();
    lines = elements == 0 ? 0 : elements / in.shape.back().value();
    dtype = in.dtype == DType::f64 || in.dtype == DType::c128 ? DType::f64 : DType::f32;
  }
};

template <class T>
void emit_of(Planner& planner, const Node& node, const FftCall& call) {
  const bool columns = lies_in_columns(node, planner.assignment().layout(node.input()));
  const std::size_t rank = node.input()->rank();
  const Order order = columns ? columns_order(rank) : row_major(rank);
  const PlannedTensor x = planner.dense(node.input(), order);
  const PlannedTensor y = planner.assignment().assign(
      node.output(), order, [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); });
  auto step = std::make_unique<FftStep<T>>(cpu::FftTables<T>(call.kind, call.inverse, call.n), call.lines,
                                           columns ? x.shape()[rank - 2] : 0, planner.threads());
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_fft(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const FftCall call(node);
  if (call.lines == 0 || call.n == 0) return {};
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  constexpr double operations = 50;  // of a product, in the time that a number takes
  const Work work{.flops = operations * static_cast<double>(call.lines * call.n), .bytes = bytes};
  const double copies = planner.estimate_copy(
      node.input(), [&](const Strided& t) { return t.is_contiguous() || lies_in_columns(node, t); });
  return {{{.kernel = "fft", .work = work, .seconds = copies + planner.estimate(work.flops, bytes)},
           [=](Planner& p, const Group& g) {
             (call.dtype == DType::f32 ? emit_of<float> : emit_of<double>)(p, g.node(), call);
           }}};
}

}  // namespace

std::vector<OpLowering> fft_lowerings() {
  return {{.op = &op_info<Fft>(), .lower = lower_fft, .alone = true},
          {.op = &op_info<RealFft>(), .lower = lower_fft, .alone = true},
          {.op = &op_info<RealOfFft>(), .lower = lower_fft, .alone = true}};
}

}  // namespace tenon
