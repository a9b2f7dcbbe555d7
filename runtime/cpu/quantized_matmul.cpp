// Products with a constant matrix of 8- or 4-bit integers that stand for (code - zero point) * scale: it
// stays in these bits.
#include "runtime/cpu/quantized_matmul.h"

#include <algorithm>
#include <new>

#include "ir/ops/linear.h"
#include "kernels/cpu/quantized_gemm.h"
#include "runtime/calls/quantized_matrix.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

class QuantizedGemmStep : public CpuStep {
 public:
  QuantizedGemmStep(const cpu::QuantizedGemm& sizes, CpuEpilogue epilogue)
      : sizes_(sizes), epilogue_(std::move(epilogue)) {
    faults = epilogue_.match().residual_rows ? 1 : 0;
  }

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    cpu::QuantizedGemm g = sizes_;
    g.a = frame.at<const float>(a);
    g.packed_b = frame.at<const std::byte>(b);
    g.c = frame.at<float>(c);
    g.epilogue = epilogue_.bind(frame, running);
    if (epilogue_.find_rows(frame, g.epilogue, g.M, frame.scratch + gemm_bytes))
      cpu::quantized_gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address a, b, c;
  std::size_t gemm_bytes = 0;  // of scratch; the rows of the residual come behind

 private:
  cpu::QuantizedGemm sizes_;
  CpuEpilogue epilogue_;
};

struct QuantizedCall {
  const Node* anchor;
  const Value* x;
  QuantizedMatrix matrix;
  cpu::QuantizedForm form;
  std::int64_t M;

  cpu::QuantizedGemm gemm() const { return {.M = M, .N = matrix.N(), .form = form.panels}; }
  double weight_bytes() const { return static_cast<double>(cpu::quantized_bytes(form.panels, matrix.N())); }
};

std::optional<cpu::QuantizedForm> form_of(const QuantizedMatrix& matrix) {
  const auto& numbers = matrix.numbers();
  if (!numbers) return std::nullopt;
  cpu::CodeRange range{numbers->least_code, numbers->largest_code, 0, 0};
  if (!numbers->zeros.empty()) {
    const auto [least, largest] = std::minmax_element(numbers->zeros.begin(), numbers->zeros.end());
    range.least_zero = *least;
    range.largest_zero = *largest;
  }
  return cpu::QuantizedForm::of(matrix.K(), matrix.group(), range);
}

// Found once for all plans.
std::optional<cpu::QuantizedForm> known_form(const Planner& planner, const QuantizedMatrix& matrix) {
  using Form = std::optional<cpu::QuantizedForm>;
  static_assert(std::is_trivially_copyable_v<Form>);
  const Tensor stored =
      planner.weights().packed(matrix.first_weight(), "form of " + matrix.text(), sizeof(Form),
                               [&](const Tensor&, std::byte* target) { new (target) Form(form_of(matrix)); });
  return *reinterpret_cast<const Form*>(stored.bytes());
}

PlannedTensor packed_matrix(Planner& planner, const QuantizedCall& call) {
  const auto fill = [&](const Tensor&, std::byte* target) {
    const QuantizedNumbers& numbers = *call.matrix.numbers();
    const cpu::QuantizedB b{.codes = numbers.codes.bytes(),
                            .type = numbers.codes.dtype(),
                            .k_offsets = numbers.places.rows.data(),
                            .n_offsets = numbers.places.columns.data(),
                            .scales = numbers.scales.data(),
                            .zeros = numbers.zeros.empty() ? nullptr : numbers.zeros.data()};
    cpu::pack_quantized(call.form, call.matrix.N(), b, target, cpu_queue(planner.queue()).pool());
  };
  const auto bytes = static_cast<std::size_t>(cpu::quantized_bytes(call.form.panels, call.matrix.N()));
  return planner.constant(
      planner.weights().packed(call.matrix.first_weight(), call.matrix.text(), bytes, fill));
}

std::optional<QuantizedCall> match(const Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  const bool is_linear = anchor != nullptr;
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) return std::nullopt;
  auto matrix = QuantizedMatrix::match(group.outer(anchor->input(1)), is_linear);
  if (!matrix) return std::nullopt;
  const auto form = known_form(planner, *matrix);
  const Shape& result = anchor->output()->shape();
  const std::int64_t M = numel(result).value() / matrix->N();
  if (!form || M == 0) return std::nullopt;
  return QuantizedCall{anchor, group.outer(anchor->input(0)), std::move(*matrix), *form, M};
}

void emit(Planner& planner, const Group& group, const QuantizedCall& call, CpuEpilogue epilogue,
          const CandidateInfo& info, std::size_t gemm_bytes) {
  const Order& order = info.order;
  const PlannedTensor right = packed_matrix(planner, call);
  const PlannedTensor a = planner.rows(call.x, row_major(call.x->rank()));
  const PlannedTensor c = epilogue.match().assign_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {a, right});
  cpu::QuantizedGemm sizes = call.gemm();
  sizes.a_stride = *row_stride(a, row_major(a.rank()));
  sizes.c_stride = *row_stride(c, order);
  auto step = std::make_unique<QuantizedGemmStep>(sizes, std::move(epilogue));
  step->a = a.address();
  step->b = right.address();
  step->c = c.address();
  step->scratch_bytes = info.scratch_bytes;
  step->gemm_bytes = gemm_bytes;
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

std::vector<Candidate> lower_quantized_matmul(const Planner& planner, const Group& group) {
  const auto call = match(planner, group);
  if (!call || call->x->dtype() != DType::f32) return {};
  const Order order = row_major(call->anchor->output()->rank());
  const Value* bias = call->anchor->inputs().size() > 2 ? call->anchor->input(2) : nullptr;
  const auto epilogue = find_epilogue(planner, group, *call->anchor, bias, order, true);
  if (!epilogue) return {};
  const std::int64_t M = call->M, N = call->matrix.N(), K = call->matrix.K();
  const Work work{.flops = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K),
                  .bytes = bytes_of(call->x->type()) + call->weight_bytes() +
                           bytes_of(call->anchor->output()->type()) + epilogue->match().bytes(),
                  .rows = M,
                  .columns = N,
                  .depth = K};
  const double copies = planner.estimate_copy(
      call->x, [](const Strided& t) { return row_stride(t, row_major(t.rank())).has_value(); });
  const std::size_t gemm_bytes =
      static_cast<std::size_t>(cpu::quantized_gemm_scratch_size(call->gemm(), planner.threads())) *
      sizeof(float);
  const CandidateInfo info{
      .kernel = fmt::format("int{} gemm{}", call->form.panels.bits, epilogue->match().text()),
      .work = work,
      .seconds = copies + planner.estimate(work.flops, work.bytes),
      .order = order,
      .weights = fmt::format("int{} panels", call->form.panels.bits),
      .scratch_bytes = gemm_bytes + epilogue->scratch_bytes(M)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, info, gemm_bytes); }}};
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
