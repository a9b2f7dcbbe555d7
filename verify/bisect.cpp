#include "verify/bisect.h"

namespace tenon {

Bisection bisect(const Model& model, const std::vector<Inputs>& samples, const BisectOptions& o) {
  Bisection result;
  for (std::size_t s = 0; s < samples.size() && !result.first; ++s) {
    const Inputs& inputs = samples[s];
    const auto take = [&](Search search) {
      if (search.silent && !result.silent) result.silent = std::move(search.silent);
      auto& found = search.first ? search.first : search.largest;
      if (!found) return false;
      found->sample = s;
      if (search.first)
        result.first = std::move(found);
      else
        result.largest.push_back(std::move(*found));
      return result.first.has_value();
    };
    if (model.is_source()) {
      o.progress("evaluating the imported graph in float64");
      const ImportedValues exact(*model.imported, inputs);
      if (o.torch) {
        o.progress("comparing the conversion");
        if (take(search_conversion(*model.imported, exact, *o.torch, inputs, o.method, o.tolerance))) break;
      }
      o.progress("comparing the fused graph");
      if (take(search_fusion(*model.imported, exact, *model.graph, inputs, o.tolerance))) break;
    }
    o.progress("comparing kernels");
    take(search_kernels(*model.graph, model.imported.get(), o.device, o.threads, inputs, o.tolerance));
  }
  return result;
}

}  // namespace tenon
