#include "ir/outline.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ir/ops/control.h"

namespace tenon {
namespace {

bool used_outside(const Value* v, std::span<Node* const> members) {
  return std::any_of(v->uses().begin(), v->uses().end(), [&](const Use& u) {
    return !u.node || std::find(members.begin(), members.end(), u.node) == members.end();
  });
}

}  // namespace

Node* outline(std::span<Node* const> members) {
  TENON_CHECK(!members.empty());
  Region& region = members.back()->parent();
  Source source;
  for (const Node* m : members) source.merge(m->source);
  Node* fused = region.insert_typed(Op(Fused{}), {}, {}, 1, members.back(), std::move(source));
  Region& body = fused->region();

  std::unordered_map<const Value*, Value*> inside;
  const auto operand = [&](Value* v) -> Value* {
    if (v->kind() == Value::Kind::literal) return body.literal(v->tensor());
    Value*& copy = inside[v];
    if (!copy) {
      copy = body.add_parameter(v->type());
      fused->add_input(v);
    }
    return copy;
  };
  std::vector<Value*> escaping;
  std::vector<Type> types;
  for (Node* m : members) {
    std::vector<Value*> inputs;
    for (Value* v : m->inputs()) inputs.push_back(operand(v));
    Node* copy = body.insert(m->op(), std::move(inputs), nullptr, m->source);
    for (std::size_t i = 0; i < m->num_outputs(); ++i) {
      inside[m->output(i)] = copy->output(i);
      copy->output(i)->origin = m->output(i)->origin;
      if (!used_outside(m->output(i), members)) continue;
      escaping.push_back(m->output(i));
      types.push_back(m->output(i)->type());
      body.add_result(copy->output(i));
    }
  }
  fused->add_outputs(std::move(types));
  for (std::size_t i = 0; i < escaping.size(); ++i) replace_all_uses(escaping[i], fused->output(i));
  // Results used by both members and others were replaced in the members too, which go now, last first.
  for (auto m = members.rbegin(); m != members.rend(); ++m) region.erase(*m);
  return fused;
}

std::string group_text(const Node& fused) {
  std::string text;
  for (const auto& n : fused.region().nodes())
    text += (text.empty() ? "" : "+") + std::string(n->op().name());
  return text;
}

std::string kind_of(const Node& node) {
  return node.is<Fused>() ? fmt::format("{} {}", node.op().name(), group_text(node))
                          : std::string(node.op().name());
}

std::map<std::string, int> count_kinds(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Region* region : program_regions(graph))
    for (const auto& n : region->nodes()) ++counts[kind_of(*n)];
  return counts;
}

}  // namespace tenon
