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

/// No file can be written or grow, no core is dumped, privileges cannot rise, and the process dies with its
/// parent. Where the kernel has Landlock, no file can be opened but these and those that describe the
/// processor; where it has seccomp, no program can be started, no signal sent to another process, no socket
/// made, and no other system call used than LibTorch needs. Called after LibTorch is loaded and before a file
/// is read. Throws std::runtime_error when the kernel has these guards but they cannot be set.
void enter_sandbox(const Limits& limits, const std::vector<std::string>& files);

/// Runs `work` on a thread with a 512 MB stack: LibTorch's parser and unpickler recurse.
void on_big_stack(const std::function<void()>& work);

}  // namespace tenon::libtorch
