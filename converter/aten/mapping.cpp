#include "converter/aten/mapping.h"

#include <unordered_map>

#include "base/error.h"
#include "converter/aten/promote.h"

namespace tenon::converter {

namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Reads "leaky_relu(self, slope=negative_slope)".
std::pair<std::string, AtenMapping> parse(const OpInfo* op, std::string_view signature) {
  const std::size_t open = signature.find('(');
  TENON_CHECK(open != std::string_view::npos && signature.back() == ')');
  AtenMapping mapping{op, {}, {}};
  std::string_view rest = signature.substr(open + 1, signature.size() - open - 2);
  while (!trimmed(rest).empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      mapping.operands.emplace_back(part);
    else
      mapping.attributes.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return {std::string(signature.substr(0, open)), std::move(mapping)};
}

using Mappings = std::unordered_map<std::string, AtenMapping>;

const Mappings& mappings() {
  static const Mappings all = [] {
    Mappings m;
    for (const OpInfo* op : all_ops())
      for (const Mapping& from : op->from)
        if (from.framework == Mapping::Framework::aten) m.insert(parse(op, from.signature));
    return m;
  }();
  return all;
}

Attr to_attribute(Call& call, const std::string& argument, const Datum& d) {
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
    } else if (const Datum* value = call.find(argument)) {
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
  if (mapping.op->meaning == Meaning::pointwise) {
    std::vector<Datum> given;
    for (const std::string& argument : mapping.operands) given.push_back(call.datum(argument));
    operands = promoted(call.build, given, mapping.op->real_operands);
  } else {
    for (const std::string& argument : mapping.operands)
      if (const Ref r = call.optional_tensor(argument)) operands.push_back(r);
  }
  const std::size_t rank = operands.empty() ? 0 : operands[0].rank();
  return apply_all(with_attributes(mapping, call, rank), operands, call.build.place());
}

}  // namespace tenon::converter
