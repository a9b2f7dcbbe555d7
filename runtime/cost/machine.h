// What a device is to a cost model: its rates, measured once, and how it is written down.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runtime/cost/features.h"
#include "runtime/cost/kernel_factors.h"
#include "runtime/device.h"
#include "runtime/roofline.h"

namespace tenon {

/// What so many threads of a device do at most.
struct Rates {
  int threads = 1;
  Peak peak;
  double step_ms = 0;  // of a step that computes one element
  /// Where the device was calibrated (tenon doctor --calibrate): at these rates.
  std::optional<Calibrated> calibrated = {};
};

/// A device described, so that models can be planned and predicted for it elsewhere.
struct MachineDescription {
  std::string device;    // "cpu"
  std::string hardware;  // "AMD EPYC 9B14 | avx512"
  std::string isa;       // "avx512"; empty where the device is no CPU
  int cores = 0;
  double l2_bytes = 0, l3_bytes = 0;  // of one core; of all
  std::vector<Rates> rates;

  /// Throws Error naming the numbers of threads that are described.
  const Rates& of(int threads) const;
};

/// Rates of calibrated devices, by hardware (Device::hardware), version of Tenon and number of threads, in
/// one JSON file.
class CalibrationCache {
 public:
  /// calibration.json beside what RooflineCache keeps.
  CalibrationCache();
  explicit CalibrationCache(std::filesystem::path file);

  const std::filesystem::path& file() const { return kept_.file(); }
  /// nullopt when nothing is kept for this device.
  std::optional<Rates> find(const Device&, int threads) const;
  /// Why what the file holds for this device is not used; "" where it is, or nothing is kept.
  std::string problem(const Device&, int threads) const;
  /// False where the file could not be written.
  bool keep(const Device&, const Rates&) const;

 private:
  KeptJson kept_;
};

/// Numbers of threads that descriptions and calibrations are of: one, and each power of two up to all cores.
std::vector<int> described_threads();

/// Measures what is kept nowhere (about a second for each number of threads). A calibration goes before
/// peaks.
MachineDescription describe_machine(const Device&, std::span<const int> threads,
                                    const RooflineCache& = RooflineCache(),
                                    const CalibrationCache& = CalibrationCache());

/// Schema tenon.device/1, described in docs/prediction.md.
nlohmann::ordered_json to_json(const MachineDescription&);
/// Throws Error naming the file where it is not one.
MachineDescription load_machine(const std::filesystem::path& file);

/// Fills the numbers of the device.
void put_machine(Features&, const MachineDescription&, const Rates&);

}  // namespace tenon
