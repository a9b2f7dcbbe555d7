// Normalisations and determinants: those that ONNX has whole.
#include "ir/ops/norm.h"

#include <array>

#include "base/error.h"
#include "exporter/onnx/table.h"
#include "ir/ops/linalg.h"

namespace tenon::exporter::onnx {
namespace {

/// Its epsilon is an f32.
bool write_batch_norm(OnnxWriter& w, const Node& n) {
  if (n.output()->dtype() == DType::f64) return false;
  const auto operand = [&](std::size_t i) { return w.value(n.input(i)); };
  w.set(n.output(), w.add("BatchNormalization", {operand(0), operand(3), operand(4), operand(1), operand(2)},
                          {{"epsilon", n.as<BatchNorm>()->eps}}));
  return true;
}

/// ONNX computes in f32, and needs a weight.
bool write_layer_norm(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<LayerNorm>();
  const OnnxValue x = w.value(n.input());
  if (x.dtype == DType::f64 || n.inputs().size() < 2) return false;
  OnnxValues in;
  for (const Value* v : n.inputs()) in.push_back(w.value(v));
  w.set(n.output(), w.add("LayerNormalization", in, {{"axis", -op.rank}, {"epsilon", op.eps}}));
  return true;
}

bool write_group_norm(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<GroupNorm>();
  const OnnxValue x = w.value(n.input());
  if (x.dtype == DType::f64 || n.inputs().size() < 3) return false;
  w.set(n.output(), w.add("GroupNormalization", {x, w.value(n.input(1)), w.value(n.input(2))},
                          {{"num_groups", op.groups}, {"epsilon", op.eps}}));
  return true;
}

bool write_determinant(OnnxWriter& w, const Node& n) {
  if (!n.output(1)->uses().empty() || !n.output(2)->uses().empty())
    throw unsupported("ONNX has the determinant, but neither its sign nor its logarithm");
  w.set(n.output(), w.add("Det", {w.value(n.input())}));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> norm_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{.name = "log_softmax", .mapping = "LogSoftmax(x, axis=axis)"},
      OnnxExportEntry{.name = "softmax", .mapping = "Softmax(x, axis=axis)"},
      OnnxExportEntry{"batch_norm", write_batch_norm},
      OnnxExportEntry{"determinant", write_determinant},
      OnnxExportEntry{"group_norm", write_group_norm},
      OnnxExportEntry{"layer_norm", write_layer_norm},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
