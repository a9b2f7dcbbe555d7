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

/// $TENON_KERNEL_TOOL (address or thread), else that of the build.
Tool kernel_tool();

class EmulatedLaunch {
 public:
  EmulatedLaunch(const GpuCase& c, Tool tool, int wave);

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
  const int wave_;
  std::map<std::string, std::string> libraries_;  // by their text
  TemporaryFolder folder_;
  std::string said_;
};

}  // namespace tenon::gpu
