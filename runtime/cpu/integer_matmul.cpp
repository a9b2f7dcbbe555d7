// Products of 32-bit integers by a constant matrix of 8-bit ones: what quantised models compute.
#include "ir/ops/linear.h"
#include "kernels/cpu/integer_gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/calls/quantized_matmul.h"
#include "runtime/cpu/quantized_pack.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class IntegerGemmStep : public CpuStep {
 public:
  explicit IntegerGemmStep(const cpu::IntegerGemm& sizes) : sizes_(sizes) {}

  void compute(const CpuFrame& frame) const override {
    cpu::IntegerGemm g = sizes_;
    g.a = frame.at<const std::int32_t>(a);
    g.packed_b = frame.at<const float>(b);
    g.c = frame.at<std::int32_t>(c);
    g.schedule = schedule;
    cpu::integer_gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  Address a, b, c;

 private:
  cpu::IntegerGemm sizes_;
};

void emit(Planner& planner, const Node& node, const QuantizedMatrix& matrix, const CandidateInfo& info,
          cpu::IntegerGemm sizes) {
  const Value* x = node.input(0);
  const PlannedTensor right = packed_bytes(planner, matrix);
  const PlannedTensor a = planner.rows(x, row_major(x->rank()));
  const PlannedTensor c = planner.assignment().assign_rows(node.output(), info.order);
  sizes.a_stride = *row_stride(a, row_major(a.rank()));
  sizes.c_stride = *row_stride(c, info.order);
  auto step = std::make_unique<IntegerGemmStep>(sizes);
  step->a = a.address();
  step->b = right.address();
  step->c = c.address();
  step->scratch_bytes = info.scratch_bytes;
  planner.emit(std::move(step), node, {a, right}, {c});
}

std::vector<Candidate> lower_integer_matmul(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const bool is_linear = node.is<Linear>();
  if (node.output()->dtype() != DType::i32 || node.inputs().size() > 2) return {};
  const auto matrix = QuantizedMatrix::match(node.input(1), is_linear);
  if (!matrix || matrix->group() != matrix->K() || matrix->K() > cpu::integer_gemm_depth ||
      !code_range(planner.weights(), *matrix))
    return {};
  const std::int64_t K = matrix->K(), N = matrix->N(), M = numel(node.output()->shape()).value() / N;
  if (M == 0) return {};
  const cpu::IntegerGemm sizes{.M = M, .N = N, .K = K};
  const Work work{
      .flops = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K),
      .bytes = bytes_of(node.input(0)->type()) + static_cast<double>(K * N) + bytes_of(node.output()->type()),
      .rows = M,
      .columns = N,
      .depth = K,
      .arithmetic = ArithmeticKind::i8};
  const CandidateInfo info{
      .kernel = "byte gemm",
      .work = work,
      .seconds = planner.estimate(work.flops / 2, work.bytes),
      .order = row_major(node.output()->rank()),
      .weights = "bytes",
      .weight_bytes = static_cast<std::size_t>(cpu::packed_integers_size(K, N)) * sizeof(float),
      .scratch_bytes =
          static_cast<std::size_t>(cpu::integer_scratch_size(sizes.M, sizes.N, sizes.K)) * sizeof(float),
      .knobs = cpu::row_gemm_knobs};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g.node(), *matrix, info, sizes); }}};
}

}  // namespace

std::vector<OpLowering> integer_matmul_lowerings() {
  return {{.op = &op_info<Linear>(), .lower = lower_integer_matmul, .alone = true},
          {.op = &op_info<MatMul>(), .lower = lower_integer_matmul, .alone = true}};
}

}  // namespace tenon
