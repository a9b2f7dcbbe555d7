#include "fusion/fuse.h"

#include <chrono>

#include "base/error.h"
#include "fusion/passes.h"
#include "ir/verify.h"

namespace tenon {
namespace {

void check_names(const std::vector<std::string>& names, std::span<const Pass> passes) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const Pass& pass : passes) {
      found = found || pass.name == name;
      known += (known.empty() ? "" : ", ") + std::string(pass.name);
      for (const auto rule : pass.rules) {
        found = found || rule == name;
        known += ", " + std::string(rule);
      }
    }
    if (!found) throw error("no pass or rule is called '{}'", name).hint("there are " + known);
  }
}

}  // namespace

std::span<const Pass> pipeline() {
  static const std::vector<Pass> passes = {
      // One spelling for one meaning, so that every later rule is written once.
      canonicalise(),
      // What depends on weights alone becomes a weight; the rules below look for weights.
      fold_constants(),
      // Scales and shifts of channels move into the weights of the convolution or matmul before them.
      fold_affine(),
      // Spelled-out operators become one again. After folding, which may have completed a pattern.
      raise(),
      // Raising leaves transposes side by side.
      canonicalise(),
      // The expensive operators take what follows them first; the rest groups around what is left.
      fuse_anchors(),
      fuse_loops(),
  };
  return passes;
}

FuseReport fuse(Graph& graph, const FuseOptions& options, std::span<const Pass> passes) {
  FuseReport report;
  check_names(options.off, passes);
  clean_up(graph);
  verify(graph);
  for (const Pass& pass : passes) {
    if (pass.groups && !options.fuse) continue;
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t before = report.rewrites.size();
    Rewriter rewriter(graph, options, report, pass.name);
    pass.run(rewriter);
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
