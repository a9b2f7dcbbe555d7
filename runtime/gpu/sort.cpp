// Sorting, the first few, the most frequent value, and search in sorted lines, on a GPU.
#include "ir/ops/sort.h"

#include "kernels/gpu/sort_source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/order.h"

namespace tenon::gpu {
namespace {

/// What is taken of the lines of a node, which lie along an axis.
struct SortCall {
  SortForm form;
  std::size_t axis = 0;
  Index x_shape, y_shape;  // as [outer, length, inner]
  bool is_mode = false;
};

std::optional<SortCall> sort_call(const Node& node) {
  SortCall call;
  if (const auto* sort = node.as<Sort>()) {
    call.axis = static_cast<std::size_t>(sort->axis);
    call.form.descending = sort->descending;
  } else if (const auto* top = node.as<TopK>()) {
    call.axis = static_cast<std::size_t>(top->axis);
    call.form.descending = top->largest;
  } else if (const auto* mode = node.as<Mode>()) {
    call.axis = static_cast<std::size_t>(mode->axis);
    call.is_mode = true;
  } else {
    return std::nullopt;
  }
  const Index x = eval(node.input()->shape(), {});
  if (x.empty()) return std::nullopt;
  const std::int64_t outer = numel(std::span(x).first(call.axis)),
                     inner = numel(std::span(x).subspan(call.axis + 1));
  call.form.dtype = node.input()->dtype();
  call.form.lines = outer * inner;
  call.form.length = x[call.axis];
  call.form.count = numel(node.output()->shape()).value() / std::max<std::int64_t>(1, call.form.lines);
  call.x_shape = {outer, call.form.length, inner};
  call.y_shape = {outer, call.form.count, inner};
  return call;
}

/// The tensors of a call with the struct that tells how they lie.
struct SortTensors {
  PlannedTensor x, values, places;
  std::vector<std::byte> shape;

  SortTensors(Planner& planner, const Node& node, const SortCall& call)
      : x(viewed(planner, node.input(), call.x_shape)),
        values(result(planner, node.output(0), call)),
        places(result(planner, node.output(1), call)) {
    std::vector<std::int64_t> fields{call.form.lines, call.form.length, call.form.count, call.x_shape[2]};
    for (const PlannedTensor* t : {&x, &values})
      fields.insert(fields.end(), t->strides().begin(), t->strides().end());
    shape = struct_of(fields);
  }

 private:
  static PlannedTensor result(Planner& planner, const Value* value, const SortCall& call) {
    return planner.assignment()
        .assign(value, row_major(value->rank()), [](const PlannedTensor& t) { return t.is_contiguous(); })
        .view_as(call.y_shape);
  }
};

void emit_passes(Planner& planner, const Node& node, const SortCall& call, const SortTensors& t) {
  const SortForm& form = call.form;
  const std::string source = sort_passes_source(form);
  const OrderSize size = form.order();
  const std::int64_t elements = form.lines * form.length;
  const PlannedTensor keys =
      planner.bytes(static_cast<std::size_t>(elements) * static_cast<std::size_t>(size.key_bytes));
  prepare(planner,
          {"make keys", {source, "make_keys", threads_for(elements), {t.x, keys}, {t.shape}}, {t.x}, {keys}});
  const Ordered ordered = order_keys(planner, keys, size);
  std::vector<PlannedTensor> reads{t.x}, writes{t.values, t.places};
  if (call.is_mode) reads.push_back(ordered.keys);
  reads.push_back(ordered.numbers);
  std::vector<PlannedTensor> buffers = reads;
  buffers.insert(buffers.end(), writes.begin(), writes.end());
  const LaunchSize blocks = call.is_mode ? blocks_of(form.lines, order_threads)
                                         : threads_for(form.lines * form.count, order_threads);
  emit(planner, node,
       {{},
        {source, call.is_mode ? "put_mode" : "put_ordered", blocks, std::move(buffers), {t.shape}},
        std::move(reads),
        std::move(writes)});
}

void emit_parts(Planner& planner, const Node& node, const SortForm& form, const SortTensors& t,
                std::int64_t parts) {
  const std::string source = sort_parts_source(form);
  const std::vector<std::vector<std::byte>> arguments{t.shape, struct_of(std::vector{parts})};
  const PlannedTensor found = planner.bytes(static_cast<std::size_t>(form.lines * parts * form.count) * 4);
  prepare(planner,
          {"select in parts",
           {source, "select_in_parts", blocks_of(form.lines * parts, order_threads), {t.x, found}, arguments},
           {t.x},
           {found}});
  emit(planner, node,
       {{},
        {source,
         "select_of_parts",
         blocks_of(form.lines, order_threads),
         {t.x, found, t.values, t.places},
         arguments},
        {t.x, found},
        {t.values, t.places}});
}

void emit_sort(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const SortCall call = *sort_call(node);
  const SortTensors t(planner, node, call);
  const std::int64_t parts = call.is_mode ? 1 : call.form.parts(limits_of(gpu_of(planner)).processors);
  if (parts > 1) return emit_parts(planner, node, call.form, t, parts);
  if (call.is_mode || call.form.way() == SortForm::Way::passes) return emit_passes(planner, node, call, t);
  emit(planner, node,
       {{},
        {sort_source(call.form),
         "sort",
         blocks_of(call.form.grid(), order_threads),
         {t.x, t.values, t.places},
         {t.shape}},
        {t.x},
        {t.values, t.places}});
}

bool has_keys(DType t) { return is_float(t) || is_integral(t) || is_bool(t); }

std::string_view name_of(const SortCall& call) {
  if (call.is_mode) return "mode by sort";
  switch (call.form.way()) {
    case SortForm::Way::ranks: return "sort by ranks";
    case SortForm::Way::block: return "sort in blocks";
    case SortForm::Way::select: return "radix select";
    case SortForm::Way::passes: return "radix sort";
  }
  TENON_CHECK(false);
}

std::vector<Candidate> lower_sort(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto call = sort_call(node);
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (!call || !has_keys(call->form.dtype) || call->form.length == 0 || call->form.length >= limit) return {};
  if (call->form.lines * call->form.order().parts() >= limit) return {};
  const OrderSize size = call->form.order();
  const double elements = static_cast<double>(size.lines * size.length);
  const Work work{.flops = elements * size.passes(),
                  .bytes = bytes_of(node.input()->type()) + bytes_of(node.output(0)->type()) +
                           bytes_of(node.output(1)->type()),
                  .rows = size.lines,
                  .columns = size.length};
  return {{{.kernel = std::string(name_of(*call)),
            .work = work,
            .seconds = planner.estimate(work.flops, work.bytes)},
           emit_sort}};
}

void emit_search(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor lines = planner.dense(node.input(0)), values = planner.dense(node.input(1));
  const PlannedTensor places =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  const std::int64_t per_line = lines.rank() == 1 ? values.numel() : values.shape().back();
  const std::int64_t fields[] = {values.numel(), lines.shape().back(), per_line};
  emit(planner, node,
       {{},
        {search_source(lines.dtype(), node.as<SearchSorted>()->right),
         "search",
         threads_for(values.numel()),
         {lines, values, places},
         {struct_of(fields)}},
        {lines, values},
        {places}});
}

std::vector<Candidate> lower_search(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!node.is<SearchSorted>() || !has_keys(node.input(0)->dtype()) ||
      node.input(0)->dtype() != node.input(1)->dtype() || node.input(0)->rank() == 0)
    return {};
  const Work work{.bytes = bytes_of(node.input(1)->type()) + bytes_of(node.output()->type())};
  return {
      {{.kernel = "binary search", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit_search}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_sort_lowerings() {
  return {{.op = &op_info<Sort>(), .lower = gpu::lower_sort, .alone = true},
          {.op = &op_info<TopK>(), .lower = gpu::lower_sort, .alone = true},
          {.op = &op_info<Mode>(), .lower = gpu::lower_sort, .alone = true},
          {.op = &op_info<SearchSorted>(), .lower = gpu::lower_search, .alone = true}};
}

}  // namespace tenon
