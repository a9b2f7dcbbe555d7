// Products with a constant matrix of 8- or 4-bit integers that stand for (code - zero point) * scale: it
// stays in these bits.
#include "runtime/cpu/quantized_matmul.h"

#include <algorithm>

#include "ir/ops/linear.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/integer_gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/calls/number_grid.h"
#include "runtime/calls/quantized_matmul.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/quantized_pack.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

// A product of floats that stand for integers by codes that have 8 bits without their zero points: a
// convolution whose pixels lie below each other.
struct ByteProduct : cpu::GridGemm {
  ConvShape shape() const { return {.Cin = K, .Cout = N, .h = {.in = M}}; }
};

std::size_t scratch_bytes(const cpu::QuantizedGemm& g, int threads) {
  return static_cast<std::size_t>(cpu::quantized_gemm_scratch_size(g, threads)) * sizeof(float);
}
std::size_t scratch_bytes(const cpu::GridGemm& g, int) {
  return static_cast<std::size_t>(cpu::integer_scratch_size(g.M, g.N, g.K)) * sizeof(float);
}
std::size_t scratch_bytes(const ByteProduct& g, int) {
  return static_cast<std::size_t>(cpu::byte_conv_scratch_size(g.shape())) * sizeof(float);
}
void multiply(const cpu::QuantizedGemm& g, float* scratch, ThreadPool& pool) {
  cpu::quantized_gemm(g, scratch, pool);
}
void multiply(const cpu::GridGemm& g, float* scratch, ThreadPool& pool) { cpu::grid_gemm(g, scratch, pool); }

void multiply(const ByteProduct& g, float* scratch, ThreadPool& pool) {
  cpu::byte_conv(g.shape(),
                 {.in = g.a,
                  .in_stride = g.a_stride,
                  .in_scale = g.a_scale,
                  .least = g.least,
                  .packed = g.packed_b,
                  .out = g.c,
                  .out_stride = g.c_stride,
                  .epilogue = g.epilogue,
                  .schedule = g.schedule},
                 scratch, pool);
}

Knobs knobs_of(const cpu::QuantizedGemm& g) { return cpu::quantized_gemm_knobs(g); }
Knobs knobs_of(const cpu::GridGemm&) { return cpu::row_gemm_knobs; }

template <class Gemm>
class QuantizedGemmStep : public CpuStep {
 public:
  QuantizedGemmStep(const Gemm& sizes, CpuEpilogue epilogue) : sizes_(sizes), epilogue_(std::move(epilogue)) {
    faults = epilogue_.match().residual_rows ? 1 : 0;
  }

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    Gemm g = sizes_;
    g.a = frame.at<const float>(a);
    g.packed_b = frame.at<std::remove_pointer_t<decltype(g.packed_b)>>(b);
    g.c = frame.at<float>(c);
    g.epilogue = epilogue_.bind(frame, running);
    if (epilogue_.find_rows(frame, g.epilogue, g.M, frame.scratch + gemm_bytes))
      multiply(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address a, b, c;
  std::size_t gemm_bytes = 0;  // of scratch; the rows of the residual come behind

 private:
  Gemm sizes_;
  CpuEpilogue epilogue_;
};

struct QuantizedCall : QuantizedMatmulCall {
  cpu::QuantizedForm form;

  cpu::QuantizedGemm gemm() const { return {.M = M, .N = matrix.N(), .form = form.panels}; }
  std::size_t weight_bytes() const {
    return static_cast<std::size_t>(cpu::quantized_bytes(form.panels, matrix.N()));
  }
};

PlannedTensor packed_for(Planner& planner, const QuantizedCall& call, const cpu::QuantizedGemm&) {
  const auto fill = [&](const Tensor&, std::byte* target) {
    cpu::pack_quantized(call.form, call.matrix.N(), numbers_of(call.matrix), target,
                        cpu_queue(planner.queue()).pool());
  };
  return planner.constant(
      planner.weights().packed(call.matrix.first_weight(), call.matrix.text(), call.weight_bytes(), fill));
}

PlannedTensor packed_for(Planner& planner, const QuantizedCall& call, const cpu::GridGemm&) {
  return packed_bytes(planner, call.matrix);
}

PlannedTensor packed_for(Planner& planner, const QuantizedCall& call, const ByteProduct& product) {
  const QuantizedMatrix& matrix = call.matrix;
  return packed_floats(planner, matrix.first_weight(), "product of bytes of " + matrix.text(),
                       cpu::byte_conv_packed_size(product.shape()),
                       [&](const Tensor&, float* to, ThreadPool& pool) {
                         cpu::pack_byte_conv(product.shape(), numbers_of(matrix), to, pool);
                       });
}

std::optional<QuantizedCall> match(const Planner& planner, const Group& group) {
  auto call = QuantizedMatmulCall::match(planner, group);
  if (!call) return std::nullopt;
  const auto form = cpu::QuantizedForm::of(call->matrix.K(), call->matrix.group(), call->range);
  if (!form) return std::nullopt;
  return QuantizedCall{std::move(*call), *form};
}

template <class Gemm>
void emit(Planner& planner, const Group& group, const QuantizedCall& call, Gemm sizes, CpuEpilogue epilogue,
          const CandidateInfo& info) {
  const Order& order = info.order;
  const PlannedTensor right = packed_for(planner, call, sizes);
  const PlannedTensor a = planner.rows(call.x, row_major(call.x->rank()));
  const PlannedTensor c = epilogue.match().assign_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {a, right});
  sizes.a_stride = *row_stride(a, row_major(a.rank()));
  sizes.c_stride = *row_stride(c, order);
  sizes.schedule = planner.schedule();
  const std::size_t gemm_bytes = scratch_bytes(sizes, planner.threads());
  const std::size_t rows_bytes = epilogue.scratch_bytes(sizes.M);
  auto step = std::make_unique<QuantizedGemmStep<Gemm>>(sizes, std::move(epilogue));
  step->a = a.address();
  step->b = right.address();
  step->c = c.address();
  step->scratch_bytes = gemm_bytes + rows_bytes;
  step->gemm_bytes = gemm_bytes;
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

// Are sums of K integers on the left times codes without their zero points exact?
bool fits_32_bits(const NumberGrid& left, const QuantizedCall& call) {
  const double least = left.least, largest = least + 255;
  const std::int64_t farthest = std::max(std::abs(call.range.least_code - call.range.largest_zero),
                                         std::abs(call.range.largest_code - call.range.least_zero));
  const double sum = static_cast<double>(call.matrix.K()) * std::max(std::abs(least), std::abs(largest)) *
                     static_cast<double>(farthest);
  return sum < 2147483648.0;
}

bool has_8_bits_without_zero_points(const CodeRange& codes) {
  return codes.least_code - codes.largest_zero >= -128 && codes.largest_code - codes.least_zero <= 127;
}

std::vector<Candidate> lower_quantized_matmul(const Planner& planner, const Group& group) {
  const auto call = match(planner, group);
  if (!call || call->x->dtype() != DType::f32) return {};
  const Order order = row_major(call->anchor->output()->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order, {.gathers = true});
  if (!epilogue) return {};
  const std::int64_t M = call->M, N = call->matrix.N(), K = call->matrix.K();
  Work work = call->work(static_cast<double>(call->weight_bytes()));
  work.bytes += epilogue->match().bytes();
  const double copies = planner.estimate_copy(
      call->x, [](const Strided& t) { return row_stride(t, row_major(t.rank())).has_value(); });
  std::vector<Candidate> candidates;
  const auto add = [&](const auto& gemm, const std::string& kernel, double cost, ArithmeticKind arithmetic) {
    work.arithmetic = arithmetic;
    const CandidateInfo info{
        .kernel = kernel + " gemm" + epilogue->text(),
        .work = work,
        .seconds = copies + planner.estimate(cost, work.bytes),
        .order = order,
        .weights = kernel + " panels",
        .weight_bytes = call->weight_bytes(),
        .scratch_bytes = scratch_bytes(gemm, planner.threads()) + epilogue->scratch_bytes(M),
        .knobs = knobs_of(gemm)};
    candidates.push_back(
        {info, [=](Planner& p, const Group& g) { emit(p, g, *call, gemm, *epilogue, info); }});
  };
  add(call->gemm(), fmt::format("int{}", call->form.panels.bits), work.flops, ArithmeticKind::f32);
  // Integers on both sides: their products are four times as fast, what is around them is not.
  const auto grid = grid_of(call->x);
  if (grid && call->matrix.group() == K && K <= cpu::integer_gemm_depth && fits_32_bits(*grid, *call)) {
    const cpu::GridGemm gemm{.M = M, .N = N, .K = K, .a_scale = grid->scale, .least = grid->least};
    const ByteProduct product{gemm};
    const double cost = work.flops / 4 + 16.0 * static_cast<double>(M) * static_cast<double>(N + K);
    if (cpu::byte_conv_supports(product.shape()) && cpu::byte_conv_pays(product.shape()) &&
        has_8_bits_without_zero_points(call->range))
      add(product, "byte", cost, ArithmeticKind::i8);
    else
      add(gemm, "byte", cost, ArithmeticKind::i8);
  }
  return candidates;
}

}  // namespace

std::vector<OpLowering> quantized_matmul_lowerings() {
  return {{.op = &op_info<Linear>(), .lower = lower_quantized_matmul, .widens = true},
          {.op = &op_info<MatMul>(), .lower = lower_quantized_matmul, .widens = true}};
}

bool has_quantized_kernel(const Planner& planner, const Group& group) {
  return !lower_quantized_matmul(planner, group).empty();
}

}  // namespace tenon
