// Loading a model file with LibTorch, and knowing where in the file each storage came from.
#pragma once
#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "base/zip.h"

namespace tenon::libtorch {

/// Where in the file the bytes at an address came from.
struct ReadRecord {
  std::uint64_t offset = 0, size = 0;
};

struct LoadedModule {
  std::shared_ptr<const MappedFile> file;
  std::unique_ptr<ZipReader> zip;
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  torch::jit::Module module;
  bool is_exported = false;  // made from a .pt2: run node by node, as LibTorch's own passes would change it
  std::map<const void*, ReadRecord> reads;                                 // the last read into each address
  std::map<const torch::jit::Function*, std::vector<c10::IValue>> traced;  // methods, and the trace's inputs
};

enum class Weights { read, skip };

/// Loads the module of a TorchScript file or an exported program onto the CPU, with the input shapes of
/// traces restored. Runs none of its methods. With Weights::skip the tensors of the module (not the constants
/// of its code) have undefined content when they are larger than a page or so: for looking at the program
/// only.
/// `weights_file`: see exported::load.
LoadedModule load_module(const std::string& path, Weights weights, const std::string& weights_file = {});

/// Sets `training` to false in every module, as module.eval() does.
void set_eval(const torch::jit::Module& module);

}  // namespace tenon::libtorch
