// Convolutions and transposed convolutions in f32 with constant weights.
#include "kernels/cpu/conv.h"

#include <algorithm>

#include "ir/ops/conv.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class ConvStep : public CpuStep {
 public:
  ConvStep(cpu::ConvShape shape, cpu::ConvAlgorithm algorithm, GroupEpilogue epilogue)
      : shape_(shape), algorithm_(algorithm), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    GroupEpilogue::Running running;
    const cpu::ConvRun run{.in = frame.at<const float>(in),
                           .in_stride = in_stride,
                           .packed = frame.at<const float>(packed),
                           .weights = weights ? frame.at<const float>(*weights) : nullptr,
                           .out = frame.at<float>(out),
                           .out_stride = out_stride,
                           .epilogue = epilogue_.bind(frame, running),
                           .scratch = reinterpret_cast<float*>(frame.scratch)};
    cpu::conv(shape_, algorithm_, run, frame.pool);
  }

  Address in, packed, out;
  std::optional<Address> weights;
  long in_stride = 0, out_stride = 0;

 private:
  cpu::ConvShape shape_;
  cpu::ConvAlgorithm algorithm_;
  GroupEpilogue epilogue_;
};

// The last spatial dim is w, the one before h, the one before that d.
cpu::ConvAxis& axis_of(cpu::ConvShape& shape, std::size_t dim, std::size_t dims) {
  cpu::ConvAxis* axes[] = {&shape.w, &shape.h, &shape.d};
  return *axes[dims - 1 - dim];
}

template <class T>
cpu::ConvShape shape_of(const T& op, const Index& x, const Index& weight) {
  constexpr bool transposed = std::is_same_v<T, ConvTranspose>;
  const std::size_t dims = x.size() - 2;
  cpu::ConvShape shape;
  shape.N = x[0];
  shape.Cin = x[1];
  shape.Cout = transposed ? weight[1] * op.groups : weight[0];
  shape.groups = op.groups;
  shape.transposed = transposed;
  const Axes stride = spatial("stride", op.stride, dims);
  const Axes dilation = spatial("dilation", op.dilation, dims);
  const Pads pads = spatial_pads(op.pad, dims);
  for (std::size_t i = 0; i < dims; ++i) {
    cpu::ConvAxis& axis = axis_of(shape, i, dims);
    axis.in = x[2 + i];
    axis.kernel = weight[2 + i];
    axis.stride = stride[i];
    axis.dilation = dilation[i];
    axis.pad_before = pads.begin[i];
    axis.pad_after = pads.end[i];
    if constexpr (transposed) axis.output_padding = spatial("output_pad", op.output_pad, dims)[i];
  }
  return shape;
}

std::string form_of(const cpu::ConvShape& s, cpu::ConvAlgorithm algorithm) {
  std::string form =
      fmt::format("{} {} {} {} {}", cpu::name(algorithm), s.transposed, s.Cin, s.Cout, s.groups);
  for (const cpu::ConvAxis& a : {s.d, s.h, s.w})
    form += fmt::format(", {} {} {}", a.kernel, a.stride, a.dilation);
  return form;
}

// The packer sees what the form says and nothing else.
PlannedTensor packed_weights(Planner& planner, const Tensor& weights, const cpu::ConvShape& shape,
                             cpu::ConvAlgorithm algorithm) {
  const cpu::ConvShape s = cpu::packing_shape(shape);
  return packed_floats(planner, weights, form_of(s, algorithm), cpu::conv_packed_size(s, algorithm),
                       [&](const Tensor& w, float* to, ThreadPool& pool) {
                         cpu::pack_conv(s, algorithm, w.contiguous().data<float>(), to, pool);
                       });
}

// In the order in which PyTorch writes them.
PlannedTensor dense_weights(Planner& planner, const Tensor& weights) {
  if (weights.is_contiguous()) return planner.constant(weights);
  return packed_floats(planner, weights, "dense", weights.numel(),
                       [](const Tensor& w, float* to, ThreadPool&) {
                         std::copy_n(w.contiguous().data<float>(), w.numel(), to);
                       });
}

template <class T>
bool make(Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<T>());
  if (!anchor) return false;
  const Value* x = group.outer(anchor->input(0));
  const std::optional<Tensor> weights = planner.places().constant(group.outer(anchor->input(1)));
  const std::size_t rank = x->rank();
  if (x->dtype() != DType::f32 || !weights || rank < 3 || rank > 5) return false;
  const Order order = channels_last(rank);
  const Value* bias = anchor->inputs().size() > 2 ? anchor->input(2) : nullptr;
  auto epilogue = GroupEpilogue::find(planner, group, *anchor, bias, order);
  if (!epilogue) return false;

  const cpu::ConvShape shape = shape_of(*anchor->as<T>(), planner.places().at(x).shape(), weights->shape());
  const int threads = planner.queue().threads();
  const cpu::ConvAlgorithm algorithm = cpu::choose_conv(shape, threads);
  if (!cpu::conv_supports(shape, algorithm)) return false;
  const PlannedTensor packed = packed_weights(planner, *weights, shape, algorithm);

  const PlannedTensor in = planner.rows(x, order);
  const PlannedTensor out = epilogue->place_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  auto step = std::make_unique<ConvStep>(shape, algorithm, *epilogue);
  step->in = in.address();
  step->in_stride = *row_stride(in, order);
  step->packed = packed.address();
  step->out = out.address();
  step->out_stride = *row_stride(out, order);
  step->scratch_bytes =
      static_cast<std::size_t>(cpu::conv_scratch_size(shape, algorithm, threads)) * sizeof(float);
  step->info.kernel = std::string(cpu::name(algorithm)) + epilogue->text();
  std::vector<PlannedTensor> reads = epilogue->reads();
  reads.insert(reads.end(), {in, packed});
  if (cpu::conv_reads_weights(shape, algorithm)) {
    reads.push_back(dense_weights(planner, *weights));
    step->weights = reads.back().address();
  }
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
  return true;
}

}  // namespace

bool make_conv(Planner& planner, const Group& group) { return make<Conv>(planner, group); }
bool make_conv_transpose(Planner& planner, const Group& group) { return make<ConvTranspose>(planner, group); }

}  // namespace tenon
