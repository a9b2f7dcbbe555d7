// Pointwise functions that are no loop programs, on a GPU: special functions and greatest common divisors.
#include "ir/ops/special.h"
#include "kernels/gpu/pointwise_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

void append_dims(std::vector<std::int64_t>& list, const Index& values, std::int64_t missing) {
  list.insert(list.end(), pointwise_max_rank - values.size(), missing);
  list.insert(list.end(), values.begin(), values.end());
}

// PointwiseShape of pointwise.gpu.h.
std::vector<std::int64_t> fields(const PlannedTensor& a, const PlannedTensor& b, const Index& sizes) {
  std::vector<std::int64_t> list{numel(sizes)};
  append_dims(list, sizes, 1);
  append_dims(list, a.strides(), 0);
  append_dims(list, b.strides(), 0);
  return list;
}

std::string value_of(const Node& node) {
  if (node.is<Gcd>()) return "common_divisor(a, b)";
  return special_value(
      EnumNames<SpecialFunction>::names[static_cast<std::size_t>(node.as<Special>()->function)]);
}

void emit_pointwise(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto dense = [](const PlannedTensor& t) { return t.is_contiguous(); };
  const PlannedTensor result =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()), dense);
  const bool is_line = result.rank() > pointwise_max_rank;  // copies of the operands are
  const Index sizes = is_line ? Index{result.numel()} : result.shape();
  const auto stretched = [&](const Value* v) {
    return is_line ? planner.broadcast(v, result.shape()).view_as(sizes)
                   : planner.assignment().at(v).expand(sizes);
  };
  const PlannedTensor a = stretched(node.input(0)), b = stretched(node.inputs().back());
  emit(planner, node,
       {.name = {},
        .kernel = {.source = pointwise_source(result.dtype(), value_of(node)),
                   .name = "pointwise",
                   .size = threads_for(result.numel(), pointwise_threads),
                   .buffers = {a, b, result},
                   .arguments = {struct_of(fields(a, b, sizes))}},
        .reads = {a, b},
        .writes = {result}});
}

std::vector<Candidate> lower_pointwise(const Planner& planner, const Group& group) {
  const Value* result = group.node().output();
  if (numel(result->shape()) == 0) return {};
  const Work work{.flops = 100.0 * static_cast<double>(numel(result->shape()).value()),
                  .bytes = 3 * bytes_of(result->type())};
  return {{{.kernel = "pointwise", .work = work, .seconds = planner.estimate(work.flops, work.bytes)},
           emit_pointwise}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_pointwise_lowerings() {
  return {{&op_info<Special>(), gpu::lower_pointwise}, {&op_info<Gcd>(), gpu::lower_pointwise}};
}

}  // namespace tenon
