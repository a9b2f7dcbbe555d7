// The schema tenon.profile/1.
#include "report/profile_json.h"

#include "base/version.h"
#include "runtime/cost/record.h"

namespace tenon {

using nlohmann::ordered_json;

ordered_json to_json(const ModelInfo& m) {
  const auto slots = [](const std::vector<ModelInfo::NamedType>& list) {
    ordered_json out = ordered_json::array();
    for (const auto& s : list) out.push_back({{"name", s.name}, {"type", s.type}});
    return out;
  };
  return {{"path", m.path},
          {"kind", m.kind},
          {"inputs", slots(m.inputs)},
          {"outputs", slots(m.outputs)},
          {"parameters", m.parameters},
          {"weight_bytes", m.weight_bytes}};
}

namespace {

ordered_json to_json(const Summary& s) {
  return {{"min", s.min}, {"median", s.median}, {"mean", s.mean},
          {"max", s.max}, {"stddev", s.stddev}, {"p50", s.p50},
          {"p90", s.p90}, {"p99", s.p99},       {"ci95", {s.ci95.low, s.ci95.high}}};
}

ordered_json to_json(const MachineInfo& m) {
  ordered_json out{{"cpu", m.cpu}, {"cores", m.cores}, {"isa", m.isa}};
  const auto peak = [&](double Peak::*rate) {
    return m.peak ? ordered_json((*m.peak).*rate) : ordered_json();
  };
  out["peak_gflops"] = peak(&Peak::gflops);
  out["peak_gflops_of"] = m.peak ? own_rates(*m.peak) : ordered_json();
  out["peak_gbs"] = peak(&Peak::gbs);
  out["l2_gbs"] = peak(&Peak::l2_gbs);
  out["l3_gbs"] = peak(&Peak::l3_gbs);
  return out;
}

ordered_json to_json(const PipelineStage& s) {
  ordered_json out{{"name", s.name}, {"ms", s.ms}};
  for (const PassTime& p : s.passes)
    out["passes"].push_back({{"name", p.pass}, {"ms", p.ms}, {"rewrites", p.rewrites}});
  return out;
}

// What one set of sizes adds to an object.
void put(ordered_json& out, const SizedRun& r) {
  out["sizes"] = r.sizes;
  out["iterations"] = r.samples_ms.size();
  out["latency_ms"] = to_json(r.latency);
  out["samples_ms"] = r.samples_ms;
  out["throughput_per_s"] = r.throughput_per_s;
  out["items_per_s"] = r.items_per_s;
  out["plan_ms"] = r.plan_ms;
  out["pack_ms"] = r.pack_ms;
  out["peak_arena_bytes"] = r.arena_bytes;
  out["scratch_bytes"] = r.scratch_bytes;
  out["packed_bytes"] = r.packed_bytes;
  out["process_peak_bytes"] = r.process.peak;
  out["process_own_bytes"] = r.process.own;
}

ordered_json to_json(const StepRow& s) {
  ordered_json out{{"index", s.index},   {"name", s.name},       {"op", s.op},         {"kernel", s.kernel},
                   {"module", s.module}, {"modules", s.modules}, {"ms", s.ms},         {"share", s.share},
                   {"flops", s.flops},   {"bytes", s.bytes},     {"gflops", s.gflops}, {"gbs", s.gbs}};
  out["arithmetic"] = name(s.features.arithmetic);
  out["roofline"] = s.roofline ? ordered_json(*s.roofline) : ordered_json();
  out["predicted_ms"] = s.predicted ? ordered_json(s.predicted->ms) : ordered_json();
  out["slow"] = is_slow(s);
  out["bound"] = s.roofline ? ordered_json(s.memory_bound ? "memory" : "compute") : ordered_json();
  out["origins"] = s.origins;
  out["live_bytes"] = s.live_bytes;
  out["parts"] = ordered_json::array();
  for (const StepPart& p : s.parts)
    out["parts"].push_back({{"module", p.module}, {"op", p.op}, {"share", p.share}});
  out["samples_ms"] = s.samples_ms;
  out.update(to_json(s.features));
  return out;
}

}  // namespace

ordered_json to_json(const ProfileReport& p) {
  ordered_json out{{"schema", "tenon.profile/1"},   {"tenon", version()},
                   {"command", p.command},          {"model", to_json(p.model)},
                   {"machine", to_json(p.machine)}, {"device", p.device},
                   {"threads", p.threads},          {"stages", ordered_json::array()}};
  for (const PipelineStage& s : p.stages) out["stages"].push_back(to_json(s));
  out["warmup"] = p.warmup;
  if (p.calm) out["calm"] = {{"runs", p.calm->runs}, {"left_out", p.calm->left_out}};
  put(out, p.run);
  out["overhead"] = p.overhead;
  out["overhead_ci95"] = {p.overhead_ci95.low, p.overhead_ci95.high};
  const RunSamples samples = samples_of(p.timeline);
  out["step_runs_ms"] = samples.total_ms;
  out["steps"] = ordered_json::array();
  for (const StepRow& s : p.steps) out["steps"].push_back(to_json(s));
  out["modules"] = ordered_json::array();
  for (const TimeRow& m : summed(p.steps, TimesBy::module))
    out["modules"].push_back(
        {{"module", m.name}, {"ms", m.ms}, {"share", m.share}, {"estimated", m.estimated}});
  if (p.unfused) {
    ordered_json& u = out["unfused"];
    put(u, p.unfused->run);
    u["ratio"] = p.unfused->ratio;
    u["ratio_ci95"] = {p.unfused->ratio_ci95.low, p.unfused->ratio_ci95.high};
    u["steps"] = p.unfused->run.steps;
    u["fused_ms"] = p.unfused->fused_ms;
    u["bytes"] = p.unfused->bytes;
    u["fused_bytes"] = p.unfused->fused_bytes;
  }
  for (const SizedRun& r : p.sweep) put(out["sweep"].emplace_back(), r);
  for (const Throughput& t : p.streams) {
    const Interval ci = median_interval(t.runs_per_s);
    out["streams"].push_back({{"streams", t.streams},
                              {"runs_per_s", median(t.runs_per_s)},
                              {"ci95", {ci.low, ci.high}},
                              {"median_ms", median(t.latency_ms)},
                              {"p99_ms", quantile(t.latency_ms, 0.99)}});
  }
  if (p.comparison) out["comparison"] = to_json(*p.comparison);
  return out;
}

}  // namespace tenon
