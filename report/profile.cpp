// Puts together what a profile says.
#include "report/profile.h"

#include <algorithm>
#include <thread>

#include "ir/bind.h"
#include "ir/print.h"
#include "kernels/cpu/isa.h"
#include "runtime/cost/predict.h"
#include "runtime/cpu/name.h"

namespace tenon {
namespace {

std::string_view kind_word(const Model& model) {
  if (!model.is_source()) return "tenon";
  if (model.kind == FileKind::onnx) return "onnx";
  return model.kind == FileKind::pt2 ? "pt2" : "torchscript";
}

/// Adds shares of steps under names.
class Sums {
 public:
  void add(const std::string& name, const StepRow& step, double share, bool estimated) {
    const auto [it, first] = index_.emplace(name, rows_.size());
    if (first) rows_.push_back({.name = name});
    TimeRow& row = rows_[it->second];
    row.ms += share * step.ms;
    row.share += share * step.share;
    row.flops += share * step.flops;
    row.bytes += share * step.bytes;
    ++row.steps;
    row.estimated = row.estimated || estimated;
  }
  std::vector<TimeRow> sorted() && {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const TimeRow& a, const TimeRow& b) { return a.ms > b.ms; });
    return std::move(rows_);
  }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<TimeRow> rows_;
};

std::vector<TimeRow> by_name(std::span<const StepRow> steps, const std::string StepRow::*name) {
  Sums sums;
  for (const StepRow& s : steps) sums.add(s.*name, s, 1, false);
  return std::move(sums).sorted();
}

std::vector<TimeRow> by_module(std::span<const StepRow> steps, int depth) {
  Sums sums;
  for (const StepRow& s : steps) {
    std::map<std::string, double> shares;
    for (const StepPart& p : s.parts) shares[module_at_depth(p.module, depth)] += p.share;
    if (s.parts.empty()) shares[""] = 1;
    for (const auto& [module, share] : shares) sums.add(module, s, share, shares.size() > 1);
  }
  return std::move(sums).sorted();
}

// read to fuse, of opening the model.
std::vector<PipelineStage> stages_of(const Model& model) {
  std::vector<PipelineStage> stages{{"read", model.read_ms, {}}};
  if (!model.is_source()) return stages;
  stages.push_back({"import", model.import_ms, {}});
  double fuse = 0;
  for (const PassTime& p : model.fusion.passes) fuse += p.ms;
  stages.push_back({"fuse", fuse, model.fusion.passes});
  return stages;
}

}  // namespace

ModelInfo model_info(const Model& model) {
  ModelInfo info{.path = model.path.string(), .kind = std::string(kind_word(model))};
  const Graph& graph = *model.graph;
  for (const auto& p : graph.body().parameters()) info.inputs.push_back({p->name(), p->type().str()});
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    info.outputs.push_back({output_name(graph, i), graph.body().results()[i]->type().str()});
  for (const auto& w : graph.weights()) {
    const std::int64_t count = numel(eval(w->shape(), {}));
    info.parameters += count;
    info.weight_bytes += static_cast<std::size_t>(count) * size_of(w->dtype());
  }
  return info;
}

MachineInfo machine_info(const Device& device) {
  if (!device.shares_memory) return {.cpu = device.hardware()};
  return {.cpu = cpu_name(),
          .isa = std::string(cpu::name(cpu::isa())),
          .cores = static_cast<int>(std::thread::hardware_concurrency())};
}

SizedRun sized_run(const Profile& p, const Session& session, std::span<const Tensor> inputs) {
  SizedRun run{.sizes = bind_inputs(session.graph(), inputs),
               .latency = summarise(p.latency_ms),
               .samples_ms = p.latency_ms,
               .plan_ms = p.plan_ms,
               .pack_ms = p.pack_ms,
               .arena_bytes = p.plan->arena_bytes,
               .scratch_bytes = p.plan->scratch_bytes,
               .packed_bytes = session.packed_bytes(),
               .process = process_memory(),
               .steps = p.plan->steps.size()};
  run.throughput_per_s = 1000 / run.latency.median;
  const auto& parameters = session.graph().body().parameters();
  const bool batched =
      !parameters.empty() && parameters[0]->rank() > 0 && !parameters[0]->shape()[0].is_known();
  run.items_per_s = run.throughput_per_s * (batched ? static_cast<double>(inputs[0].shape()[0]) : 1.0);
  return run;
}

std::vector<StepRow> step_rows(const Plan& plan, std::span<const double> ms,
                               const std::optional<Peak>& peak) {
  // Shares of parts need some machine; which one matters little.
  const Peak weights = peak.value_or(Peak{.gflops = 50, .gbs = 10});
  const std::vector<std::size_t> live = plan.live_bytes();
  const std::vector<std::string> texts = print_nodes(*plan.graph, plan.nodes);
  const std::vector<StepFeatures> features = features_of(plan);
  std::vector<StepRow> rows;
  double total = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& info = plan.steps[i]->info;
    const Node* node = plan.nodes[i];
    StepRow row{.index = i,
                .name = node                          ? texts[i]
                        : info.kind == StepKind::copy ? "copy of a result"
                                                      : fmt::format("{} of {}", info.op, info.kernel),
                .kind = info.kind,
                .op = info.kind == StepKind::copy ? "copy" : info.op,
                .kernel = info.kernel,
                .module = info.source.modules_text(),
                .modules = info.source.modules,
                .ms = ms[i],
                .flops = features[i].numbers.flops,
                .bytes = features[i].numbers.bytes,
                .live_bytes = live[i],
                .parts = parts_of(plan, i, weights),
                .features = features[i]};
    const double per_ms = row.ms > 0 ? 1e-6 / row.ms : 0;
    row.gflops = row.flops * per_ms;
    row.gbs = row.bytes * per_ms;
    if (peak) {
      row.roofline = row.ms > 0 ? least_ms(*peak, row.features.arithmetic, row.flops, row.bytes) / row.ms : 0;
      row.memory_bound = bound_by_memory(*peak, row.features.arithmetic, row.flops, row.bytes);
    }
    for (std::size_t o = 0; node && o < node->num_outputs(); ++o)
      if (node->output(o)->origin >= 0) row.origins.push_back(node->output(o)->origin);
    total += row.ms;
    rows.push_back(std::move(row));
  }
  for (StepRow& row : rows) row.share = total > 0 ? row.ms / total : 0;
  return rows;
}

std::vector<StepRow> step_rows(const Profile& p, const std::optional<Peak>& peak) {
  const RunSamples samples = samples_of(p.runs);
  std::vector<double> medians;
  for (const auto& step : samples.step_ms) medians.push_back(median(step));
  std::vector<StepRow> rows = step_rows(*p.plan, medians, peak);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].samples_ms = samples.step_ms[i];
  return rows;
}

ProfileReport profile_report(const Model& model, Session& session, std::span<const Tensor> inputs,
                             const ProfileOptions& options, const std::optional<Peak>& peak) {
  Profile p = profile(session, inputs, options);
  ProfileReport report{.model = model_info(model),
                       .machine = machine_info(session.device()),
                       .device = session.device().name,
                       .threads = session.threads(),
                       .warmup = options.warmup,
                       .calm = p.calm,
                       .stages = stages_of(model),
                       .run = sized_run(p, session, inputs),
                       .overhead = p.overhead,
                       .overhead_ci95 = p.overhead_ci95,
                       .steps = step_rows(p, peak)};
  report.machine.peak = peak;
  report.stages.push_back({"plan", p.plan_ms, {}});
  report.stages.push_back({"pack", p.pack_ms, {}});
  report.stages.push_back({"first_run", p.first_run_ms, {}});
  report.timeline = std::move(p.runs);
  return report;
}

void put_predictions(ProfileReport& report, const MachineDescription& machine) {
  const Rates& rates = machine.of(report.threads);
  for (StepRow& row : report.steps) {
    const Estimate e = expected(row.features, machine, rates, CostModel::shipped());
    if (e.basis != Basis::roofline) row.predicted = e;
  }
}

bool is_slow(const StepRow& row) {
  return row.predicted && row.ms > std::max(1.5 * row.predicted->ms, row.predicted->interval.high);
}

Recording recording_of(const ProfileReport& report) {
  MeasuredInputs types;
  for (const ModelInfo::NamedType& s : report.model.inputs) types.push_back({s.name, s.type});
  Recording r{.label = report.model.path,
              .machine = machine_name(report.machine.cpu, report.machine.isa),
              .device = report.device,
              .threads = report.threads,
              .inputs = measured(std::move(types), report.run.sizes),
              .samples = samples_of(report.timeline)};
  for (const StepRow& s : report.steps) r.steps.push_back({s.op, s.module, s.modules});
  return r;
}

const char* name(TimesBy by) {
  switch (by) {
    case TimesBy::module: return "module";
    case TimesBy::op: return "operator";
    case TimesBy::kernel: return "kernel";
    case TimesBy::step: break;
  }
  return "step";
}

std::vector<TimeRow> summed(std::span<const StepRow> steps, TimesBy by, int depth) {
  TENON_CHECK(by != TimesBy::step);
  if (by == TimesBy::module) return by_module(steps, depth);
  return by_name(steps, by == TimesBy::op ? &StepRow::op : &StepRow::kernel);
}

}  // namespace tenon
