// Is the second of two profiles slower than the first, and where?
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "base/statistics.h"
#include "runtime/profile.h"

namespace tenon {

/// "AMD EPYC (avx2)"
std::string machine_name(const std::string& cpu, const std::string& isa);

/// "x", "f32[8,1,28,28]"
struct MeasuredInput {
  std::string name, type;
  bool operator==(const MeasuredInput&) const = default;
};
using MeasuredInputs = std::vector<MeasuredInput>;

/// Types with symbols, at these sizes.
MeasuredInputs measured(MeasuredInputs types, const Bindings& sizes);
/// Those that a graph is given.
MeasuredInputs measured(const Graph&, std::span<const Tensor> inputs);
/// Whether times can be compared: of the same types and sizes, in any order. A model that was exported again
/// may call its inputs otherwise.
bool same_sizes(const MeasuredInputs&, const MeasuredInputs&);
/// "x: f32[8,1,28,28], mask: bool[8]"
std::string str(const MeasuredInputs&);

/// One side: its steps and how long they took.
struct Recording {
  struct Step {
    std::string op;
    std::string module;  // text
    std::vector<std::string> modules;
  };
  std::string label;
  std::string machine;  // CPU and instruction set; empty: this one
  std::string device = "cpu";
  int threads = 1;
  MeasuredInputs inputs;
  std::vector<Step> steps;
  RunSamples samples;
};

Recording recording_of(std::string label, MeasuredInputs, const Plan&, RunSamples);

/// Steps of both sides that compute the same modules; one side is empty where the other has no counterpart.
struct StepMatch {
  std::string name;
  std::vector<std::size_t> before, after;
};

/// Steps that share a module belong together, so that the times of each match are whole measured times even
/// where the two sides were fused differently. A match with the same operators in the same order on both
/// sides is taken apart step by step.
std::vector<StepMatch> match_steps(std::span<const Recording::Step> before,
                                   std::span<const Recording::Step> after);

struct Change {
  std::string name;
  std::size_t steps_before = 0, steps_after = 0;
  double before_ms = 0, after_ms = 0;  // medians
  double ratio = 1;                    // after over before
  Interval ci95;                       // of the ratio
  double p = 1;  // chance of such samples if it were not slower than allowed; for all questions together
  bool slower = false;  // an alarm
};

struct CompareOptions {
  double max_slowdown = 1.05;
  double significance = 0.01;  // of all questions together
  double least_share = 0.005;  // a step's extra time below this share of the total is no alarm
  double least_ms = 0.002;     // nor one below this
};

struct Comparison {
  std::string before, after;
  MeasuredInputs inputs_before, inputs_after;
  bool interleaved = false;
  int rounds = 1;  // an alarm is measured again, with fresh memory, before it is believed
  double max_slowdown = 0;
  Change total;
  std::vector<Change> steps;                         // matched ones, in the order of the first side
  double unmatched_before = 0, unmatched_after = 0;  // shares of time without a counterpart
  bool slower() const;
};

/// Samples i of both sides belong together (interleave()): judged by the ratios of pairs. A change is an
/// alarm when a signed-rank test finds the ratios above max_slowdown, corrected for the number of questions
/// (Holm), and the extra time is worth a word.
Comparison compare_paired(const Recording& before, const Recording& after, const CompareOptions& = {});

/// Profiles taken apart, which a busy machine alone can make different: besides a rank test, the fastest
/// samples and the ends of the 99% intervals of the medians must be slower than allowed too.
Comparison compare_stored(const Recording& before, const Recording& after, const CompareOptions& = {});

/// Clears the alarms of `first` that a second measurement of the same two sides does not share.
void confirm(Comparison& first, const Comparison& second);

/// Reads a profile that --json wrote. Throws Error naming the file and what is missing.
Recording load_recording(const std::filesystem::path&);

nlohmann::ordered_json to_json(const Comparison&);

}  // namespace tenon
