// The tenon-torch process as tenon starts it: sandboxed as far as the kernel allows.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "converter/process.h"

namespace tenon {

/// The sandboxing that the kernel offers.
struct KernelGuards {
  int landlock = 0;  // the version; 0: none
  bool seccomp = false;

  /// What a model that took control of LibTorch could still do, because this kernel cannot forbid it. Empty:
  /// nothing.
  std::string missing() const;
};
KernelGuards kernel_guards();

/// "Landlock 7, seccomp", and what is missing.
std::string describe(const KernelGuards&);

/// What tenon-torch says went wrong: {"error": the message, "code": the exit code}.
Error error_of(const nlohmann::json& record);

/// What a model may take beyond its file's own size, when no limit is given: most of the machine.
std::uint64_t default_memory_limit();

/// Starts tenon-torch in a process group of its own, with no environment, and with the operator libraries of
/// this process. Warns once on standard error where the kernel lacks a guard. Throws Error when it is not
/// installed or cannot be started.
std::unique_ptr<ChildProcess> start_tenon_torch(std::vector<std::string> arguments);

}  // namespace tenon
