// Sums of rows by index: index_add, alone or behind the gather and weighting of a graph network's edges.
#include "runtime/calls/aggregation.h"

#include <algorithm>

#include "ir/ops/index.h"
#include "kernels/cpu/spmm.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

/// Sorts the edges by target, with their sources and, where it has them, weights.
class SortEdgesStep : public CpuStep {
 public:
  explicit SortEdgesStep(const cpu::Edges& edges) : edges_(edges) {
    info.op = "index_add";
    info.kernel = "sort edges";
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    cpu::Edges edges = edges_;
    edges.targets.data = frame.at<const void>(targets);
    if (sources) edges.sources.data = frame.at<const void>(*sources);
    if (weights) edges.weights = frame.at<const float>(*weights);
    const long bad = cpu::sort_edges(edges, frame.at<void>(out), frame.scratch, frame.pool);
    if (bad < 0) return;
    for (const cpu::EdgeEnds& ends : {edges.targets, edges.sources}) {
      if (!ends.data) continue;
      const std::int64_t end = index_at(ends.data, ends.dtype, bad);
      if (!is_in_range(end, ends.range, ends.from_end))
        report_index(frame.faults[0], end, ends.range, ends.from_end);
    }
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address targets, out;
  std::optional<Address> sources, weights;

 private:
  cpu::Edges edges_;
};

class AggregateStep : public CpuStep {
 public:
  explicit AggregateStep(long rows) : rows_(rows) {}

  void compute(const CpuFrame& frame) const override {
    cpu::Spmm now = product;
    now.edges = cpu::sorted_edges_in(frame.at<const void>(edges), rows_);
    now.x = frame.at<const float>(x);
    if (weights) now.weights = frame.at<const float>(*weights);
    now.out = frame.at<float>(out);
    cpu::spmm(now, frame.pool);
    if (start) add_start(frame.at<const float>(*start), now.out, frame.pool);
  }

  Address edges, x, out;
  std::optional<Address> weights, start;
  long start_stride = 0;
  cpu::Spmm product;

 private:
  void add_start(const float* from, float* to, ThreadPool& pool) const {
    constexpr long rows_at_once = 64;
    pool.parallel_for((rows_ + rows_at_once - 1) / rows_at_once, [&](long chunk, int) {
      const long end = std::min(rows_, (chunk + 1) * rows_at_once);
      for (long r = chunk * rows_at_once; r < end; ++r)
        for (long f = 0; f < product.features; ++f)
          to[r * product.out_stride + f] += from[r * start_stride + f];
    });
  }

  long rows_;
};

bool is_zero(const std::optional<Tensor>& t) {
  if (!t) return false;
  const Tensor dense = t->contiguous();
  const auto* bytes = dense.bytes();
  return std::all_of(bytes, bytes + static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype()),
                     [](std::byte b) { return b == std::byte{0}; });
}

cpu::Edges edges_of(const Aggregation& a) {
  cpu::Edges edges{.count = a.edges,
                   .targets = {.dtype = a.targets->dtype(), .range = a.rows, .from_end = a.targets_from_end}};
  if (a.sources)
    edges.sources = {.dtype = a.sources->dtype(), .range = a.cols, .from_end = a.sources_from_end};
  return edges;
}

// One weight for each edge is sorted with the edges where that is done for all layers at once. Weights that
// are computed for one layer are read where they lie, so that layers with other weights share the order.
bool sorts_weights(const Planner& planner, const Aggregation& a) {
  return a.groups == 1 && (planner.assignment().constant(a.weights) || a.weights->uses().size() > 1);
}

// Edges that are constant are sorted while the plan is made; nullopt where one of them is wrong.
std::optional<PlannedTensor> sorted_now(Planner& planner, const Aggregation& a, const Value* weights) {
  const auto constant = [&](const Value* v) { return v ? planner.assignment().constant(v) : std::nullopt; };
  std::optional<Tensor> target = constant(a.targets), source = constant(a.sources),
                        weight = constant(weights);
  if (!target || (a.sources && !source) || (weights && !weight)) return std::nullopt;
  for (auto* t : {&target, &source, &weight})
    if (*t) *t = (*t)->contiguous();
  cpu::Edges edges = edges_of(a);
  edges.targets.data = target->bytes();
  if (source) edges.sources.data = source->bytes();
  if (weight) edges.weights = weight->data<float>();
  ThreadPool& pool = cpu_queue(planner.queue()).pool();
  Tensor sorted =
      Tensor::empty(DType::u8, {static_cast<std::int64_t>(cpu::sorted_edges_bytes(a.rows, a.edges))});
  std::vector<std::byte> scratch(cpu::sort_scratch_bytes(a.rows, pool.threads()));
  if (cpu::sort_edges(edges, sorted.mutable_bytes(), scratch.data(), pool) >= 0) return std::nullopt;
  return planner.constant(sorted);
}

PlannedTensor sorted_by_step(Planner& planner, const Aggregation& a, const Value* weights) {
  auto step = std::make_unique<SortEdgesStep>(edges_of(a));
  std::vector<PlannedTensor> reads;
  const auto read = [&](const Value* v) {
    reads.push_back(planner.dense(v));
    return reads.back().address();
  };
  step->targets = read(a.targets);
  if (a.sources) step->sources = read(a.sources);
  if (weights) step->weights = read(weights);
  const PlannedTensor sorted = planner.bytes(cpu::sorted_edges_bytes(a.rows, a.edges));
  step->out = sorted.address();
  step->scratch_bytes = cpu::sort_scratch_bytes(a.rows, planner.threads());
  planner.prepare(std::move(step), std::move(reads), {sorted});
  return sorted;
}

// The layers of a network share one list of edges.
PlannedTensor sorted_edges(Planner& planner, const Aggregation& a, const Value* weights) {
  return planner.derived({a.targets, a.sources, weights},
                         fmt::format("edges of a {}x{} matrix by row{}{}", a.rows, a.cols,
                                     a.targets_from_end ? ", rows counted from the end" : "",
                                     a.sources_from_end ? ", columns counted from the end" : ""),
                         [&] {
                           const auto sorted = sorted_now(planner, a, weights);
                           return sorted ? *sorted : sorted_by_step(planner, a, weights);
                         });
}

/// The value with contiguous rows of so many elements.
PlannedTensor in_rows(Planner& planner, const Value* v, std::int64_t elements) {
  const PlannedTensor at = planner.assignment().at(v);
  return Aggregation::row_stride(at, elements) ? at : planner.dense(v);
}

void emit(Planner& planner, const Group& group, const Aggregation& a) {
  const Value* result = group.node().output();
  const auto row_stride = [&](const PlannedTensor& t) { return Aggregation::row_stride(t, a.features); };
  std::vector<PlannedTensor> reads;
  const auto read = [&](const PlannedTensor& t) {
    reads.push_back(t);
    return t.address();
  };
  cpu::Spmm product{.features = a.features};
  auto step = std::make_unique<AggregateStep>(a.rows);
  product.entries_hold_weights = sorts_weights(planner, a);
  step->edges = read(sorted_edges(planner, a, product.entries_hold_weights ? a.weights : nullptr));
  step->x = read(in_rows(planner, a.x, a.features));
  product.x_stride = *row_stride(reads.back());
  if (a.weights && !product.entries_hold_weights) {
    step->weights = read(in_rows(planner, a.weights, a.groups));
    product.groups = a.groups;
    product.weights_stride = *Aggregation::row_stride(reads.back(), a.groups);
  }
  if (!is_zero(planner.assignment().constant(a.start))) {
    step->start = read(in_rows(planner, a.start, a.features));
    step->start_stride = *row_stride(reads.back());
  }
  const PlannedTensor out = planner.assignment().assign(
      result, row_major(result->rank()), [&](const PlannedTensor& t) { return row_stride(t).has_value(); });
  product.out_stride = *row_stride(out);
  step->product = product;
  step->out = out.address();
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

std::vector<Candidate> lower_aggregation(const Planner& planner, const Group& group) {
  const auto a = Aggregation::match(group);
  if (!a || group.node().output()->dtype() != DType::f32) return {};
  const auto fits = [](const Value* v) { return !v || v->dtype() == DType::i64 || v->dtype() == DType::i32; };
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (!fits(a->targets) || !fits(a->sources) || std::max({a->rows, a->edges, a->cols}) >= limit) return {};
  const Work work = a->work();
  const double copies = planner.estimate_copy(
      a->x, [&](const Strided& t) { return Aggregation::row_stride(t, a->features).has_value(); });
  // Layers share what sorts their edges; where a row is one number, that takes longer than all else.
  constexpr double operations_of_sorting = 300;  // of a product, in the time that an edge takes
  const bool counts_sorting = a->features == 1 && !planner.assignment().constant(a->targets);
  const double sorting = counts_sorting ? operations_of_sorting * static_cast<double>(a->edges) : 0;
  const CandidateInfo info{.kernel = "sparse product",
                           .work = work,
                           .seconds = copies + planner.estimate(work.flops + sorting, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *a); }}};
}

}  // namespace

std::vector<OpLowering> aggregation_lowerings() { return {{&op_info<IndexAdd>(), lower_aggregation}}; }

}  // namespace tenon
