// tenon ops: the table of operators, read off their definitions.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/count.h"
#include "ir/op.h"
#include "tools/model_options.h"
#include "tools/terminal.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

constexpr const char* op_kinds[] = {"pointwise", "composite", "reference"};  // by OpKind

std::string names_in(const OpInfo& op, Mapping::Framework framework) {
  std::string out;
  for (const Mapping& m : op.from)
    if (m.framework == framework)
      out += (out.empty() ? "" : " ") + std::string(m.signature.substr(0, m.signature.find('(')));
  return out;
}

std::string attributes(const OpInfo& op) {
  std::string out;
  const Op defaults = op.make();
  for (const FieldInfo& f : op.fields)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", f.name, f.get(defaults.self()).str());
  return out;
}

int list(const Device& device, bool json) {
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const OpInfo* op : all_ops())
      rows.push_back({{"name", op->name},
                      {"meaning", op_kinds[static_cast<int>(op->op_kind)]},
                      {"attributes", attributes(*op)},
                      {"pytorch", names_in(*op, Mapping::Framework::aten)},
                      {"onnx", names_in(*op, Mapping::Framework::onnx)},
                      {"device", device.name},
                      {"runs", device.runs(op->make())},
                      {"gradient", op->has_gradient}});
    fmt::print("{}\n", rows.dump(2));
    return 0;
  }
  Table table({"operator", "meaning", "PyTorch", "ONNX", "runs as", "gradient", "attributes"});
  for (const OpInfo* op : all_ops())
    table.add({std::string(op->name), op_kinds[static_cast<int>(op->op_kind)],
               names_in(*op, Mapping::Framework::aten), names_in(*op, Mapping::Framework::onnx),
               std::string(device.runs(op->make())), op->has_gradient ? "yes" : "", attributes(*op)});
  fmt::print("{}{}\n", table.str(), counted(all_ops().size(), "operator"));
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("ops", "List the operators: what they are called elsewhere and what runs them");
  auto json = std::make_shared<bool>(false);
  auto on = std::make_shared<DeviceOptions>();
  on->add(*verb);
  verb->add_flag("--json", *json, "As JSON");
  verb->footer("Example: tenon ops | grep norm");
  verb->callback([&exit_code, on, json] { exit_code = list(on->device(), *json); });
}

}  // namespace tenon::tools
