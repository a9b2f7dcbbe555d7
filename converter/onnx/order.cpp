#include "converter/onnx/order.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

namespace tenon::converter::onnx {

namespace {

/// The names that a node reads from around it.
class Reads {
 public:
  explicit Reads(const NodeProto& node) { add(node); }

  const std::set<std::string_view>& names() const { return names_; }

 private:
  void add(const NodeProto& node) {
    for (const std::string& name : node.input()) add(name);
    for (const AttributeProto& a : node.attribute())
      if (a.has_g()) add(a.g());
  }
  void add(const std::string& name) {
    const bool is_inner = std::any_of(inner_.begin(), inner_.end(),
                                      [&](const auto& defined) { return defined.contains(name); });
    if (!name.empty() && !is_inner) names_.insert(name);
  }
  void add(const GraphProto& graph) {
    auto& defined = inner_.emplace_back();
    for (const ValueInfoProto& v : graph.input()) defined.insert(v.name());
    for (const TensorProto& t : graph.initializer()) defined.insert(t.name());
    for (const SparseTensorProto& t : graph.sparse_initializer()) defined.insert(t.values().name());
    for (const NodeProto& n : graph.node()) defined.insert(n.output().begin(), n.output().end());
    for (const NodeProto& n : graph.node()) add(n);
    for (const ValueInfoProto& v : graph.output()) add(v.name());
    inner_.pop_back();
  }

  std::vector<std::set<std::string_view>> inner_;  // what the sub-graphs around define
  std::set<std::string_view> names_;
};

}  // namespace

bool is_ready(const NodeProto& node, const std::function<bool(std::string_view)>& is_known) {
  const Reads reads(node);
  return std::all_of(reads.names().begin(), reads.names().end(), is_known);
}

std::vector<const NodeProto*> in_order(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                                       int first) {
  std::unordered_map<std::string_view, std::size_t> giver;
  const std::vector<const NodeProto*> all = {nodes.pointer_begin() + first, nodes.pointer_end()};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& name : all[i]->output())
      if (!name.empty()) giver.emplace(name, i);
  std::vector<std::vector<std::size_t>> readers(all.size());
  std::vector<std::size_t> waits_for(all.size(), 0);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Reads reads(*all[i]);
    for (const std::string_view name : reads.names())
      if (const auto it = giver.find(name); it != giver.end()) {
        readers[it->second].push_back(i);
        ++waits_for[i];
      }
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<const NodeProto*> out;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    out.push_back(all[next]);
    for (const std::size_t reader : readers[next])
      if (--waits_for[reader] == 0) ready.push(reader);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (waits_for[i] > 0) out.push_back(all[i]);
  return out;
}

}  // namespace tenon::converter::onnx
