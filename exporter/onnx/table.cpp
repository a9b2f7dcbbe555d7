#include "exporter/onnx/table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "converter/report.h"
#include "exporter/onnx/mapping.h"
#include "ir/data_size.h"
#include "ir/ops/control.h"
#include "ir/ops/working_dtype.h"

namespace tenon::exporter::onnx {
namespace {

constexpr std::array families = {
#define FAMILY(name) name,
#include "exporter/onnx/families.def"
};

OnnxExportEntry find_entry(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, OnnxExportEntry> all;
    for (const auto& family : families)
      for (const OnnxExportEntry& entry : family()) TENON_CHECK(all.emplace(entry.name, entry).second);
    return all;
  }();
  const auto it = index.find(name);
  return it == index.end() ? OnnxExportEntry{name} : it->second;
}

/// The expression of a pointwise operator, if that is more than the operator itself. 16-bit floats are
/// rounded once, at its end.
std::vector<Ref> emitted(const Node& node, std::span<const Ref> operands) {
  const Expr e = expr_of(node.op());
  const auto& args = e.node().args;
  if (e.node().kind == Expr::Kind::prim &&
      std::all_of(args.begin(), args.end(), [](const Expr& a) { return a.node().kind == Expr::Kind::input; }))
    return {};
  std::vector<Ref> wide;
  for (const Ref& r : operands) wide.push_back(working(r));
  const Ref result = emit(e, wide);
  return {cast(node.output()->dtype(), result)};
}

std::vector<Ref> composed(const OnnxExportEntry& entry, const Node& node, std::span<const Ref> operands) {
  if (entry.compose) {
    auto own = entry.compose(node, operands);
    if (!own.empty()) return own;
  }
  const OpInfo& info = node.op().info();
  if (info.decompose) return info.decompose(node.op().self(), operands);
  return info.expr ? emitted(node, operands) : std::vector<Ref>{};
}

void refuse_dtype(const Value* v) {
  if (is_complex(v->dtype())) throw unsupported("ONNX's operators do not take complex numbers");
  if (is_string(v->dtype())) throw unsupported("strings are not written");
}

void check_dtypes(const Node& node) {
  for (const Value* v : node.inputs()) refuse_dtype(v);
  for (std::size_t i = 0; i < node.num_outputs(); ++i) refuse_dtype(node.output(i));
}

class RegionWriter {
 public:
  RegionWriter(OnnxWriter& w, Region& region) : w_(w), region_(region) {}

  void run() {
    while (Node* node = next()) {
      w_.set_source(node->source);
      try {
        write(*node);
      } catch (const Error& e) {
        w_.refused.add(node->op().name(), e.message(), e.hint(), node->source);
        for (std::size_t i = 0; i < node->num_outputs(); ++i)
          w_.set(node->output(i), {"unsupported", node->output(i)->dtype()});
        done_ = node;
      }
    }
  }

 private:
  Node* next() const {
    if (done_) return region_.next(done_);
    return region_.nodes().empty() ? nullptr : region_.nodes().front().get();
  }

  /// Writes the node, or puts what it is made of in its place.
  void write(Node& node) {
    check_dtypes(node);
    if (node.is<Fused>()) {
      region_.inline_region(&node, 0);
      return;
    }
    const OnnxExportEntry entry = find_entry(node.op().name());
    if (entry.write ? entry.write(w_, node) : write_mapped(w_, node, entry.mapping, false)) {
      done_ = &node;
      return;
    }
    if (replace(entry, node)) return;
    if (entry.write || !write_mapped(w_, node, entry.mapping, true))
      throw unsupported("operator set {} has nothing that computes it", opset);
    done_ = &node;
  }

  /// False: the node is not made of others.
  bool replace(const OnnxExportEntry& entry, Node& node) {
    const InsertionPoint point{&region_, &node, node.source};
    std::vector<Ref> operands;
    for (Value* v : node.inputs()) operands.emplace_back(v, point);
    const std::vector<Ref> results = composed(entry, node, operands);
    if (results.empty()) return false;
    for (std::size_t i = 0; i < results.size(); ++i) replace_all_uses(node.output(i), results[i].value());
    region_.erase(&node);
    return true;
  }

  OnnxWriter& w_;
  Region& region_;
  Node* done_ = nullptr;  // the last one written
};

}  // namespace

void write_nodes(OnnxWriter& w, Region& region) { RegionWriter(w, region).run(); }

}  // namespace tenon::exporter::onnx
