#include "exporter/onnx/export.h"

#include "base/error.h"
#include "converter/report_text.h"
#include "exporter/onnx/table.h"
#include "ir/clone.h"
#include "ir/ops/control.h"

namespace tenon::exporter {
namespace {

using Sentences = std::vector<std::string>;

/// ONNX has nothing that stops a run.
void erase_checks(Graph& graph, Sentences& omissions) {
  for (Region* region : program_regions(graph))
    for (auto it = region->nodes().begin(); it != region->nodes().end();) {
      Node* node = (it++)->get();
      const auto* check = node->as<Check>();
      if (!check) continue;
      omissions.push_back(fmt::format("the ONNX model does not check: {}", check->message));
      region->erase(node);
    }
}

void erase_dead(Graph& graph) {
  for (bool again = true; again;) {
    again = false;
    for (Region* region : program_regions(graph)) {
      std::vector<Node*> nodes;
      for (const auto& node : region->nodes()) nodes.push_back(node.get());
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it)
        if (is_dead(**it)) {
          again = again || !(*it)->regions().empty();
          region->erase(*it);
        }
    }
  }
}

}  // namespace

Sentences export_onnx(const Graph& graph, const std::filesystem::path& path, std::size_t most) {
  const auto lowered = clone(graph);
  Sentences omissions;
  erase_checks(*lowered, omissions);
  erase_dead(*lowered);
  for (const Value* v : lowered->body().results())
    if (is_complex(v->dtype()) || is_string(v->dtype()))
      throw unsupported("an output is {}, which is not written", v->type().str()).at(path.string());
  onnx::OnnxWriter writer(*lowered);
  onnx::write_nodes(writer, lowered->body());
  if (!writer.refused.empty())
    throw unsupported("ONNX cannot hold the model:{}", list_text(writer.refused))
        .at(path.string())
        .hint("a .tenon file holds every operator: -o model.tenon");
  onnx::write_model(writer.finish(*lowered), path, most);
  return omissions;
}

}  // namespace tenon::exporter
