#include "converter/random.h"

#include <fmt/ranges.h>

#include <set>

#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/random.h"
#include "ir/random.h"

namespace tenon::converter {

namespace {

void keep_all(Node& node) {
  const InsertionPoint point{&node.parent(), &node, node.source};
  replace_all_uses(node.output(0), node.input(0));
  const Ref kept = full(node.output(1)->shape(), 1, DType::boolean, point);
  replace_all_uses(node.output(1), kept.value());
  node.parent().erase(&node);
}

/// `reported`: where a draw was reported; one draw may take several nodes.
void settle(Node& node, const RandomOptions& options, UnsupportedReport& report,
            std::set<std::string>& reported) {
  if (node.is<Dropout>()) {
    if (options.dropout == RandomOptions::Dropout::keep) keep_all(node);
    if (options.dropout == RandomOptions::Dropout::refuse)
      report.add("dropout", "dropout in training mode",
                 "call model.eval() before exporting, or choose: --train-mode=drop drops at random, "
                 "--train-mode=keep drops nothing",
                 node.source);
  } else if (node.is<RandomBits>() && !options.sample && reported.insert(node.source.str()).second) {
    report.add("random numbers", "what is drawn differs from what PyTorch or ONNX Runtime draw",
               "--random draws them (docs/random.md), or pass them in as an input", node.source);
  }
}

}  // namespace

void settle_random(Graph& graph, const RandomOptions& options, UnsupportedReport& report) {
  std::set<std::string> reported;
  for (Region* region : program_regions(graph)) {
    for (auto it = region->nodes().begin(); it != region->nodes().end();) {
      Node& node = **it++;
      settle(node, options, report, reported);
    }
  }
}

void note_random(const Graph& graph, ConvertNotes& notes) {
  const std::vector<bool> random = random_outputs(graph);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < random.size(); ++i)
    if (random[i]) names.push_back(output_name(graph, i));
  if (!names.empty())
    notes.push_back(
        {ConvertNote::Kind::assumption,
         fmt::format("random numbers decide {}: the source draws others, types and sizes alone are compared",
                     fmt::join(names, ", "))});
}

}  // namespace tenon::converter
