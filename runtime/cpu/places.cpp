#include "runtime/cpu/places.h"

#include "kernels/cpu/index_places.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

class PlacesStep : public CpuStep {
 public:
  explicit PlacesStep(const cpu::IndexPlaces& index) : index_(index) {
    info.op = info.kernel = "find places";
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    cpu::IndexPlaces index = index_;
    for (std::size_t k = 0; k < index.count; ++k) index.terms[k].indices = frame.at<const void>(indices[k]);
    index.places = frame.at<std::int64_t>(places);
    if (const auto wrong = cpu::index_places(index, frame.pool))
      report_index(frame.faults[0], wrong->index, index.terms[wrong->term].range, true);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  std::array<Address, cpu::IndexPlaces::max_terms> indices;
  Address places;

 private:
  cpu::IndexPlaces index_;
};

cpu::IndexPlaces::Dims dims_of(const Index& values) {
  cpu::IndexPlaces::Dims dims = {};
  std::copy(values.begin(), values.end(), dims.begin());
  return dims;
}

}  // namespace

std::optional<IndexedRows> IndexedRows::match(const Value* x, const Axes& axes,
                                              std::span<Value* const> indices) {
  if (is_string(x->dtype()) || axes.size() > cpu::IndexPlaces::max_terms) return std::nullopt;
  std::vector<Type> types;
  for (const Value* v : indices) {
    types.push_back(v->type());
    if (v->dtype() != DType::i64 && v->dtype() != DType::i32) return std::nullopt;
  }
  IndexedRows found{
      .x = x, .axes = axes, .indices = indices, .places = eval(index_places(x->type(), axes, types), {})};
  const std::size_t front = places_front(axes), last = front + axes.size();
  const bool neighbours =
      front == static_cast<std::size_t>(axes[0]) && static_cast<std::size_t>(axes.back()) + 1 == last;
  found.order = neighbours ? row_major(x->rank()) : listed_first(x->rank(), axes);
  const Index sizes = eval(x->shape(), {});
  for (std::size_t i = 0; i < sizes.size(); ++i)
    (i < front  ? found.outer
     : i < last ? found.rows
                : found.row) *= sizes[static_cast<std::size_t>(found.order[i])];
  const bool is_empty = found.outer * found.rows * found.row * found.count() == 0;
  return is_empty || found.places.size() > cpu::IndexPlaces::max_rank ? std::nullopt : std::optional(found);
}

PlannedTensor numbers_of_rows(Planner& planner, const IndexedRows& rows) {
  Index steps(rows.axes.size());
  std::int64_t step = 1;
  for (std::size_t k = steps.size(); k-- > 0;) {
    steps[k] = step;
    step *= rows.x->shape()[static_cast<std::size_t>(rows.axes[k])].value();
  }
  return offsets_of_rows(planner, rows, steps);
}

PlannedTensor offsets_of_rows(Planner& planner, const IndexedRows& rows,
                              std::span<const std::int64_t> steps) {
  const std::int64_t count = rows.count();
  const PlannedTensor memory = planner.bytes(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  const PlannedTensor numbers(memory.buffer(), Strided(DType::i64, {count}, {1}, 0));
  cpu::IndexPlaces index{.rank = rows.places.size(), .dims = dims_of(rows.places), .count = rows.axes.size()};
  std::vector<PlannedTensor> reads;
  for (std::size_t k = 0; k < index.count; ++k) {
    const std::int64_t size = rows.x->shape()[static_cast<std::size_t>(rows.axes[k])].value();
    const PlannedTensor indices = planner.assignment().at(rows.indices[k]).expand(rows.places);
    index.terms[k] = {
        .dtype = indices.dtype(), .strides = dims_of(indices.strides()), .range = size, .step = steps[k]};
    reads.push_back(indices);
  }
  auto made = std::make_unique<PlacesStep>(index);
  for (std::size_t k = 0; k < index.count; ++k) made->indices[k] = reads[k].address();
  made->places = numbers.address();
  planner.prepare(std::move(made), reads, {numbers});
  return numbers;
}

double estimate_numbers_of_rows(const Planner& planner, const IndexedRows& rows) {
  constexpr double operations = 50;  // of a product, in the time that an index takes
  const auto count = static_cast<double>(rows.count());
  return planner.estimate(operations * count * static_cast<double>(rows.axes.size()),
                          count * sizeof(std::int64_t));
}

}  // namespace tenon
