// Everything a profile says, ready to be written as text, JSON, a trace or a page.
#pragma once
#include <map>
#include <optional>

#include "base/process_memory.h"
#include "base/statistics.h"
#include "pipeline/model.h"
#include "report/compare.h"
#include "runtime/attribution.h"
#include "runtime/cost/features.h"
#include "runtime/cost/machine.h"
#include "runtime/cost/model.h"
#include "runtime/profile.h"
#include "runtime/throughput.h"

namespace tenon {

struct ModelInfo {
  struct NamedType {
    std::string name, type;
  };
  std::string path, kind;  // kind: "torchscript", "pt2", "tenon"
  std::vector<NamedType> inputs, outputs;
  std::int64_t parameters = 0;
  std::size_t weight_bytes = 0;
};

struct MachineInfo {
  std::string cpu, isa;
  int cores = 0;
  std::optional<Peak> peak;  // for the number of threads used
};

/// One phase from the file to the first result.
struct PipelineStage {
  std::string name;  // read, import, fuse, plan, pack, first_run
  double ms = 0;
  std::vector<PassTime> passes;  // of fuse
};

struct StepRow {
  std::size_t index = 0;
  std::string name;  // the node in the IR's text form
  StepKind kind = StepKind::kernel;
  std::string op, kernel, module;
  std::vector<std::string> modules;
  std::vector<double> samples_ms;
  double ms = 0;     // median
  double share = 0;  // of all steps
  double flops = 0, bytes = 0;
  double gflops = 0, gbs = 0;      // achieved
  std::optional<double> roofline;  // share of what the machine could reach; above 1: from caches, or Winograd
  bool memory_bound = false;       // which roof is the lower one; meaningful with `roofline`
  std::vector<int> origins;        // of its outputs: values of the imported graph
  std::size_t live_bytes = 0;      // of the arena while it runs
  std::vector<StepPart> parts;
  StepFeatures features;
  std::optional<Estimate> predicted;  // of kernels that the cost model covers
};

/// A line of a table of times: a module, an operator or a kernel.
struct TimeRow {
  std::string name;  // empty: not attributed
  double ms = 0, share = 0;
  double flops = 0, bytes = 0;
  int steps = 0;
  bool estimated = false;  // has parts of steps, divided by an estimate
};

/// What is known of a model at one set of sizes.
struct SizedRun {
  Bindings sizes;
  Summary latency;                 // ms
  std::vector<double> samples_ms;  // in order
  double throughput_per_s = 0;     // runs
  double items_per_s = 0;          // runs times the first axis of the first input, where that is a symbol
  double plan_ms = 0, pack_ms = 0;
  std::size_t arena_bytes = 0, scratch_bytes = 0, packed_bytes = 0;
  ProcessMemory process;  // after these runs
  std::size_t steps = 0;
};

struct Unfused {
  SizedRun run;
  double ratio = 0;  // unfused time over fused time, from interleaved runs
  Interval ratio_ci95;
  double fused_ms = 0;                // in those runs
  double bytes = 0, fused_bytes = 0;  // moved by all steps
};

struct ProfileReport {
  std::vector<std::string> command;
  ModelInfo model;
  MachineInfo machine;
  std::string device = "cpu";
  int threads = 1, warmup = 0;
  std::optional<Calm> calm;
  std::vector<PipelineStage> stages;
  SizedRun run;
  double overhead = 0;  // of the step timers, as a share
  Interval overhead_ci95;
  std::vector<StepRow> steps;
  std::optional<Unfused> unfused;
  std::vector<SizedRun> sweep;
  std::vector<Throughput> streams;
  std::optional<Comparison> comparison;
  std::vector<RunTimes> timeline;  // of the runs with timers
};

ModelInfo model_info(const Model&);
/// Of a device with memory of its own: its name in place of the CPU's, without instruction set and cores.
MachineInfo machine_info(const Device&);
SizedRun sized_run(const Profile&, const Session&, std::span<const Tensor> inputs);
/// The steps of a plan that take so many milliseconds each; without samples.
std::vector<StepRow> step_rows(const Plan&, std::span<const double> ms, const std::optional<Peak>&);
std::vector<StepRow> step_rows(const Profile&, const std::optional<Peak>&);
/// Times a model with one set of inputs, by itself: the pipeline, runs, steps.
ProfileReport profile_report(const Model&, Session&, std::span<const Tensor> inputs, const ProfileOptions&,
                             const std::optional<Peak>&);
/// Fills the predicted times of its steps on this machine, which it ran on.
void put_predictions(ProfileReport&, const MachineDescription&);
/// Half as long again as predicted, and outside the interval that holds nine of ten.
bool is_slow(const StepRow&);
/// Its runs with timers, to be compared.
Recording recording_of(const ProfileReport&);

/// What a line of a table of times is.
enum class TimesBy : std::uint8_t { step, module, op, kernel };
/// "step", "module", "operator", "kernel".
const char* name(TimesBy);

/// Sums of steps, the largest first; not by step. Modules down to `depth` names (0: all).
std::vector<TimeRow> summed(std::span<const StepRow>, TimesBy by, int depth = 0);

}  // namespace tenon
