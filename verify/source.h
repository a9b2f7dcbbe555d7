// Runs the source model in LibTorch or ONNX Runtime, for comparison with the converted one.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/torch_runner.h"
#include "ir/graph.h"

namespace tenon {

enum class Framework : std::uint8_t { torch, onnxruntime };

/// "LibTorch" or "ONNX Runtime".
std::string_view name(Framework);

class SourceRunner {
 public:
  /// `graph` is what the source was converted to, with what was `given` for its inputs; both frameworks get
  /// the arguments that the conversion fixed. Throws Error where LibTorch does not take the file.
  SourceRunner(Framework, std::filesystem::path source, const Graph& graph, std::span<const InputSpec> given,
               TorchRunnerOptions = {}, std::string method = "forward");

  /// In the graph's order; undefined for states that LibTorch keeps to itself. Throws Error.
  std::vector<Tensor> outputs(std::span<const Tensor> inputs);
  /// Null for ONNX Runtime.
  TorchRunner* torch() const { return torch_.get(); }

 private:
  const std::filesystem::path source_;
  const Graph& graph_;
  const std::vector<NamedRawTensor> fixed_;
  const std::string method_;
  std::unique_ptr<TorchRunner> torch_;
};

}  // namespace tenon
