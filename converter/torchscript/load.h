// Reading a TorchScript file: checked first, then parsed by LibTorch in a process of its own.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "converter/torchscript/program.h"

namespace tenon::torchscript {

struct LoadOptions {
  std::chrono::seconds timeout{120};
  /// The most address space the reading process may take, without the file itself and LibTorch.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

/// Reads a `.pt` saved by torch.jit.save. Nothing of the model is executed and no weight is copied: the
/// tensors of the Program are ranges of the mapped file.
/// The module is in eval mode, as after module.eval(); what was saved in training mode is recorded.
/// Throws Error when the file is not TorchScript (the hint says how to export one), is damaged, or makes
/// LibTorch crash, run out of memory or out of time; and when tenon-torch is not installed beside tenon.
Program load(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace tenon::torchscript
