// What a tenon-torch process may take and do, set before it looks at a file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace tenon::libtorch {

struct Limits {
  std::uint64_t memory = 0;       // bytes of address space beyond what is taken already; 0: no limit
  std::uint64_t cpu_seconds = 0;  // 0: no limit
};

/// No file can be written or grow and, where the kernel has Landlock, none can be opened but these and
/// those that describe the processor; no
/// core is dumped, privileges cannot rise; the process dies with its parent. Called after LibTorch is loaded
/// and before a file is read.
void enter_sandbox(const Limits& limits, const std::vector<std::string>& files);

/// Runs `work` on a thread with a 512 MB stack: LibTorch's parser and unpickler recurse.
void on_big_stack(const std::function<void()>& work);

}  // namespace tenon::libtorch
