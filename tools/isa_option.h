// --isa: kernels of another instruction set than the best one.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "kernels/cpu/isa.h"
#include "runtime/device.h"

namespace tenon::tools {

struct IsaOption {
  std::string name;  // empty: the best one

  void add(CLI::App& verb);
  /// Kernels are of this instruction set while the result lives. Throws Error at --isa where this machine
  /// does not run it, or the device is no CPU.
  std::unique_ptr<cpu::ForceIsa> force(const Device&) const;
};

}  // namespace tenon::tools
