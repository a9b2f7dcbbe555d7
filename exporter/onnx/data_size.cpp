// Operators whose result is as large as their data say: the result's shape tells the size.
#include "ir/ops/data_size.h"

#include <array>

#include "base/error.h"
#include "exporter/onnx/kernels.h"
#include "exporter/onnx/table.h"

namespace tenon::exporter::onnx {

void give_sizes(OnnxWriter& w, const std::vector<GivenSize>& sizes, const OnnxValues& values) {
  for (const GivenSize& s : sizes) {
    const auto axis = static_cast<std::int64_t>(s.axis);
    w.give_size(s.symbol,
                w.add("Shape", {values[s.value]}, {{"start", axis}, {"end", axis + 1}}, DType::i64));
  }
}

namespace {

/// The result, whose first axis is the size that the node gives.
void set_sized(OnnxWriter& w, const Node& n, const OnnxValue& result) {
  w.set(n.output(), result);
  give_sizes(w, given_sizes(n), {result});
}

bool write_nonzero(OnnxWriter& w, const Node& n) {
  if (n.input()->rank() == 0) throw unsupported("the place in a single number");
  const OnnxValue found = w.add("NonZero", {w.value(n.input())}, {}, DType::i64);
  set_sized(w, n, w.add("Transpose", {found}, {{"perm", Index{1, 0}}}));
  return true;
}

bool write_count_up(OnnxWriter& w, const Node& n) {
  const OnnxValue count = w.cast(w.value(n.input()), DType::i64);
  set_sized(w, n, w.add("Range", {w.number(0, DType::i64), count, w.number(1, DType::i64)}));
  return true;
}

bool write_unique(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Unique>();
  if (op.order == UniqueOrder::runs) throw unsupported("ONNX does not merge neighbours alone");
  const OnnxValue given = w.value(n.input());
  const DType computed = computed_in("Unique", given.dtype).value_or(given.dtype);
  const OnnxValues out =
      w.add_all("Unique", {w.cast(given, computed)},
                {{"axis", std::int64_t{0}}, {"sorted", std::int64_t{op.order == UniqueOrder::sorted}}},
                {computed, DType::i64, DType::i64, DType::i64});
  set_sized(w, n, out[1]);
  w.set(n.output(1), out[2]);
  w.set(n.output(2), out[3]);
  return true;
}

/// ONNX takes batches of boxes and classes of scores; boxes may have their corners' coordinates in either
/// order.
bool write_suppress_overlaps(OnnxWriter& w, const Node& n) {
  if (n.input()->dtype() == DType::f64) throw unsupported("ONNX suppresses boxes of f32 only");
  const OnnxValue boxes = w.add("Unsqueeze", {w.cast(w.value(n.input(0)), DType::f32), w.integers({0})});
  const OnnxValue scores = w.add("Unsqueeze", {w.cast(w.value(n.input(1)), DType::f32), w.integers({0, 1})});
  const OnnxValue chosen = w.add("NonMaxSuppression",
                                 {boxes, scores, w.size(n.input()->shape()[0]),
                                  w.number(n.as<SuppressOverlaps>()->threshold, DType::f32)},
                                 {}, DType::i64);
  set_sized(w, n, w.add("Gather", {chosen, w.number(2, DType::i64)}, {{"axis", std::int64_t{1}}}));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> data_size_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{"count_up", write_count_up},
      OnnxExportEntry{"nonzero", write_nonzero},
      OnnxExportEntry{"suppress_overlaps", write_suppress_overlaps},
      OnnxExportEntry{"unique", write_unique},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
