// What this machine can do at most, measured once and kept: the roof over every step of a profile.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/cpu/peak.h"

namespace tenon {

/// The model name that the operating system gives, "unknown" where it gives none.
std::string cpu_name();

/// A step of `flops` operations that moves `bytes` can take no less than this, in milliseconds.
double least_ms(const cpu::Peak&, double flops, double bytes);
/// True when memory, not arithmetic, bounds such a step.
bool bound_by_memory(const cpu::Peak&, double flops, double bytes);

/// Peaks by CPU, instruction set, version of Tenon and number of threads, in one JSON file.
class RooflineCache {
 public:
  /// $XDG_CACHE_HOME/tenon/roofline.json, else ~/.cache/tenon/roofline.json; nothing is kept when neither is
  /// set.
  RooflineCache();
  explicit RooflineCache(std::filesystem::path file) : file_(std::move(file)) {}

  const std::filesystem::path& file() const { return file_; }
  /// nullopt when nothing is kept for this machine, or the file cannot be read.
  std::optional<cpu::Peak> find(int threads) const;
  /// Measures and keeps the best of this and earlier measurements (a busy machine only looks slower). A file
  /// that cannot be written is no error: the next run measures again.
  cpu::Peak measure(int threads) const;

 private:
  std::filesystem::path file_;
};

}  // namespace tenon
