#include "report/profile.h"

namespace tenon {

nlohmann::ordered_json to_json(const Profile& p, const ProfileSetting& setting) {
  nlohmann::ordered_json out;
  out["model"] = setting.model;
  out["device"] = "cpu";
  out["threads"] = setting.threads;
  out["iterations"] = setting.iterations;
  out["plan_ms"] = p.plan_ms;
  out["latency_ms"] = {{"min", p.latency_ms.front()},
                       {"median", p.percentile(0.5)},
                       {"mean", p.mean()},
                       {"p90", p.percentile(0.9)},
                       {"p99", p.percentile(0.99)}};
  out["peak_arena_bytes"] = p.plan->arena_bytes;
  for (const StepProfile& s : p.steps)
    out["steps"].push_back({{"name", s.info->text},
                            {"op", s.info->op},
                            {"kernel", s.info->kernel},
                            {"module", s.info->source.modules_text()},
                            {"ms", s.ms},
                            {"flops", s.info->flops},
                            {"bytes", s.info->bytes}});
  return out;
}

}  // namespace tenon
