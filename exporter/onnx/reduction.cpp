// Reductions, running sums and sorting.
#include <array>

#include "base/error.h"
#include "exporter/onnx/kernels.h"
#include "exporter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/sort.h"

namespace tenon::exporter::onnx {
namespace {

using Refs = std::span<const Ref>;

template <class T>
bool write_reduce(OnnxWriter& w, const Node& n, std::string_view op_type) {
  const auto& op = *n.as<T>();
  const OnnxValue x = w.value(n.input());
  // Without axes ONNX reduces all of them.
  w.set(n.output(), op.axes.empty()
                        ? x
                        : w.add(op_type, {x, w.integers(op.axes)}, {{"keepdims", std::int64_t{op.keepdim}}}));
  return true;
}
bool write_sum(OnnxWriter& w, const Node& n) { return write_reduce<Sum>(w, n, "ReduceSum"); }
/// The mean of nothing is NaN, which ONNX Runtime's ReduceMean does not give.
bool write_mean(OnnxWriter& w, const Node& n) {
  for (const std::int64_t axis : n.as<Mean>()->axes)
    if (const Dim& size = n.input()->shape()[static_cast<std::size_t>(axis)];
        size == 0 || has_data_size(size))
      return false;
  return write_reduce<Mean>(w, n, "ReduceMean");
}
std::vector<Ref> mean_of(const Node& n, Refs in) {
  const auto& op = *n.as<Mean>();
  Dim count = 1;
  for (const std::int64_t axis : op.axes) count = count * in[0].shape()[static_cast<std::size_t>(axis)];
  return {sum(in[0], op.axes, op.keepdim) / dim_value(count, in[0])};
}
bool write_prod(OnnxWriter& w, const Node& n) { return write_reduce<Prod>(w, n, "ReduceProd"); }
bool write_amax(OnnxWriter& w, const Node& n) { return write_reduce<Amax>(w, n, "ReduceMax"); }
bool write_amin(OnnxWriter& w, const Node& n) { return write_reduce<Amin>(w, n, "ReduceMin"); }

/// How many hold: a largest element of nothing does not exist.
std::vector<Ref> any_of(const Node& n, Refs in) {
  const auto& op = *n.as<Any>();
  const Ref holds = sum(cast(DType::i64, cast(DType::boolean, in[0])), op.axes, op.keepdim);
  return {holds > holds.literal(0)};
}
std::vector<Ref> all_of(const Node& n, Refs in) {
  const auto& op = *n.as<All>();
  const Ref fails = sum(cast(DType::i64, logical_not(cast(DType::boolean, in[0]))), op.axes, op.keepdim);
  return {equal(fails, fails.literal(0))};
}

bool write_cumsum(OnnxWriter& w, const Node& n) {
  const std::int64_t axis = n.as<CumSum>()->axis;
  w.set(n.output(), w.add("CumSum", {w.value(n.input()), w.constant(Tensor::scalar(DType::i64, axis))}));
  return true;
}

/// Of equal elements the first comes first, as ONNX says of TopK.
void write_topk(OnnxWriter& w, const Node& n, const Dim& k, std::int64_t axis, bool largest) {
  const OnnxValue given = w.value(n.input());
  const DType computed = computed_in("TopK", given.dtype).value_or(given.dtype);
  const OnnxValues out =
      w.add_all("TopK", {w.cast(given, computed), w.size(k)},
                {{"axis", axis}, {"largest", std::int64_t{largest}}, {"sorted", std::int64_t{1}}},
                {computed, DType::i64});
  w.set(n.output(0), w.cast(out[0], given.dtype));
  w.set(n.output(1), out[1]);
}
bool write_top(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<TopK>();
  write_topk(w, n, op.k, op.axis, op.largest);
  return true;
}
bool write_sort(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Sort>();
  write_topk(w, n, n.input()->shape()[static_cast<std::size_t>(op.axis)], op.axis, op.descending);
  return true;
}

/// How many elements of the row stand before the value: all of them before NaN.
std::vector<Ref> search_sorted(const Node& n, Refs in) {
  const bool right = n.as<SearchSorted>()->right;
  Shape row_shape = in[0].shape(), value_shape = in[1].shape();
  if (!value_shape.empty()) row_shape.insert(row_shape.end() - 1, 1);
  value_shape.emplace_back(1);
  const Ref rows = reshape(in[0], row_shape), values = reshape(in[1], value_shape);
  const Ref before = logical_not(right ? rows > values : rows >= values);
  const Ref count = cast(DType::i64, before);
  return {sum(count, {static_cast<std::int64_t>(count.rank()) - 1})};
}

}  // namespace

std::span<const OnnxExportEntry> reduction_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{.name = "argmax", .mapping = "ArgMax(x, axis=axis, keepdim=keepdims)"},
      OnnxExportEntry{.name = "argmin", .mapping = "ArgMin(x, axis=axis, keepdim=keepdims)"},
      OnnxExportEntry{"all", nullptr, all_of},
      OnnxExportEntry{"amax", write_amax},
      OnnxExportEntry{"amin", write_amin},
      OnnxExportEntry{"any", nullptr, any_of},
      OnnxExportEntry{"cumsum", write_cumsum},
      OnnxExportEntry{"mean", write_mean, mean_of},
      OnnxExportEntry{"prod", write_prod},
      OnnxExportEntry{"search_sorted", nullptr, search_sorted},
      OnnxExportEntry{"sort", write_sort},
      OnnxExportEntry{"sum", write_sum},
      OnnxExportEntry{"topk", write_top},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
