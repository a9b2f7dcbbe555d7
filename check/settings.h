// case.toml: what a case asks for beside its files.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "converter/convert.h"
#include "runtime/devices.h"
#include "verify/outputs.h"

namespace tenon {

struct SessionOptions;

/// What an output may differ by; what is not given is taken from the case, then from the default.
struct ToleranceSetting {
  std::optional<double> share, rtol, atol;

  bool given() const { return share || rtol || atol; }
  /// rtol and atol replace the share unless it is given too.
  Tolerance resolved() const;
};

/// Largest sizes allowed.
struct Limits {
  std::optional<std::int64_t> nodes, steps, arena_bytes, artifact_bytes;
};

/// How long it may take.
struct SpeedSettings {
  std::string baseline;  // a model, an artifact or a stored profile, in the case's folder; empty: none
  std::optional<double> max_slowdown;  // times as long as the baseline; 1.1 where it is not given
  std::optional<double> over_unfused;  // how many times as fast fusion is to make it at least
  std::string predicted_on;            // the description of a device, in the case's folder
  std::optional<double> predicted_ms;  // the most that is predicted for it

  bool given() const { return !baseline.empty() || over_unfused || predicted_ms; }
};

struct CaseSettings {
  std::string model;           // the file's name, where the folder holds several
  std::string skip;            // the reason
  std::optional<Exit> expect;  // the case passes when the model is refused in this way
  std::string message;         // and the refusal says this, among others
  std::string method = "forward";
  std::vector<InputSpec> inputs;
  DeviceChoice device = default_choice();
  int threads = 1;
  bool fuse = true;
  std::vector<std::string> off;
  std::optional<bool> random;             // random numbers are drawn
  std::optional<std::string> train_mode;  // "drop" or "keep": what dropout in training mode does
  std::vector<std::string> libraries;     // with operators of the user's own; relative to the case's folder
  bool allow_libraries = false;           // what check was told; case.toml cannot say it
  ToleranceSetting tolerance;
  std::map<std::string, ToleranceSetting> outputs;  // by name
  Limits limits;
  SpeedSettings speed;
  std::map<std::string, int> operators;  // how many there are, by kind: "fused conv+relu"
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::uint64_t> memory_bytes;

  /// The output's own tolerance, else the case's, else `otherwise`.
  Tolerance tolerance_for(const std::string& output, const Tolerance& otherwise) const;
};

/// Where the case runs. Throws Error when there is no such device.
const Device& device_of(const CaseSettings&);

/// Throws Error naming file, line and key: no TOML, an unknown key (with the nearest known one), a value of
/// another kind.
CaseSettings read_settings(const std::filesystem::path& file);

}  // namespace tenon
