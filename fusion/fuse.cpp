#include "fusion/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/nearest.h"
#include "base/progress.h"
#include "fusion/passes.h"
#include "ir/ops/control.h"
#include "ir/verify.h"

namespace tenon {
namespace {

void check_names(const std::vector<std::string>& names, std::span<const Pass> passes) {
  std::vector<std::string_view> known, of_passes;
  const auto add = [](std::vector<std::string_view>& list, std::string_view name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  for (const Pass& pass : passes) {
    add(of_passes, pass.name);
    add(known, pass.name);
    for (const auto rule : pass.rules) add(known, rule);
  }
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw error("no pass or rule is called '{}'", name)
          .hint(fmt::format(
              "did you mean {}? the passes are {}; tenon convert --explain-fusion names the rules that apply",
              nearest(name, known), fmt::join(of_passes, ", ")));
}

}  // namespace

std::span<const Pass> pipeline() {
  static const std::vector<Pass> passes = {
      // One spelling for one meaning, so that every later rule is written once.
      canonicalise(),
      // What depends on weights alone becomes a weight; the rules below look for weights.
      fold_costly_constants(),
      // Scales and shifts of channels move into the weights of the convolution or matmul before them.
      fold_affine(),
      // Branches that are added; after their norms have folded into them.
      join_convolutions(),
      // Spelled-out operators become one again. After folding, which may have completed a pattern.
      raise(),
      // After linears and their biases have become one.
      sink_resizes(),
      // Raising leaves constants to compute (a mask turned round) and transposes side by side.
      fold_constants(),
      canonicalise(),
      fold_constants(),
      // After all that looks for weights.
      narrow_products(),
      narrow_weights(),
      // The expensive operators take what follows them first; the rest groups around what is left.
      fuse_anchors(),
      fuse_sums(),
      fuse_loops(),
  };
  return passes;
}

FuseReport fuse(Graph& graph, const FuseOptions& options, std::span<const Pass> passes) {
  FuseReport report;
  check_names(options.off, passes);
  clean_up(graph);
  verify(graph);
  Count count("passes", passes.size());
  for (const Pass& pass : passes) {
    count.step();
    if (pass.groups && !options.fuse) continue;
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t before = report.rewrites.size();
    for (Region* region : program_regions(graph)) {
      Rewriter rewriter(*region, options, report, pass.name);
      pass.run(rewriter);
    }
    clean_up(graph);
    verify(graph);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    report.passes.push_back(
        {std::string(pass.name), time.count(), static_cast<int>(report.rewrites.size() - before)});
    if (options.after_pass) options.after_pass(pass.name, graph);
  }
  return report;
}

}  // namespace tenon
