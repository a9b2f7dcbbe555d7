#include "ir/data_size.h"

#include <algorithm>

#include "ir/ops/control.h"

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

std::vector<GivenSize> listed(const GivenAxes& given) {
  std::vector<GivenSize> sizes;
  for (std::size_t i = 0; i < given.sizes.size() && 2 * i + 1 < given.at.size(); ++i)
    sizes.push_back({given.sizes[i].str(), static_cast<std::size_t>(given.at[2 * i]),
                     static_cast<std::size_t>(given.at[2 * i + 1])});
  return sizes;
}

}  // namespace

std::vector<GivenSize> given_sizes(const Node& node) {
  if (const auto* op = node.as<If>()) return listed(op->given());
  if (const auto* op = node.as<Loop>()) return listed(op->given());
  const Op& op = node.op();
  if (!op.info().gives_size) return {};
  for (const FieldInfo& field : op.info().fields) {
    if (field.name != "count") continue;
    const Attr count = field.get(op.self());
    if (const Dim* dim = count.get<Dim>()) return {{dim->str(), 0, 0}};
  }
  return {};
}

std::vector<GivenSize> sizes_of_parameters(const Node& node) {
  const auto* op = node.as<Loop>();
  std::vector<GivenSize> sizes = op ? listed(op->given_to_step()) : std::vector<GivenSize>{};
  for (GivenSize& s : sizes) ++s.value;  // behind the number of the step
  return sizes;
}

void bind_given(const std::vector<GivenSize>& sizes, std::span<const Tensor> values, Bindings& bindings) {
  for (const GivenSize& s : sizes) bindings.insert_or_assign(s.symbol, values[s.value].shape()[s.axis]);
}

bool gives_sizes(const Node& node) {
  return !given_sizes(node).empty() || std::any_of(node.regions().begin(), node.regions().end(),
                                                   [](const auto& inner) { return gives_sizes(*inner); });
}

bool gives_sizes(const Region& region) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [](const auto& node) { return gives_sizes(*node); });
}

void needed_sizes(const Node& node, Names& into) {
  for (const Value* v : node.inputs()) add(v->type(), into);
  Names own;
  for (const auto& inner : node.regions()) needed_sizes(*inner, own);
  for (std::size_t i = 0; i < node.num_outputs(); ++i) add(node.output(i)->type(), own);
  for (const FieldInfo& field : node.op().info().fields) add(field.get(node.op().self()), own);
  for (const GivenSize& s : given_sizes(node)) own.erase(s.symbol);
  for (const GivenSize& s : sizes_of_parameters(node)) own.erase(s.symbol);
  into.merge(own);
}

void needed_sizes(const Type& type, Names& into) { add(type, into); }

void needed_sizes(const Region& region, Names& into) {
  Names own;
  for (const auto& node : region.nodes()) {
    needed_sizes(*node, into);
    for (GivenSize& s : given_sizes(*node)) own.insert(std::move(s.symbol));
  }
  for (const std::string& name : own) into.erase(name);
}

}  // namespace tenon
