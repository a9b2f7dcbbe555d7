// What was measured of steps, one JSON object a line: what cost models are made from. docs/prediction.md
// describes it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "runtime/cost/machine.h"

namespace tenon {

/// A step's times in milliseconds, one for each run.
struct MeasuredStep {
  StepFeatures step;
  std::vector<double> samples_ms;
};

/// Lines of schema tenon.record/1: one for the run as a whole, one for each step. Nothing in them is a name
/// of a model, a weight, a file or a user; `program`, made of the steps' keys, says which lines belong
/// together.
std::string record_lines(std::span<const MeasuredStep>, std::span<const double> latency_ms,
                         const MachineDescription&, int threads);

/// Throws Error where lines cannot be added to the file: it is there, and begins with something else.
void check_takes_records(const std::filesystem::path& file);

/// The names that the features have in JSON, with their values.
nlohmann::ordered_json to_json(const Features&, bool with_device);
/// The fields that a profile has of a step's features.
nlohmann::ordered_json to_json(const StepFeatures&);

/// A step that was measured: what a cost model sees of it, and the median of its times.
struct StepRecord {
  std::string key, kernel;
  Features features;
  double ms = 0;
};
/// One for each key, in the order of keys: the steps that were measured on this hardware, by kernels of this
/// instruction set, with so many threads. Throws Error naming the file and line that is no record.
std::vector<StepRecord> load_records(const std::filesystem::path& file, const MachineDescription&,
                                     int threads);

}  // namespace tenon
