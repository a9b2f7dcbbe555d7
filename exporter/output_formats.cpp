#include "exporter/output_formats.h"

#include <array>

#include "base/atomic_file.h"
#include "base/error.h"
#include "exporter/graph_json.h"
#include "exporter/onnx/export.h"
#include "report/dot.h"
#include "verify/onnxruntime.h"

namespace tenon::exporter {
namespace {

using Path = std::filesystem::path;
using Lacking = std::vector<std::string>;

/// The graph as the source says it; an artifact has the fused one only.
const Graph& source_graph(const Model& model) { return model.imported ? *model.imported : *model.graph; }

void write_whole(const Path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

Lacking write_artifact(const Model& model, const Path& path) {
  save_artifact({.graph = model.graph, .goldens = model.goldens, .notes = model.metadata}, path);
  return {};
}

Lacking write_onnx(const Model& model, const Path& path) { return export_onnx(source_graph(model), path); }

Lacking write_weights(const Model& model, const Path& path) {
  std::vector<NamedTensor> tensors;
  for (const auto& w : source_graph(model).weights()) tensors.push_back({w->name(), w->tensor()});
  write_safetensors(path, std::move(tensors), {{"format", "pt"}});
  return {};
}

Lacking write_dot(const Model& model, const Path& path) {
  write_whole(path, dot(*model.graph));
  return {};
}

Lacking write_json(const Model& model, const Path& path) {
  using Json = nlohmann::ordered_json;
  write_whole(path, graph_json(*model.graph).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return {};
}

std::vector<Tensor> run_onnx(const Path& model, const Graph& graph, std::span<const Tensor> inputs) {
  return onnxruntime_outputs(model, graph, inputs);
}

constexpr std::array table = {
    OutputFormat{".tenon", "the artifact", true, write_artifact},
    OutputFormat{".onnx", "the model as ONNX", true, write_onnx, "ONNX Runtime", run_onnx},
    OutputFormat{".safetensors", "the weights", false, write_weights},
    OutputFormat{".dot", "the fused graph for Graphviz", false, write_dot},
    OutputFormat{".json", "the fused graph for other programs", false, write_json},
};

}  // namespace

std::span<const OutputFormat> output_formats() { return table; }

std::string output_formats_text() {
  std::string text;
  for (const OutputFormat& f : table)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", f.suffix, f.holds);
  return text;
}

const OutputFormat& output_format_of(const Path& path) {
  for (const OutputFormat& f : table)
    if (path.extension() == f.suffix) return f;
  throw error("the output's suffix says what to write, and '{}' is none that Tenon knows",
              path.extension().string())
      .at(path.string())
      .hint("give the file one of these: " + output_formats_text());
}

}  // namespace tenon::exporter
