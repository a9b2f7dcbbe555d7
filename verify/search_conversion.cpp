#include <map>
#include <unordered_map>

#include "base/progress.h"
#include "ir/random.h"
#include "verify/search.h"
#include "verify/torch.h"

namespace tenon {
namespace {

// LibTorch's values by module, in order; each is matched at most once.
class TorchValues {
 public:
  void add(const IntermediateValue& tap) { by_module_[tap.module].push_back({to_tensor(tap.tensor), false}); }

  /// The distance of the nearest value of the module; nullopt when none has the shape and dtype.
  std::optional<Difference> nearest(const std::string& module, const ExactValue& value,
                                    const Tolerance& tolerance) {
    std::optional<Difference> least;
    for (auto& [tensor, taken] : by_module_[module]) {
      if (taken || tensor.shape() != value.value.shape() || tensor.dtype() != value.value.dtype()) continue;
      Difference d = compare(tensor, value.value);
      const bool match = !is_error(d, value.rounding, tolerance);
      if (!least || match || d.relative() < least->relative()) least = std::move(d);
      if (!match) continue;
      taken = true;
      break;
    }
    return least;
  }

 private:
  std::map<std::string, std::vector<std::pair<Tensor, bool>>> by_module_;
};

std::string module_of(const Node& node) { return node.source.modules.empty() ? "" : node.source.modules[0]; }

}  // namespace

Search search_conversion(const Graph& imported, const ImportedValues& exact, TorchRunner& torch,
                         std::span<const Tensor> inputs, const std::string& method,
                         const Tolerance& tolerance) {
  TorchValues taps;
  Count count("values of LibTorch");
  torch.intermediate_values(named_inputs(imported, inputs),
                            [&](const IntermediateValue& tap) {
                              taps.add(tap);
                              count.step();
                              return true;
                            },
                            {.method = method});
  std::unordered_map<const Node*, Difference> compared;
  const auto random = random_values(imported);  // LibTorch draws others
  const auto& nodes = imported.body().nodes();
  for (const auto& node : nodes) {
    if (node->num_outputs() == 1 && random.contains(node->output())) continue;
    const ExactValue* value = node->num_outputs() == 1 ? exact.find(node->output()->origin) : nullptr;
    if (!value) continue;
    if (auto d = taps.nearest(module_of(*node), *value, tolerance)) compared.emplace(node.get(), *d);
  }
  // A part of what is one operation for LibTorch is no value of LibTorch's; it is right when what follows is.
  std::unordered_map<const Node*, bool> leads_to_match;
  const auto matches = [&](const Node* node) {
    const auto found = compared.find(node);
    return found != compared.end() &&
           !is_error(found->second, exact.find(node->output()->origin)->rounding, tolerance);
  };
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    bool& leads = leads_to_match[it->get()];
    for (std::size_t i = 0; i < (*it)->num_outputs(); ++i)
      for (const Use& use : (*it)->output(i)->uses())
        leads = leads || (use.node && (leads_to_match[use.node] || matches(use.node)));
  }
  Search search;
  for (const auto& node : nodes) {
    const auto found = compared.find(node.get());
    if (found == compared.end() || (leads_to_match[node.get()] && !matches(node.get()))) continue;
    search.add(found->second, exact.find(node->output()->origin)->rounding, tolerance,
               [&] { return at_node(Divergence::Stage::conversion, imported, *node, nullptr); });
  }
  return search;
}

}  // namespace tenon
