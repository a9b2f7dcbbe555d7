#include "converter/onnx/convert.h"

#include "base/error.h"
#include "converter/finish.h"
#include "converter/onnx/importer.h"
#include "converter/onnx/inputs.h"

namespace tenon::converter::onnx {

namespace {

/// The items of a sequence are outputs of their own: "y.0", "y.1".
void add_items(const std::string& name, const Operand& output, Values& values, UnsupportedReport& report) {
  if (output.is<Absent>())
    return report.add("output", fmt::format("'{}' is an empty optional", name), "", {});
  if (const auto* items = output.get<Sequence>()) {
    for (std::size_t i = 0; i < (*items)->size(); ++i)
      add_items(fmt::format("{}.{}", name, i), (**items)[i], values, report);
    return;
  }
  values.build.graph().body().add_result(values.read(output).value());
  values.build.graph().output_names.push_back(name);
}

void add_outputs(const ModelProto& model, const Operands& outputs, Values& values,
                 UnsupportedReport& report) {
  Graph& graph = values.build.graph();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueInfoProto& declared = model.graph.output[i];
    if (!outputs[i].is_tensor()) {
      add_items(declared.name, outputs[i], values, report);
      continue;
    }
    const Ref value = values.read(outputs[i]);
    const auto dtype = dtype_from_onnx(declared.type.elem_type);
    if (dtype && *dtype != value.dtype()) {
      report.add(
          "output",
          fmt::format("'{}' is {}, but the file says {}", declared.name, name(value.dtype()), name(*dtype)),
          "", {});
      continue;
    }
    graph.body().add_result(value.value());
    graph.output_names.push_back(declared.name);
  }
}

}  // namespace

std::unique_ptr<Graph> convert(const ModelProto& model, const ConvertOptions& options) {
  if (options.method != "forward")
    throw error("an ONNX model has no method '{}'", options.method).at(model.path.string());
  auto graph = std::make_unique<Graph>("main");
  graph->symbols = options.symbols;
  UnsupportedReport report;
  ConvertNotes notes;
  try {
    Builder builder(*graph);
    Values values(builder, notes);
    Importer importer(model, values, report);
    const Operands outputs = importer.run(make_inputs(model, options, values));
    builder.set_source({});
    if (report.empty()) add_outputs(model, outputs, values, report);
    if (report.empty()) values.add_checks();
  } catch (Error& e) {
    if (report.empty()) {
      if (e.where().empty()) e.at(model.path.string());
      throw;
    }
  }
  if (options.report) *options.report = report;
  if (options.notes) *options.notes = notes;
  if (!report.empty()) throw report.to_error().at(model.path.string());
  finish(*graph);
  return graph;
}

}  // namespace tenon::converter::onnx
