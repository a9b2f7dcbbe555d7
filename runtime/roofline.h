// What a device can do at most, measured once and kept: the roof over every step of a profile.
#pragma once
#include <optional>

#include "runtime/device.h"
#include "runtime/kept_json.h"

namespace tenon {

/// A step of `flops` operations that moves `bytes` can take no less than this, in milliseconds.
double least_ms(const Peak&, ArithmeticKind, double flops, double bytes);
/// True when memory, not arithmetic, bounds such a step.
bool bound_by_memory(const Peak&, ArithmeticKind, double flops, double bytes);

/// {"f64": 52.1, ...}: the rates of arithmetic that has one of its own, by its name.
nlohmann::ordered_json own_rates(const Peak&);
/// Reads them. What is no such name or no rate, of another version, changes nothing.
void put_own_rates(Peak&, const nlohmann::json&);

/// Peaks by hardware (Device::hardware), version of Tenon and number of threads, in one JSON file.
class RooflineCache {
 public:
  /// $XDG_CACHE_HOME/tenon/roofline.json, else ~/.cache/tenon/roofline.json; nothing is kept when neither is
  /// set.
  RooflineCache();
  explicit RooflineCache(std::filesystem::path file);

  const std::filesystem::path& file() const { return kept_.file(); }
  /// nullopt when nothing is kept for this device, or the file cannot be read.
  std::optional<Peak> find(const Device&, int threads) const;
  /// Whether the last measurement was disturbed by other programs, which makes a machine look slower: it
  /// should be taken again.
  bool is_disturbed(const Device&, int threads) const;
  /// Whether the last measurement was one of float32 alone, as an earlier version took it.
  bool lacks_rates(const Device&, int threads) const;
  /// Measures and keeps the best of this and earlier measurements. A file that cannot be written is no error:
  /// the next run measures again.
  Peak measure(const Device&, int threads) const;

 private:
  KeptJson kept_;
};

}  // namespace tenon
