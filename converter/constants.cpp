#include "converter/constants.h"

#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/random.h"

namespace tenon::converter {

namespace {

constexpr std::int64_t max_elements = 1'000'000, max_elements_together = 4'000'000;
constexpr int max_nodes = 1000;

class Folder {
 public:
  explicit Folder(const KnownParameters& parameters) : parameters_(parameters) {}

  std::optional<Tensor> value(const Value* v) {
    if (v->is_constant()) return v->tensor().defined() ? std::optional(v->tensor()) : std::nullopt;
    if (v->kind() == Value::Kind::parameter) return parameters_ ? parameters_(v) : std::nullopt;
    const Node* node = v->node();
    if (!node || !is_small(*node) || draws_random(*node)) return std::nullopt;
    const auto known = results_.find(node);
    const auto& results =
        known != results_.end() ? known->second : results_.emplace(node, run(*node)).first->second;
    return results.empty() ? std::nullopt : std::optional(results[v->index()]);
  }

 private:
  static bool is_small(const Node& node) {
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      const auto sizes = known_sizes(node.output(i)->shape());
      if (!sizes || tenon::numel(*sizes) > max_elements) return false;
    }
    return node.regions().empty();
  }

  std::vector<Tensor> run(const Node& node) {
    if (++nodes_ > max_nodes) return {};
    for (std::size_t i = 0; i < node.num_outputs(); ++i)
      elements_ += tenon::numel(*known_sizes(node.output(i)->shape()));
    if (elements_ > max_elements_together) return {};
    for (const auto& [name, attribute] : node.op().attributes())
      if (attribute.get<Dim>()) return {};
    std::vector<Tensor> inputs;
    for (const Value* input : node.inputs()) {
      auto data = value(input);
      if (!data) return {};
      inputs.push_back(std::move(*data));
    }
    return evaluate(node.op(), inputs);
  }

  const KnownParameters& parameters_;
  std::unordered_map<const Node*, std::vector<Tensor>> results_;
  std::int64_t elements_ = 0;  // of all results
  int nodes_ = 0;
};

}  // namespace

std::optional<Tensor> constant_value(const Value* v, const KnownParameters& parameters) {
  return Folder(parameters).value(v);
}

}  // namespace tenon::converter
