#include "exporter/onnx/mapping.h"

#include <algorithm>

#include "base/error.h"
#include "converter/signature.h"
#include "exporter/onnx/dtype.h"
#include "exporter/onnx/kernels.h"

namespace tenon::exporter::onnx {
namespace {

using converter::Signature;

std::string_view defined_signature(const OpInfo& op) {
  for (const Mapping& from : op.from)
    if (from.framework == Mapping::Framework::onnx) return from.signature;
  return {};
}

Attribute attribute(std::string name, const Attr& a) {
  if (const auto* flag = a.get<bool>()) return {std::move(name), std::int64_t{*flag}};
  if (const auto* integer = a.get<std::int64_t>()) return {std::move(name), *integer};
  if (const auto* real = a.get<double>()) return {std::move(name), *real};
  if (const auto* word = a.get<std::string>()) return {std::move(name), *word};
  if (const auto* dtype = a.get<DType>()) return {std::move(name), onnx_number(*dtype)};
  return {std::move(name), from_attr<std::vector<std::int64_t>>(a)};
}

/// nullopt: an attribute is set that ONNX's operator does not have.
std::optional<Attributes> attributes_of(const Signature& signature, const Op& op) {
  Attributes out;
  const Op defaults = op.info().make();
  for (const FieldInfo& field : op.info().fields) {
    const Attr value = field.get(op.self());
    const auto named = std::find_if(signature.attributes.begin(), signature.attributes.end(),
                                    [&](const auto& pair) { return pair.first == field.name; });
    if (named != signature.attributes.end())
      out.push_back(attribute(named->second, value));
    else if (value != field.get(defaults.self()))
      return std::nullopt;
  }
  return out;
}

}  // namespace

bool write_mapped(OnnxWriter& w, const Node& node, std::string_view given_signature, bool any_dtype) {
  const std::string_view text =
      given_signature.empty() ? defined_signature(node.op().info()) : given_signature;
  if (text.empty()) return false;
  const Signature signature = converter::parse_signature(text);
  auto attributes = attributes_of(signature, node.op());
  if (!attributes) return false;
  OnnxValues operands;
  for (const Value* v : node.inputs()) operands.push_back(w.value(v));
  const DType given = operands[signature.name == "Where" ? 1 : 0].dtype, result = node.output()->dtype();
  if (!any_dtype && !computed_in(signature.name, given)) return false;
  w.set(node.output(), w.add(signature.name, operands, std::move(*attributes),
                             result == given ? std::nullopt : std::optional(result)));
  return true;
}

}  // namespace tenon::exporter::onnx
