// The launches of a case of gpu_cases.h compiled for the emulation, plain or with a sanitizer, and run in a
// process of their own.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/temporary_path.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {

enum class Tool { plain, address, thread };

/// What kernels are compiled for. A number of lanes stands for the chip on which all kernels with such waves
/// run.
class Chip {
 public:
  constexpr Chip(int lanes) : Chip(lanes == 32 ? "sm_90a" : "gfx942", lanes / 64, lanes) {}
  static constexpr Chip gfx1100() { return {"gfx1100", 2, 32}; }
  static constexpr Chip gfx90a() { return {"gfx90a", 3, 64}; }

  static constexpr int count = 4;
  const char* name;
  int number, wave;

 private:
  constexpr Chip(const char* name_, int number_, int wave_) : name(name_), number(number_), wave(wave_) {}
};

/// $TENON_KERNEL_TOOL (address or thread), else that of the build.
Tool kernel_tool();

class EmulatedLaunch {
 public:
  EmulatedLaunch(const GpuCase& c, Tool tool, Chip chip);

  /// What was wrong: what the compiler, a sanitizer or the emulation said, or the first number that differs.
  /// Empty: nothing. Order 0 runs threads and blocks in order, others in a random one.
  std::string run(int order = 0);
  /// The buffers after the last run.
  std::vector<std::vector<std::byte>> results();

 private:
  void compile(const std::string& source, const std::set<std::string>& kernels);
  std::string file(const std::string& name) { return folder_.file(name).string(); }
  std::string suffix() const;
  std::string run_command(const std::string& command);
  void write();
  std::string difference();

  const GpuCase& case_;
  const Tool tool_;
  const Chip chip_;
  std::map<std::string, std::string> libraries_;  // by their text
  TemporaryFolder folder_;
  std::string said_;
};

}  // namespace tenon::gpu
