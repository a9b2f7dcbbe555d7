#include "runtime/gpu/placed_fold.h"

#include "runtime/calls/gather.h"
#include "runtime/complex_parts.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

PlacedFold of_parts(PlacedFold f) {
  if (!is_complex(f.x.dtype())) return f;
  const DType part = f.x.dtype() == DType::c64 ? DType::f32 : DType::f64;
  for (PlannedTensor* t : {&f.x, &f.values, &f.result}) {
    const Index shape{t->shape()[0], t->shape()[1], 2 * t->shape()[2]};
    *t = in_parts(*t, part).view_as(shape);
  }
  return f;
}

}  // namespace

bool folds_rows(PlacedReduce reduce, DType t) {
  if (is_complex(t))
    return reduce == PlacedReduce::last || reduce == PlacedReduce::sum || reduce == PlacedReduce::mean;
  return can_fold(reduce, t) && bits_of(t);
}

void emit_placed_fold(Planner& planner, const Node& node, const PlacedEntries& entries,
                      const PlacedFold& fold) {
  const PlacedFold f = of_parts(fold);
  const Index& shape = f.result.shape();
  const std::int64_t features = shape[2];
  const DType dtype = f.reduce == PlacedReduce::last ? *bits_of(f.x.dtype()) : f.x.dtype();
  const PlacedForm form = placed_form(dtype, f.reduce, f.weights.has_value(), features,
                                      entries.numbers.numel() / std::max<std::int64_t>(1, shape[1]));
  const std::int64_t lines = form.vector * form.lanes;
  const std::int64_t items = shape[0] * shape[1] * ((features + lines - 1) / lines);
  const auto stride = [&](const PlannedTensor& t, std::size_t axis) {
    return t.shape()[axis] > 1 ? t.strides()[axis] : 0;
  };
  const std::int64_t fields[] = {shape[0],
                                 shape[1],
                                 features,
                                 stride(f.x, 0),
                                 stride(f.x, 1),
                                 stride(f.result, 0),
                                 stride(f.result, 1),
                                 stride(f.values, 0),
                                 stride(f.values, 1),
                                 f.with_self,
                                 f.weights ? stride(*f.weights, 0) : 0,
                                 f.weights ? f.weights->shape()[1] : 1};
  std::vector<PlannedTensor> reads{f.x, entries.starts, entries.rows, f.values};
  if (f.weights) reads.insert(reads.end(), {entries.numbers, *f.weights});
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(f.result);
  const std::int64_t at_once = form.rows_at_once();
  emit(planner, node,
       {.name = {},
        .kernel = {.source = placed_fold_source(form),
                   .name = "placed_fold",
                   .size = blocks_of((items + at_once - 1) / at_once, PlacedForm::threads),
                   .buffers = std::move(buffers),
                   .arguments = {struct_of(fields)}},
        .reads = std::move(reads),
        .writes = {f.result}});
}

PlannedTensor in_rows(Planner& planner, const Value* value, const Index& shape) {
  const PlannedTensor at = planner.assignment().at(value);
  return (strides_as(at, shape) ? at : planner.dense(value)).view_as(shape);
}

PlannedTensor result_in_rows(Planner& planner, const Node& node, const Value* x, const PlannedTensor& x_rows,
                             const Order& order, const Index& shape) {
  BufferAssignment& assignment = planner.assignment();
  const auto seen = [&](const PlannedTensor& t) { return t.permute(order).view_as(shape); };
  if (assignment.at(x).buffer() == x_rows.buffer())
    if (const auto place = assignment.assign_over(node.output(), x, node)) return seen(*place);
  return seen(assignment.assign(node.output(), order, [&](const PlannedTensor& t) {
    return strides_as(t.permute(order), shape).has_value();
  }));
}

PlannedTensor result_in_rows(Planner& planner, const Node& node, const Value* x,
                             const PlannedTensor& x_rows) {
  return result_in_rows(planner, node, x, x_rows, row_major(node.output()->rank()), x_rows.shape());
}

}  // namespace tenon::gpu
