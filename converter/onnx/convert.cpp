#include "converter/onnx/convert.h"

#include "base/error.h"
#include "converter/equal_sizes.h"
#include "converter/finish.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/importer.h"
#include "converter/onnx/inputs.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/random.h"
#include "converter/size_guards.h"

namespace tenon::converter::onnx {

namespace {

/// The items of a sequence are outputs of their own: "y.0", "y.1". So are the keys and the values of a
/// dictionary.
void add_items(const std::string& name, const Operand& output, Values& values, UnsupportedReport& report) {
  if (output.is<Absent>())
    return report.add("output", fmt::format("'{}' is an empty optional", name), "", {});
  if (const auto* items = output.get<Sequence>()) {
    for (std::size_t i = 0; i < (*items)->size(); ++i)
      add_items(fmt::format("{}.{}", name, i), (**items)[i], values, report);
    return;
  }
  if (const auto* dictionary = output.get<DictionaryPtr>()) {
    add_items(name + ".keys", (*dictionary)->keys, values, report);
    add_items(name + ".values", (*dictionary)->values, values, report);
    return;
  }
  add_output(values.build.graph(), values.read(output).value(), name);
}

void add_outputs(const Model& model, const Operands& outputs, Values& values, UnsupportedReport& report) {
  Graph& graph = values.build.graph();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueInfoProto& declared = model.proto->graph().output(static_cast<int>(i));
    if (!outputs[i].is_tensor()) {
      add_items(declared.name(), outputs[i], values, report);
      continue;
    }
    const Ref value = values.read(outputs[i]);
    const auto dtype = dtype_from_onnx(declared.type().tensor_type().elem_type());
    if (dtype && *dtype != value.dtype()) {
      report.add(
          "output",
          fmt::format("'{}' is {}, but the file says {}", declared.name(), name(value.dtype()), name(*dtype)),
          "", {});
      continue;
    }
    add_output(graph, value.value(), declared.name());
  }
}

/// The graph, or what stands in its way.
struct Attempt {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>("main");
  UnsupportedReport report;
  ConvertNotes notes;
  std::vector<Builder::SizeGuard> size_guards;
  std::optional<Error> failure;
};

Attempt attempt(const Model& model, const ConvertOptions& options) {
  Attempt out;
  out.graph->symbols = options.symbols;
  Builder builder(*out.graph);
  try {
    Values values(builder, out.notes);
    Importer importer(model, values, out.report);
    const Operands outputs = importer.run(make_inputs(model, options, values));
    builder.set_source({});
    if (out.report.empty()) add_outputs(model, outputs, values, out.report);
    if (out.report.empty()) values.add_checks();
  } catch (const Error& e) {
    if (out.report.empty()) out.failure = e;
  }
  out.size_guards = builder.size_guards();
  return out;
}

}  // namespace

std::unique_ptr<Graph> convert(const Model& model, const ConvertOptions& options) {
  if (options.method != "forward")
    throw error("an ONNX model has no method '{}'", options.method).at(model.path.string());
  ConvertOptions assumed = options;
  ConvertNotes assumptions;
  Attempt result = attempt(model, assumed);
  const auto missing = [&] {
    return result.failure ? missing_guard(*result.failure, result.size_guards) : nullptr;
  };
  while (const Builder::SizeGuard* guard = missing()) {
    assumptions.push_back(assumed_guard(*guard));
    assumed.symbols[guard->symbol].max = guard->max;
    result = attempt(model, assumed);
  }
  result.notes.insert(result.notes.end(), assumptions.begin(), assumptions.end());
  settle_random(*result.graph, options.random, result.report);
  note_random(*result.graph, result.notes);
  if (options.report) *options.report = result.report;
  if (options.notes) *options.notes = result.notes;
  if (!result.report.empty()) throw result.report.to_error().at(model.path.string());
  if (result.failure) {
    if (result.failure->where().empty()) result.failure->at(model.path.string());
    throw with_equal_sizes(*result.failure, *result.graph, assumed,
                           [&](const ConvertOptions& o) { return attempt(model, o).failure; });
  }
  finish(*result.graph);
  return std::move(result.graph);
}

}  // namespace tenon::converter::onnx
