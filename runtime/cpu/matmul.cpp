// Products with a constant matrix: linear, and matmul by a weight. It is packed once, or, in a plan that runs
// once, while it is used.
#include "runtime/calls/matmul.h"

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/strassen.h"
#include "runtime/constant_value.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/quantized_matmul.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

class GemmStep : public CpuStep {
 public:
  GemmStep(const cpu::Gemm& sizes, CpuEpilogue epilogue) : sizes_(sizes), epilogue_(std::move(epilogue)) {
    faults = epilogue_.match().residual_rows ? 1 : 0;
  }

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    cpu::Gemm g = sizes_;
    if (a_is_half)
      g.a_halves = frame.at<const std::uint16_t>(a);
    else
      g.a = frame.at<const float>(a);
    if (packed) g.packed_b = frame.at<const float>(*packed);
    if (b) g.b.data = frame.at<const void>(*b);
    if (c_is_half)
      g.c_halves = frame.at<std::uint16_t>(c);
    else
      g.c = frame.at<float>(c);
    g.epilogue = epilogue_.bind(frame, running);
    if (epilogue_.find_rows(frame, g.epilogue, g.M, frame.scratch + packing_bytes))
      cpu::gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  /// Of scratch: where the rows of the residual are found.
  std::size_t rows_bytes() const { return epilogue_.scratch_bytes(sizes_.M); }

  Address a, c;
  std::optional<Address> packed, b;           // as pack_b packed it, and as it is
  bool a_is_half = false, c_is_half = false;  // in memory: bfloat16
  std::size_t packing_bytes = 0;              // of scratch; the rows of the residual come behind

 private:
  cpu::Gemm sizes_;
  CpuEpilogue epilogue_;
};

/// How B is packed.
enum class Packing { before, in_pieces, in_sums, while_used };

cpu::MatrixB matrix_of(const Tensor& weight, Packing packing) {
  return {.data = weight.bytes(),
          .k_stride = weight.strides()[0],
          .n_stride = weight.strides()[1],
          .type = weight.dtype(),
          .in_pieces = packing == Packing::in_pieces,
          .in_sums = packing == Packing::in_sums};
}

/// Of its left side, are the numbers those of bfloat16?
bool has_bf16_rows(const MatmulCall& call) {
  return call.x->dtype() == DType::bf16 || is_widened_from(call.x, DType::bf16);
}

cpu::Gemm gemm_of(const MatmulCall& call, Packing packing, const Schedule& schedule = {}) {
  return {.M = call.M,
          .N = call.N,
          .K = call.K,
          .a_is_bf16 = has_bf16_rows(call),
          .b = matrix_of(call.weight, packing),
          .schedule = schedule};
}

std::size_t packing_scratch(const cpu::Gemm& gemm, Packing packing, int threads) {
  if (packing == Packing::before || packing == Packing::in_pieces) return 0;
  return static_cast<std::size_t>(cpu::gemm_scratch_size(gemm, threads)) * sizeof(float);
}

const char* packed_form(Packing packing) {
  switch (packing) {
    case Packing::before: return "gemm";
    case Packing::in_pieces: return "gemm in pieces";
    case Packing::in_sums: return "strassen";
    case Packing::while_used: break;
  }
  return "";
}

std::size_t packed_bytes(const Tensor& weight, Packing packing) {
  if (packing == Packing::while_used) return 0;
  const Index& s = weight.shape();
  return static_cast<std::size_t>(cpu::packed_b_size(s[0], s[1], matrix_of(weight, packing))) * sizeof(float);
}

PlannedTensor packed_matrix(Planner& planner, const Tensor& weight, Packing packing) {
  const std::int64_t K = weight.shape()[0], N = weight.shape()[1];
  return packed_floats(planner, weight, packed_form(packing),
                       cpu::packed_b_size(K, N, matrix_of(weight, packing)),
                       [&](const Tensor& w, float* to, ThreadPool& pool) {
                         cpu::pack_b(K, N, matrix_of(w, packing), to, pool);
                       });
}

/// Is B better packed in pieces than as it is?
bool runs_pieces(const MatmulCall& call) {
  return call.weight.dtype() == DType::f32 && call.x->dtype() == DType::f32 &&
         cpu::gemm_runs_pieces(call.M, call.N, call.K) &&
         cpu::fits_pieces(call.K, call.N, matrix_of(call.weight, Packing::in_pieces));
}

/// Is B better packed in sums?
bool runs_sums(const MatmulCall& call) {
  return call.weight.dtype() == DType::f32 && call.x->dtype() == DType::f32 &&
         cpu::strassen_pays(call.M, call.N, call.K);
}

/// Is it packed before a run? Is it read as it is?
bool is_packed(Packing packing) { return packing != Packing::while_used; }
bool reads_weights(Packing packing) { return packing == Packing::while_used || packing == Packing::in_sums; }

/// The share of a plain product's time that one with B packed so takes.
double time_of(Packing packing, const MatmulCall& call) {
  switch (packing) {
    case Packing::in_pieces: return 0.67;  // 0.53 to 0.8 (docs/performance.md#amx)
    case Packing::in_sums: return cpu::strassen_time(call.M, call.N, call.K);
    default: return 1;
  }
}

void emit(Planner& planner, const Group& group, const MatmulCall& call, CpuEpilogue epilogue, Packing packing,
          const CandidateInfo& info) {
  const Order& order = info.order;
  std::vector<PlannedTensor> right;
  if (is_packed(packing)) right.push_back(packed_matrix(planner, call.weight, packing));
  if (reads_weights(packing)) right.push_back(planner.constant(call.weight));
  const PlannedTensor a = planner.rows(call.x, row_major(call.x->rank()));
  const PlannedTensor c = epilogue.match().assign_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.push_back(a);
  reads.insert(reads.end(), right.begin(), right.end());
  cpu::Gemm sizes = gemm_of(call, packing, planner.schedule());
  const std::size_t packing_bytes = packing_scratch(sizes, packing, planner.threads());
  sizes.a_stride = *row_stride(a, row_major(a.rank()));
  sizes.c_stride = *row_stride(c, order);
  auto step = std::make_unique<GemmStep>(sizes, std::move(epilogue));
  step->a = a.address();
  if (is_packed(packing)) step->packed = right.front().address();
  if (reads_weights(packing)) step->b = right.back().address();
  step->c = c.address();
  step->a_is_half = a.dtype() == DType::bf16;
  step->c_is_half = c.dtype() == DType::bf16;
  step->scratch_bytes = packing_bytes + step->rows_bytes();
  step->packing_bytes = packing_bytes;
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

/// Does the CPU multiply rows of bfloat16 so deep, and write such, too?
bool multiplies_halves(std::int64_t depth) {
  return cpu::runs_dot_of_bf16() && depth <= cpu::RowGemm::max_depth;
}

/// A product of bfloat16 by a weight.
bool multiplies_halves_by_weight(const Node& member, const Group& group) {
  const Value *const x = group.outer(member.input(0)), *const weight = group.outer(member.input(1));
  return member.output()->dtype() == DType::bf16 && x->dtype() == DType::bf16 &&
         !ConstantValue(x).is_constant() && weight->kind() == Value::Kind::weight &&
         weight->dtype() == DType::bf16 && weight->rank() == 2 &&
         multiplies_halves(x->shape().back().value());
}

std::vector<Candidate> lower_matmul(const Planner& planner, const Group& group) {
  if (has_quantized_kernel(planner, group)) return {};
  auto call = MatmulCall::match(planner, group);
  if (!call) call = MatmulCall::match_halves(planner, group);
  if (!call || call->anchor->input(0)->dtype() != DType::f32 || call->K == 0) return {};
  const Type& result = group.results()[0]->type();
  const bool has_halves = call->x->dtype() == DType::bf16 || result.dtype == DType::bf16;
  if (has_halves && !(call->weight.dtype() == DType::bf16 && multiplies_halves(call->K))) return {};
  const Order order = row_major(call->anchor->output()->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order,
                                      {.gathers = true, .halves = has_halves});
  if (!epilogue) return {};
  Work work = call->work();
  if (has_bf16_rows(*call) && call->weight.dtype() == DType::bf16) work.arithmetic = ArithmeticKind::bf16;
  work.bytes += epilogue->match().bytes() + bytes_of(result) - bytes_of(call->anchor->output()->type());
  const double copies = planner.estimate_copy(
      call->x, [](const Strided& t) { return row_stride(t, row_major(t.rank())).has_value(); });
  // Packed while it is used, a panel is written to the cache; packed before, the matrix goes through memory.
  const double weight_bytes = bytes_of(call->weight);
  std::vector<Candidate> candidates;
  for (const Packing packing : {Packing::before, Packing::in_pieces, Packing::in_sums, Packing::while_used}) {
    if (packing == Packing::in_pieces && (planner.runs_once() || !runs_pieces(*call))) continue;
    if (packing == Packing::in_sums && (planner.runs_once() || !runs_sums(*call))) continue;
    const bool packs_once = is_packed(packing) && planner.runs_once();
    const double packing_traffic = packs_once ? 3 * weight_bytes : is_packed(packing) ? 0 : weight_bytes;
    const std::size_t packing_bytes = packing_scratch(gemm_of(*call, packing), packing, planner.threads());
    const CandidateInfo info{
        .kernel = (is_packed(packing) ? packed_form(packing) : "packing gemm") + epilogue->text(),
        .work = work,
        .seconds =
            copies + planner.estimate(work.flops * time_of(packing, *call), work.bytes + packing_traffic),
        .order = order,
        .weights = packed_form(packing),
        .weight_bytes = packed_bytes(call->weight, packing),
        .scratch_bytes = packing_bytes + epilogue->scratch_bytes(call->M),
        .knobs = packing == Packing::in_sums ? cpu::strassen_knobs : cpu::row_gemm_knobs};
    candidates.push_back(
        {info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, packing, info); }});
  }
  return candidates;
}

}  // namespace

std::vector<OpLowering> matmul_lowerings() {
  const auto lowering = [](const OpInfo& op) {
    return OpLowering{.op = &op,
                      .lower = lower_matmul,
                      .widens = true,
                      .reads_halves = multiplies_halves_by_weight,
                      .writes_halves = multiplies_halves_by_weight};
  };
  return {lowering(op_info<Linear>()), lowering(op_info<MatMul>())};
}

}  // namespace tenon
