#include "ir/data_size.h"

#include <algorithm>

namespace tenon {
namespace {

using Names = std::set<std::string>;

void add(const Dim& dim, Names& into) {
  for (std::string& symbol : dim.symbols())
    if (is_data_size(symbol)) into.insert(std::move(symbol));
}

void add(const Type& type, Names& into) {
  for (const Dim& d : type.shape) add(d, into);
}

void add(const Attr& attr, Names& into) {
  if (const Dim* dim = attr.get<Dim>()) add(*dim, into);
  if (const auto* list = attr.get<Attr::List>())
    for (const Attr& a : *list) add(a, into);
}

}  // namespace

std::optional<std::string> given_size(const Op& op) {
  if (!op.info().gives_size) return std::nullopt;
  for (const FieldInfo& field : op.info().fields) {
    if (field.name != "count") continue;
    const Attr count = field.get(op.self());
    if (const Dim* dim = count.get<Dim>()) return dim->str();
  }
  return std::nullopt;
}

bool gives_sizes(const Node& node) {
  return given_size(node.op()) || std::any_of(node.regions().begin(), node.regions().end(),
                                              [](const auto& inner) { return gives_sizes(*inner); });
}

bool gives_sizes(const Region& region) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [](const auto& node) { return gives_sizes(*node); });
}

void needed_sizes(const Node& node, Names& into) {
  for (const Value* v : node.inputs()) add(v->type(), into);
  for (const auto& inner : node.regions()) needed_sizes(*inner, into);
  if (given_size(node.op())) return;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) add(node.output(i)->type(), into);
  for (const FieldInfo& field : node.op().info().fields) add(field.get(node.op().self()), into);
}

void needed_sizes(const Region& region, Names& into) {
  Names own;
  for (const auto& node : region.nodes()) {
    needed_sizes(*node, into);
    if (auto size = given_size(node->op())) own.insert(std::move(*size));
  }
  for (const std::string& name : own) into.erase(name);
}

}  // namespace tenon
