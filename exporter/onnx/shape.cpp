// Operators that move elements, and tensors from sizes.
#include "ir/ops/shape.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "exporter/onnx/table.h"
#include "ir/ops/create.h"

namespace tenon::exporter::onnx {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t to_the_beginning = std::numeric_limits<std::int64_t>::min();

/// The sizes a Reshape is told: 0 for an axis that stays, -1 for the one that the others leave. nullopt: they
/// must be computed.
std::optional<Index> wanted_sizes(const Shape& from, const Shape& to) {
  Index out;
  bool one_left = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_known() && to[i].value() == 0) return std::nullopt;  // means another thing
    if (to[i].is_known()) {
      out.push_back(to[i].value());
    } else if (i < from.size() && from[i] == to[i]) {
      out.push_back(0);
    } else if (one_left) {
      out.push_back(-1);
      one_left = false;
    } else {
      return std::nullopt;
    }
  }
  // What is left of nothing could be anything.
  const bool may_be_empty = std::any_of(from.begin(), from.end(), has_data_size);
  return may_be_empty && !one_left ? std::nullopt : std::optional(out);
}

bool write_reshape(OnnxWriter& w, const Node& n) {
  const Shape &from = n.input()->shape(), &to = n.as<Reshape>()->shape;
  const OnnxValue x = w.value(n.input());
  const auto wanted = wanted_sizes(from, to);
  w.set(n.output(), wanted ? w.add("Reshape", {x, w.integers(*wanted)})
                           : w.add("Reshape", {x, w.sizes(to)}, {{"allowzero", std::int64_t{1}}}));
  return true;
}

/// 1 leaves an axis as it is.
bool write_expand(OnnxWriter& w, const Node& n) {
  const Shape& from = n.input()->shape();
  Shape to = n.as<Expand>()->shape;
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!to[added + i].is_known() && to[added + i] == from[i]) to[added + i] = 1;
  w.set(n.output(), w.add("Expand", {w.value(n.input()), w.sizes(to)}));
  return true;
}

bool write_slice(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Slice>();
  const Dim& size = n.input()->shape()[static_cast<std::size_t>(op.axis)];
  const auto bound = [&](const Dim& d) {
    if (op.step > 0) return d == size ? w.integers({to_the_end}) : w.size(d);
    return d == size - 1 ? w.integers({-1}) : d == -1 ? w.integers({to_the_beginning}) : w.size(d);
  };
  if (op.step < 0 && op.start == -1) throw unsupported("a slice that begins before the first element");
  w.set(n.output(), w.add("Slice", {w.value(n.input()), bound(op.start), bound(op.end), w.integers({op.axis}),
                                    w.integers({op.step})}));
  return true;
}

bool write_flip(OnnxWriter& w, const Node& n) {
  const Axes& axes = n.as<Flip>()->axes;
  const auto each = [&](std::int64_t v) { return w.integers(Index(axes.size(), v)); };
  w.set(n.output(),
        w.add("Slice", {w.value(n.input()), each(-1), each(to_the_beginning), w.integers(axes), each(-1)}));
  return true;
}

bool write_pad(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Pad>();
  constexpr std::array modes = {"constant", "reflect", "edge", "wrap"};
  const OnnxValue x = w.value(n.input());
  const bool is_constant = op.mode == PadMode::constant;
  w.set(n.output(),
        w.add("Pad", {x, w.sizes(op.pads), is_constant ? w.number(op.value, x.dtype) : OnnxValue{}},
              {{"mode", std::string(modes[static_cast<std::size_t>(op.mode)])}}));
  return true;
}

bool write_full(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Full>();
  const OnnxValue value = w.number(op.value, op.dtype);
  w.set(n.output(), op.shape.empty() ? value : w.add("Expand", {value, w.sizes(op.shape)}));
  return true;
}

bool write_iota(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Iota>();
  const OnnxValue numbers =
      w.add("Range", {w.number(0, DType::i64), w.size_number(op.size), w.number(1, DType::i64)});
  w.set(n.output(), w.cast(numbers, op.dtype));
  return true;
}

bool write_dim_value(OnnxWriter& w, const Node& n) {
  w.set(n.output(), w.size_number(n.as<DimValue>()->value));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> shape_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{.name = "permute", .mapping = "Transpose(x, axes=perm)"},
      OnnxExportEntry{"dim_value", write_dim_value},
      OnnxExportEntry{"expand", write_expand},
      OnnxExportEntry{"flip", write_flip},
      OnnxExportEntry{"full", write_full},
      OnnxExportEntry{"iota", write_iota},
      OnnxExportEntry{"pad", write_pad},
      OnnxExportEntry{"reshape", write_reshape},
      OnnxExportEntry{"slice", write_slice},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
