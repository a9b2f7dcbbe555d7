// Sums of rows by index: index_add, alone or behind the gather and weighting of a graph network's edges.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/index.h"
#include "ir/ops/slices_by_index.h"
#include "kernels/cpu/spmm.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

// out[target] = start[target] + sum of weight * x[source] over the edges. Values of the graph's body.
struct Aggregation {
  const Value* start = nullptr;
  const Value* targets = nullptr;
  const Value* x = nullptr;
  const Value* sources = nullptr;  // null: edge i takes row i
  bool targets_from_end = false;   // negative targets count from the end
  bool sources_from_end = false;   // negative sources count from the end
  const Value* weights = nullptr;  // null: 1
};

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
    frame.faults[0].report(bad);
    std::memset(frame.at<void>(out), 0, cpu::csr_bytes(coo.rows, coo.edges));  // no edges
  }

  std::optional<Error> failure(std::span<const Fault> found) const override {
    return error("edge {} has an index outside of [{}, {}) or [{}, {})", found[0].value,
                 coo_.row_from_end ? -coo_.rows : 0, coo_.rows, coo_.col_from_end ? -coo_.cols : 0,
                 coo_.cols);
  }

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

std::optional<Aggregation> match(const Group& group) {
  const Node* add = group.members().back();
  const auto* op = add->as<IndexAdd>();
  if (!op || op->axis != 0) return std::nullopt;
  Aggregation a{.start = group.outer(add->input(0)),
                .targets = group.outer(add->input(1)),
                .x = add->input(2),
                .targets_from_end = op->from_end};
  std::size_t matched = 1;
  const auto inside = [&](const Value* v) { return group.contains(v) && v->uses().size() == 1; };
  if (inside(a.x) && a.x->node()->is<Mul>()) {  // x * weight[edge, 1]
    const Node& mul = *a.x->node();
    const auto weighs = [&](const Value* v) {
      return !group.contains(v) && v->rank() == a.x->rank() && v->shape()[0] == a.x->shape()[0] &&
             numel(v->shape()) == a.x->shape()[0];
    };
    const std::size_t weight = weighs(mul.input(1)) && !inside(mul.input(1)) ? 1 : 0;
    const Value* rows = mul.input(1 - weight);
    if (!weighs(mul.input(weight)) || rows->shape() != a.x->shape()) return std::nullopt;
    a.weights = group.outer(mul.input(weight));
    a.x = rows;
    ++matched;
  }
  if (const auto slices = inside(a.x) ? slices_by_index(*a.x->node()) : std::nullopt) {
    const Node& gather = *a.x->node();
    if (slices->axis != 0 || gather.input(1)->rank() != 1) return std::nullopt;
    a.sources = group.outer(gather.input(1));
    a.sources_from_end = slices->from_end;
    a.x = gather.input(0);
    ++matched;
  }
  if (matched != group.members().size() || group.contains(a.x)) return std::nullopt;
  a.x = group.outer(a.x);
  return a;
}

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
  const auto constant = [&](const Value* v) { return v ? planner.places().constant(v) : std::nullopt; };
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
  step->scratch_bytes = cpu::csr_scratch_bytes(coo.rows, planner.queue().threads());
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

}  // namespace

bool make_index_add(Planner& planner, const Group& group) {
  const auto a = match(group);
  const Value* result = group.node().output();
  if (!a || group.results().size() != 1 || result->dtype() != DType::f32) return false;
  const DType index = a->targets->dtype();
  const bool indices_fit =
      (index == DType::i64 || index == DType::i32) && (!a->sources || a->sources->dtype() == index);
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const std::int64_t rows = result->shape()[0].value(), edges = numel(a->targets->shape()).value();
  const std::int64_t cols = a->x->shape()[0].value();
  if (!indices_fit || rows == 0 || edges == 0 || numel(result->shape()) == 0) return false;
  if (rows >= limit || edges >= limit || cols >= limit) return false;

  // Rows are what lies behind the first axis.
  const std::int64_t features = numel(result->shape()).value() / rows;
  const auto as_rows = [&](const PlannedTensor& t) -> std::optional<std::int64_t> {
    Index strides;
    const bool fits = t.can_view_as({t.shape()[0], features}, &strides) && (features == 1 || strides[1] == 1);
    return fits ? std::optional(strides[0]) : std::nullopt;
  };
  const auto in_rows = [&](const Value* v) {
    return as_rows(planner.places().at(v)) ? planner.places().at(v) : planner.dense(v);
  };
  const PlannedTensor x = in_rows(a->x);
  const PlannedTensor sorted = sorted_edges(planner, *a,
                                            {.rows = rows,
                                             .cols = cols,
                                             .edges = edges,
                                             .index_dtype = index,
                                             .row_from_end = a->targets_from_end,
                                             .col_from_end = a->sources_from_end});
  const PlannedTensor out = planner.places().place(
      result, row_major(result->rank()), [&](const PlannedTensor& t) { return as_rows(t).has_value(); });

  auto step = std::make_unique<AggregateStep>(
      rows, cpu::Spmm{.features = features, .x_stride = *as_rows(x), .out_stride = *as_rows(out)});
  std::vector<PlannedTensor> reads{x, sorted};
  step->x = x.address();
  step->edges = sorted.address();
  step->out = out.address();
  if (!is_zero(planner.places().constant(a->start))) {
    reads.push_back(in_rows(a->start));
    step->start = reads.back().address();
    step->start_stride = *as_rows(reads.back());
  }
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
  return true;
}

}  // namespace tenon
