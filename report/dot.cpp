#include "report/dot.h"

#include <fmt/format.h>

#include <map>

#include "base/utf8.h"
#include "fusion/replaced.h"
#include "ir/ops/control.h"
#include "ir/outline.h"
#include "ir/print.h"

namespace tenon {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string dot_string(std::string_view text) { return '"' + escaped(text) + '"'; }

class DotWriter {
 public:
  explicit DotWriter(const Graph& graph) : graph_(graph), names_(value_names(graph)) {}

  std::string write(const Graph* fused) {
    out_ = fmt::format(
        "digraph {} {{\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
        "fontname=\"sans-serif\", "
        "fontsize=11]\n  edge [fontname=\"sans-serif\", fontsize=9, color=gray40]\n",
        dot_string(graph_.name));
    for (const auto& p : graph_.body().parameters()) {
      ids_[p.get()] = fmt::format("i{}", p->index());
      box(ids_[p.get()], names_.at(p.get()), p->type().str(), ", shape=ellipse");
    }
    if (fused)
      groups(*fused);
    else
      for (const auto& node : graph_.body().nodes()) own_group(*node);
    for (const auto& node : graph_.body().nodes()) edges(*node);
    results();
    return out_ + "}\n";
  }

 private:
  void box(const std::string& id, std::string_view name, std::string_view note, std::string_view style = "") {
    out_ += fmt::format("  {} [label=\"{}{}{}\"{}]\n", id, escaped(name), note.empty() ? "" : "\\n",
                        escaped(note), style);
  }

  void node(const Node& n) {
    const std::string id = fmt::format("n{}", count_++);
    for (std::size_t i = 0; i < n.num_outputs(); ++i) ids_[n.output(i)] = id;
    boxes_[&n] = id;
    box(id, n.op().name(), n.source.modules_text());
    for (std::size_t i = 0; i < n.regions().size(); ++i) region(n, i);
  }

  void open_cluster(std::string_view label) {
    out_ += fmt::format(
        "  subgraph cluster_{} {{ label={}; style=\"rounded,filled\"; fillcolor=gray95; "
        "color=gray60; fontname=\"sans-serif\"; fontsize=10\n",
        clusters_++, dot_string(label));
  }

  // What an if or a loop runs stands in a cluster beside its box.
  void region(const Node& n, std::size_t i) {
    open_cluster(n.regions().size() == 1 ? "body" : i == 0 ? "then" : "else");
    for (const auto& member : n.region(i).nodes()) own_group(*member);
    out_ += "  }\n";
  }

  // A fused node is a cluster of its members, whose values stand for the node's.
  void own_group(const Node& n) {
    if (!n.is<Fused>()) return node(n);
    open_cluster(n.source.modules_text());
    const Region& body = n.region();
    for (const auto& member : body.nodes()) node(*member);
    out_ += "  }\n";
    for (std::size_t i = 0; i < n.num_outputs(); ++i) ids_[n.output(i)] = ids_[body.results()[i]];
  }

  void groups(const Graph& fused) {
    const auto owners = replaced_nodes(graph_, fused);
    std::map<const Node*, std::vector<const Node*>> members;
    for (const auto& n : graph_.body().nodes())
      if (const auto owner = owners.find(n.get()); owner != owners.end())
        members[owner->second].push_back(n.get());
      else
        node(*n);
    for (const auto& owner : fused.body().nodes()) {
      const auto& list = members[owner.get()];
      if (list.size() > 1)
        open_cluster(owner->is<Fused>() ? group_text(*owner) : std::string(owner->op().name()));
      for (const Node* n : list) node(*n);
      if (list.size() > 1) out_ += "  }\n";
    }
  }

  const std::string* id_of(const Value* v) const {
    const auto found = ids_.find(v);
    return found == ids_.end() ? nullptr : &found->second;
  }

  void edge(const Value* from, const std::string& to, std::string_view style = "") {
    if (const std::string* id = id_of(from))
      out_ += fmt::format("  {} -> {} [label={}{}]\n", *id, to, dot_string(from->type().str()), style);
  }

  void edges(const Node& n) {
    const auto drawn = boxes_.find(&n);
    if (drawn != boxes_.end())
      for (const Value* v : n.inputs()) edge(v, drawn->second);
    const auto rules = n.op().info().region_rules;
    for (const auto& inner : n.regions()) {
      for (const auto& p : inner->parameters()) {
        const auto input = rules->input_of(n.op().self(), p->index());
        const std::string* id = input ? id_of(n.input(*input)) : &drawn->second;  // a loop gives the step
        if (id) ids_[p.get()] = std::string(*id);
      }
      for (const auto& member : inner->nodes()) edges(*member);
      if (drawn != boxes_.end())
        for (const Value* v : inner->results()) edge(v, drawn->second, ", style=dashed");
    }
  }

  void results() {
    const auto& values = graph_.body().results();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string id = fmt::format("o{}", i);
      box(id, output_name(graph_, i), values[i]->type().str(), ", shape=ellipse");
      edge(values[i], id);
    }
  }

  const Graph& graph_;
  const std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<const Value*, std::string> ids_;  // of the box that a value comes from
  std::unordered_map<const Node*, std::string> boxes_;
  std::string out_;
  int count_ = 0, clusters_ = 0;
};

}  // namespace

std::string dot(const Graph& graph, const Graph* fused) { return DotWriter(graph).write(fused); }

}  // namespace tenon
