// Fused against unfused.
#include "report/unfused.h"

#include <cmath>

#include "ir/clone.h"

namespace tenon {
namespace {

double bytes_moved(const Plan& plan) {
  double sum = 0;
  for (const auto& step : plan.steps) sum += step->info.bytes;
  return sum;
}

}  // namespace

Unfused measure_unfused(const Model& model, Session& fused, std::span<const Tensor> inputs,
                        const InterleaveOptions& options) {
  const std::shared_ptr<Graph> graph = clone(*model.imported);
  fuse(*graph, {.fuse = false});
  Session session(graph, {.threads = fused.threads(), .device = &fused.device()});
  Profile p;
  p.plan = session.plan_for(inputs);
  p.pack_ms = session.packing_ms();
  const auto [before, after] = interleave({session, inputs}, {fused, inputs}, options);
  p.latency_ms = before.total_ms;
  std::vector<double> logs;
  for (std::size_t i = 0; i < before.total_ms.size(); ++i)
    logs.push_back(std::log(before.total_ms[i] / after.total_ms[i]));
  const Interval ci = median_interval(logs);
  return {.run = sized_run(p, session, inputs),
          .ratio = std::exp(median(logs)),
          .ratio_ci95 = {std::exp(ci.low), std::exp(ci.high)},
          .fused_ms = median(after.total_ms),
          .bytes = bytes_moved(*p.plan),
          .fused_bytes = bytes_moved(*fused.plan_for(inputs))};
}

}  // namespace tenon
