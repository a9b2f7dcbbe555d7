#include "converter/onnx/table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "converter/onnx/mapping.h"
#include "converter/onnx/operand_counts.h"

namespace tenon::converter::onnx {

namespace {

constexpr std::array families = {
#define FAMILY(name) name,
#include "converter/onnx/families.def"
};

const std::unordered_map<std::string_view, Handler>& handlers() {
  static const auto index = [] {
    std::unordered_map<std::string_view, Handler> all;
    for (const auto& family : families)
      for (const OnnxEntry& entry : family()) TENON_CHECK(all.emplace(entry.name, entry.handler).second);
    return all;
  }();
  return index;
}

Handler find_handler(std::string_view name) {
  const auto it = handlers().find(name);
  return it == handlers().end() ? nullptr : it->second;
}

}  // namespace

bool is_implemented(std::string_view full_name) { return find_handler(full_name) || find_mapping(full_name); }

std::vector<std::string_view> implemented_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, handler] : handlers()) names.push_back(name);
  for (const OpInfo* op : all_ops())
    for (const Mapping& from : op->from)
      if (from.framework == Mapping::Framework::onnx)
        names.push_back(from.signature.substr(0, from.signature.find('(')));
  std::sort(names.begin(), names.end());
  return names;
}

Operands run_operator(Call& call) {
  check_operand_count(call);
  if (auto known = run_on_sizes(call)) return std::move(*known);
  const std::string name = call.full_name();
  if (const Handler handler = find_handler(name)) return handler(call);
  if (const OnnxMapping* mapping = find_mapping(name)) return run_mapping(*mapping, call);
  throw unsupported("the operator is not implemented");
}

}  // namespace tenon::converter::onnx
