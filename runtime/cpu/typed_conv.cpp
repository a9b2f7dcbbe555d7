// Convolutions in float64 and of integers.
#include "kernels/cpu/typed_conv.h"

#include "ir/ops/conv.h"
#include "runtime/calls/conv.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

template <class T>
class TypedConvStep : public CpuStep {
 public:
  TypedConvStep(const ConvShape& shape, int threads) : shape_(shape) {
    scratch_bytes = cpu::typed_conv_scratch_size<T>(shape_, threads);
  }

  void compute(const CpuFrame& frame) const override {
    const cpu::TypedConv<T> conv{.shape = shape_,
                                 .x = frame.at<const T>(x),
                                 .weights = frame.at<const T>(weights),
                                 .bias = bias ? frame.at<const T>(*bias) : nullptr,
                                 .y = frame.at<T>(y)};
    cpu::typed_conv(conv, frame.scratch, frame.pool);
  }

  Address x, weights, y;
  std::optional<Address> bias;

 private:
  ConvShape shape_;
};

template <class T>
void emit_of(Planner& planner, const Group& group, const ConvCall& call) {
  const Node& node = group.node();
  std::vector<PlannedTensor> reads{planner.dense(call.x), planner.dense(call.weights_value)};
  auto step = std::make_unique<TypedConvStep<T>>(call.shape, planner.threads());
  step->x = reads[0].address();
  step->weights = reads[1].address();
  if (call.bias) {
    reads.push_back(planner.dense(group.outer(call.bias)));
    step->bias = reads.back().address();
  }
  const PlannedTensor y =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  step->y = y.address();
  planner.emit(std::move(step), node, std::move(reads), {y});
}

using Emit = void (*)(Planner&, const Group&, const ConvCall&);
Emit emit_for(DType dtype) {
  switch (dtype) {
    case DType::f64: return emit_of<double>;
    case DType::i32: return emit_of<std::int32_t>;
    case DType::i64: return emit_of<std::int64_t>;
    default: return nullptr;
  }
}

std::vector<Candidate> lower_typed_conv(const Planner& planner, const Group& group) {
  const DType dtype = group.node().output()->dtype();
  const Emit emit = emit_for(dtype);
  if (!emit) return {};
  const auto call = ConvCall::match_any_weights(planner, group);
  if (!call || call->shape.flops() == 0) return {};
  const Work work = call->work();
  const double wider = static_cast<double>(size_of(dtype)) / sizeof(float);
  return {{{.kernel = "typed convolution",
            .work = work,
            .seconds = planner.estimate(1.5 * wider * work.flops, work.bytes)},
           [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace

std::vector<OpLowering> typed_conv_lowerings() {
  return {{.op = &op_info<Conv>(), .lower = lower_typed_conv, .alone = true},
          {.op = &op_info<ConvTranspose>(), .lower = lower_typed_conv, .alone = true}};
}

}  // namespace tenon
