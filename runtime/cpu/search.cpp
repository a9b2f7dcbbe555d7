// search_sorted.
#include "kernels/cpu/search.h"

#include "ir/ops/sort.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class SearchStep : public CpuStep {
 public:
  SearchStep(const cpu::SearchRow& first, long lines) : first_(first), lines_(lines) {}

  void compute(const CpuFrame& frame) const override {
    cpu::SearchRow first = first_;
    first.row = frame.at<const void>(rows);
    first.values = frame.at<const void>(values);
    first.places = frame.at<std::int64_t>(places);
    cpu::search_rows(first, lines_, frame.pool);
  }

  Address rows, values, places;

 private:
  cpu::SearchRow first_;
  long lines_;
};

void emit_search(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor rows = planner.dense(node.input(0)), values = planner.dense(node.input(1));
  const PlannedTensor places = planner.assignment().assign(
      node.output(), row_major(values.rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  const long length = rows.shape().back(), lines = rows.rank() == 1 ? 1 : rows.numel() / length;
  auto step = std::make_unique<SearchStep>(cpu::SearchRow{.dtype = rows.dtype(),
                                                          .right = node.as<SearchSorted>()->right,
                                                          .length = length,
                                                          .count = values.numel() / lines},
                                           lines);
  step->rows = rows.address();
  step->values = values.address();
  step->places = places.address();
  planner.emit(std::move(step), node, {rows, values}, {places});
}

std::vector<Candidate> lower_search(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Value &rows = *node.input(0), &values = *node.input(1);
  const DType dtype = rows.dtype();
  const bool has_type = dtype == DType::f32 || dtype == DType::f64 || is_integral(dtype) || is_bool(dtype);
  if (!has_type || numel(rows.shape()) == Dim(0) || numel(values.shape()) == Dim(0)) return {};
  const double elements = static_cast<double>(numel(values.shape()).value());
  const Work work{.bytes = bytes_of(rows.type()) + bytes_of(values.type()) + bytes_of(node.output()->type())};
  double copies = 0;
  for (const Value* v : node.inputs())
    copies += planner.estimate_copy(v, [](const Strided& t) { return t.is_contiguous(); });
  constexpr double operations = 500;  // of a product, in the time that one value takes
  return {{{.kernel = "search",
            .work = work,
            .seconds = copies + planner.estimate(operations * elements, work.bytes)},
           emit_search}};
}

}  // namespace

std::vector<OpLowering> search_lowerings() {
  return {{.op = &op_info<SearchSorted>(), .lower = lower_search, .alone = true, .widens = true}};
}

}  // namespace tenon
