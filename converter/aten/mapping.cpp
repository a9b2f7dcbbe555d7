#include "converter/aten/mapping.h"

#include <unordered_map>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/signature.h"

namespace tenon::converter {

namespace {

using Mappings = std::unordered_map<std::string, AtenMapping>;

const Mappings& mappings() {
  static const Mappings all = [] {
    Mappings m;
    for (const OpInfo* op : all_ops())
      for (const Mapping& from : op->from)
        if (from.framework == Mapping::Framework::aten) {
          Signature s = parse_signature(from.signature);
          m.emplace(std::move(s.name), AtenMapping{op, std::move(s.operands), std::move(s.attributes)});
        }
    return m;
  }();
  return all;
}

Attr to_attribute(Call& call, const std::string& argument, const AbstractValue& d) {
  if (d.is_none()) return {};
  if (const auto* flag = d.get<bool>()) return Attr(*flag);
  if (const auto* real = d.get<double>()) return Attr(*real);
  if (const auto* word = d.get<std::string>()) return Attr(*word);
  if (const auto* dim = d.get<Dim>()) return Attr(*dim);
  if (items_of(d)) {
    Attr::List list;
    for (const Dim& dim : call.sizes(argument)) list.emplace_back(dim);
    return Attr(std::move(list));
  }
  return Attr(call.number(argument));
}

Op with_attributes(const AtenMapping& mapping, Call& call, std::size_t rank) {
  std::vector<std::pair<std::string, Attr>> attributes;
  for (const auto& [attribute, argument] : mapping.attributes) {
    if (attribute == "axis") {
      if (call.find(argument)) attributes.emplace_back(attribute, Attr(call.axis(argument, rank)));
    } else if (attribute == "axes") {
      attributes.emplace_back(attribute, to_attr(call.axes(argument, rank)));
    } else if (const AbstractValue* value = call.find(argument)) {
      attributes.emplace_back(attribute, to_attribute(call, argument, *value));
    }
  }
  return mapping.op->make().with(attributes);
}

}  // namespace

const AtenMapping* find_mapping(std::string_view name, std::string_view overload) {
  const Mappings& all = mappings();
  auto it = all.find(std::string(name) + "." + std::string(overload));
  if (it == all.end()) it = all.find(std::string(name));
  return it == all.end() ? nullptr : &it->second;
}

std::vector<std::string_view> mapped_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, mapping] : mappings()) names.emplace_back(name);
  return names;
}

Results run_mapping(const AtenMapping& mapping, Call& call) {
  std::vector<Ref> operands;
  if (mapping.op->op_kind == OpKind::pointwise) {
    std::vector<AbstractValue> given;
    for (const std::string& argument : mapping.operands) given.push_back(call.value(argument));
    operands = promoted(call.build, given, mapping.op->real_operands);
  } else {
    for (const std::string& argument : mapping.operands)
      if (const Ref r = call.optional_tensor(argument)) operands.push_back(r);
  }
  const std::size_t rank = operands.empty() ? 0 : operands[0].rank();
  return apply_all(with_attributes(mapping, call, rank), operands, call.build.insertion_point());
}

}  // namespace tenon::converter
