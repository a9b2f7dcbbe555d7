// Which candidates compute groups fastest, as measured on a device.
#pragma once
#include <filesystem>
#include <map>
#include <memory>

#include "runtime/device.h"

namespace tenon {

/// What a measurement found for groups of one key.
struct TunedChoice {
  std::string group;                    // "conv+relu -> f32[1,64,56,56]", for readers
  std::string candidate;                // candidate_name of the fastest
  double ms = 0;                        // its median
  double incumbent_ms = 0;              // that of the candidate with the least estimate, in the same turns
  std::vector<std::string> tried = {};  // the other candidates that were measured
};

/// Groups of one key have the same candidates: operators, wiring, types and what is constant.
std::string choice_key(const Group&);
/// The candidate among those of one group: kernel, schedule, order in memory, form of its weights.
std::string candidate_name(const CandidateInfo&, const Schedule& = {});
/// The candidate of that name, and its schedule; nullopt where there is none.
std::optional<Decision> candidate_named(std::span<const CandidateInfo>, const std::string& name);

/// Measured choices of a device with so many threads.
class Tuning {
 public:
  Tuning(const Device&, int threads);

  const std::map<std::string, TunedChoice>& choices() const { return choices_; }
  const TunedChoice* find(const std::string& key) const;
  void put(const std::string& key, TunedChoice choice) { choices_[key] = std::move(choice); }

  /// Lines of schema tenon.tuning/1, docs/tuning.md; those of other hardware, devices or numbers of threads
  /// are passed over, of several with one key the last counts. Throws Error at `where` with the number of a
  /// line that is none.
  void read(std::string_view lines, const std::string& where);
  void read(const std::filesystem::path& file);
  std::string lines() const;

  /// Takes what was measured, and elsewhere the least estimate.
  Chooser chooser() const;

 private:
  std::string device_, hardware_;
  int threads_;
  std::map<std::string, TunedChoice> choices_;
};

/// Lines and where they come from: a file's name, for errors.
struct TuningLines {
  std::string lines, where;
};
/// Throws Error where the file cannot be read.
TuningLines read_tuning(const std::filesystem::path& file);
/// Lines of every device: of those with one device, hardware, number of threads and key the last. Throws
/// Error as Tuning::read().
std::string merged_tunings(std::span<const TuningLines>);

}  // namespace tenon
