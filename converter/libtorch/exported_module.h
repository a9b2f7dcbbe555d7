// An exported program as a TorchScript module: so LibTorch runs it as it runs every other.
#pragma once
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>

namespace tenon::libtorch {

/// A module whose `forward` calls the operators of the `.pt2` one by one. Its tensors are copies.
/// Throws when an operator is not one of LibTorch's.
torch::jit::Module load_exported(const std::string& path, const std::string& weights,
                                 std::shared_ptr<torch::jit::CompilationUnit> unit);

}  // namespace tenon::libtorch
