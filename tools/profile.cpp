// tenon profile: where the time goes.
#include "report/profile.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "tools/model_options.h"
#include "tools/terminal.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct ProfileVerb {
  ModelOptions model;
  ProfileOptions runs;
  std::string json;
  int top = 20;
};

void print_steps(const Profile& p, int top) {
  std::vector<const StepProfile*> slowest;
  double total = 0;
  for (const StepProfile& s : p.steps) {
    slowest.push_back(&s);
    total += s.ms;
  }
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const auto* a, const auto* b) { return a->ms > b->ms; });
  Table table({"ms", "share", "GFLOP/s", "GB/s", "op", "kernel", "module"});
  for (std::size_t i = 0; i < slowest.size() && (top == 0 || i < static_cast<std::size_t>(top)); ++i) {
    const StepProfile& s = *slowest[i];
    const double per_ms = s.ms > 0 ? 1e-6 / s.ms : 0;
    table.add({fmt::format("{:.3f}", s.ms), fmt::format("{:.1f}%", 100 * s.ms / total),
               s.info->flops > 0 ? fmt::format("{:.1f}", s.info->flops * per_ms) : "",
               fmt::format("{:.1f}", s.info->bytes * per_ms), s.info->op, s.info->kernel,
               s.info->source.modules_text()});
  }
  fmt::print("{}{} steps, {:.3f} ms in all\n\n", table.str(), p.steps.size(), total);
}

int run_profile(const ProfileVerb& o) {
  Progress progress;
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  const std::vector<Tensor> inputs = o.model.values(model);
  progress.say("profiling");
  Session session(model.graph, {.threads = o.model.threads});
  const Profile p = profile(session, inputs, o.runs);
  progress.say("");
  print_steps(p, o.top);
  fmt::print(
      "latency ms: min {:.3f}  median {:.3f}  mean {:.3f}  p90 {:.3f}  p99 {:.3f}  ({} runs, {} thread{})\n",
      p.latency_ms.front(), p.percentile(0.5), p.mean(), p.percentile(0.9), p.percentile(0.99),
      o.runs.iterations, o.model.threads, o.model.threads == 1 ? "" : "s");
  fmt::print("plan and pack {:.1f} ms, arena {:.1f} MiB, packed weights {:.1f} MiB\n", p.plan_ms,
             static_cast<double>(p.plan->arena_bytes) / (1 << 20),
             static_cast<double>(session.packed_bytes()) / (1 << 20));
  if (!o.json.empty()) {
    AtomicFile file(o.json);
    file.write(to_json(p, {o.model.path, o.model.threads, o.runs.iterations}).dump(2) + "\n");
    file.commit();
  }
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("profile", "Time a model, step by step");
  auto o = std::make_shared<ProfileVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("--warmup", o->runs.warmup, "Runs before the timed ones")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--iters", o->runs.iterations, "Timed runs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--top", o->top, "Show the N slowest steps (0: all)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--json", o->json, "Write the profile as JSON")->type_name("FILE");
  verb->footer("Example: tenon profile resnet50.tenon --threads 1 --iters 50");
  verb->callback([&exit_code, o] { exit_code = run_profile(*o); });
}

}  // namespace tenon::tools
