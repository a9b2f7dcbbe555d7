// Sums of rows by index: index_add, alone or behind the gather and weighting of a graph network's edges.
#include "runtime/calls/aggregation.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/ops/index.h"
#include "kernels/cpu/spmm.h"
#include "runtime/cpu/index_fault.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

/// Sorts the edges by target, with their sources and weights.
class SortEdgesStep : public CpuStep {
 public:
  explicit SortEdgesStep(const cpu::Coo& coo) : coo_(coo) {
    info.op = "index_add";
    info.kernel = "sort edges";
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    cpu::Coo coo = coo_;
    coo.row = frame.at<const void>(targets);
    coo.col = frame.at<const void>(sources);
    if (weights) coo.weight = frame.at<const float>(*weights);
    const long bad = cpu::csr_from_coo(coo, frame.at<void>(out), frame.scratch, frame.pool);
    if (bad < 0) return;
    const std::int64_t target = index_at(coo.row, coo.index_dtype, bad);
    const std::int64_t source = index_at(coo.col, coo.index_dtype, bad);
    if (!is_in_range(target, coo.rows, coo.row_from_end))
      report_index(frame.faults[0], target, coo.rows, coo.row_from_end);
    else
      report_index(frame.faults[0], source, coo.cols, coo.col_from_end);
    std::memset(frame.at<void>(out), 0, cpu::csr_bytes(coo.rows, coo.edges));  // no edges
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address targets, sources, out;
  std::optional<Address> weights;

 private:
  cpu::Coo coo_;
};

class AggregateStep : public CpuStep {
 public:
  AggregateStep(long rows, const cpu::Spmm& product) : rows_(rows), product_(product) {
    info.kernel = "sparse product";
  }

  void compute(const CpuFrame& frame) const override {
    cpu::Spmm product = product_;
    product.matrix = cpu::csr_in(frame.at<const void>(edges), rows_);
    product.x = frame.at<const float>(x);
    product.out = frame.at<float>(out);
    cpu::spmm(product, frame.pool);
    if (start) add_start(frame.at<const float>(*start), product, frame.pool);
  }

  Address edges, x, out;
  std::optional<Address> start;
  long start_stride = 0;

 private:
  void add_start(const float* from, const cpu::Spmm& product, ThreadPool& pool) const {
    constexpr long rows_at_once = 64;
    pool.parallel_for((rows_ + rows_at_once - 1) / rows_at_once, [&](long chunk, int) {
      const long end = std::min(rows_, (chunk + 1) * rows_at_once);
      for (long r = chunk * rows_at_once; r < end; ++r)
        for (long f = 0; f < product.features; ++f)
          product.out[r * product.out_stride + f] += from[r * start_stride + f];
    });
  }

  long rows_;
  cpu::Spmm product_;
};

bool is_zero(const std::optional<Tensor>& t) {
  if (!t) return false;
  const Tensor dense = t->contiguous();
  const auto* bytes = dense.bytes();
  return std::all_of(bytes, bytes + static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype()),
                     [](std::byte b) { return b == std::byte{0}; });
}

// 0, 1, ..., count - 1
Tensor each_row(std::int64_t count, DType dtype) {
  Tensor rows = Tensor::empty(DType::i64, {count});
  std::iota(rows.mutable_data<std::int64_t>(), rows.mutable_data<std::int64_t>() + count, std::int64_t{0});
  return rows.to(dtype);
}

// Edges that are all constant are sorted while the plan is made; nullopt where one of them is wrong.
std::optional<PlannedTensor> sorted_now(Planner& planner, const Aggregation& a, cpu::Coo coo) {
  const auto constant = [&](const Value* v) { return v ? planner.assignment().constant(v) : std::nullopt; };
  std::optional<Tensor> targets = constant(a.targets), sources = constant(a.sources),
                        weights = constant(a.weights);
  if (!a.sources) sources = each_row(coo.edges, coo.index_dtype);
  if (!targets || !sources || (a.weights && !weights)) return std::nullopt;
  for (auto* t : {&targets, &sources, &weights})
    if (*t) *t = (*t)->contiguous();
  coo.row = targets->bytes();
  coo.col = sources->bytes();
  if (weights) coo.weight = weights->data<float>();
  ThreadPool& pool = cpu_queue(planner.queue()).pool();
  Tensor sorted = Tensor::empty(DType::u8, {static_cast<std::int64_t>(cpu::csr_bytes(coo.rows, coo.edges))});
  std::vector<std::byte> scratch(cpu::csr_scratch_bytes(coo.rows, pool.threads()));
  if (cpu::csr_from_coo(coo, sorted.mutable_bytes(), scratch.data(), pool) >= 0) return std::nullopt;
  return planner.constant(sorted);
}

PlannedTensor sorted_by_step(Planner& planner, const Aggregation& a, const cpu::Coo& coo) {
  auto step = std::make_unique<SortEdgesStep>(coo);
  std::vector<PlannedTensor> reads{planner.dense(a.targets)};
  reads.push_back(a.sources ? planner.dense(a.sources)
                            : planner.constant(each_row(coo.edges, coo.index_dtype)));
  step->targets = reads[0].address();
  step->sources = reads[1].address();
  if (a.weights) {
    reads.push_back(planner.dense(a.weights));
    step->weights = reads.back().address();
  }
  const PlannedTensor sorted = planner.bytes(cpu::csr_bytes(coo.rows, coo.edges));
  step->out = sorted.address();
  step->scratch_bytes = cpu::csr_scratch_bytes(coo.rows, planner.threads());
  planner.prepare(std::move(step), std::move(reads), {sorted});
  return sorted;
}

// The layers of a network share one list of edges.
PlannedTensor sorted_edges(Planner& planner, const Aggregation& a, const cpu::Coo& coo) {
  return planner.derived({a.targets, a.sources, a.weights},
                         fmt::format("edges of a {}x{} matrix by row{}{}", coo.rows, coo.cols,
                                     a.targets_from_end ? ", rows counted from the end" : "",
                                     a.sources_from_end ? ", columns counted from the end" : ""),
                         [&] {
                           const auto sorted = sorted_now(planner, a, coo);
                           return sorted ? *sorted : sorted_by_step(planner, a, coo);
                         });
}

PlannedTensor in_rows(Planner& planner, const Aggregation& a, const Value* v) {
  const PlannedTensor at = planner.assignment().at(v);
  return a.row_stride(at) ? at : planner.dense(v);
}

cpu::Coo coo_of(const Aggregation& a) {
  return {.rows = a.rows,
          .cols = a.cols,
          .edges = a.edges,
          .index_dtype = a.targets->dtype(),
          .row_from_end = a.targets_from_end,
          .col_from_end = a.sources_from_end};
}

void emit(Planner& planner, const Group& group, const Aggregation& a) {
  const Value* result = group.node().output();
  const PlannedTensor x = in_rows(planner, a, a.x);
  const PlannedTensor sorted = sorted_edges(planner, a, coo_of(a));
  const PlannedTensor out = planner.assignment().assign(
      result, row_major(result->rank()), [&](const PlannedTensor& t) { return a.row_stride(t).has_value(); });
  auto step = std::make_unique<AggregateStep>(
      a.rows,
      cpu::Spmm{.features = a.features, .x_stride = *a.row_stride(x), .out_stride = *a.row_stride(out)});
  std::vector<PlannedTensor> reads{x, sorted};
  step->x = x.address();
  step->edges = sorted.address();
  step->out = out.address();
  if (!is_zero(planner.assignment().constant(a.start))) {
    reads.push_back(in_rows(planner, a, a.start));
    step->start = reads.back().address();
    step->start_stride = *a.row_stride(reads.back());
  }
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

std::vector<Candidate> lower_aggregation(const Planner& planner, const Group& group) {
  const auto a = Aggregation::match(group);
  if (!a || group.node().output()->dtype() != DType::f32) return {};
  const DType index = a->targets->dtype();
  const bool indices_fit =
      (index == DType::i64 || index == DType::i32) && (!a->sources || a->sources->dtype() == index);
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (!indices_fit || std::max({a->rows, a->edges, a->cols}) >= limit) return {};
  const Work work = a->work();
  const double copies =
      planner.estimate_copy(a->x, [&](const Strided& t) { return a->row_stride(t).has_value(); });
  const CandidateInfo info{
      .kernel = "sparse product", .work = work, .seconds = copies + planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *a); }}};
}

}  // namespace

std::vector<OpLowering> aggregation_lowerings() { return {{&op_info<IndexAdd>(), lower_aggregation}}; }

}  // namespace tenon
