#include "verify/source.h"

#include "verify/onnxruntime.h"
#include "verify/torch.h"

namespace tenon {

std::string_view name(Framework framework) {
  return framework == Framework::torch ? "LibTorch" : "ONNX Runtime";
}

SourceRunner::SourceRunner(Framework framework, std::filesystem::path source, const Graph& graph,
                           std::span<const InputSpec> given, TorchRunnerOptions options, std::string method)
    : source_(std::move(source)),
      graph_(graph),
      fixed_(fixed_numbers(graph, given)),
      method_(std::move(method)) {
  options.fixed = fixed_;
  if (framework == Framework::torch) torch_ = std::make_unique<TorchRunner>(source_, options);
}

std::vector<Tensor> SourceRunner::outputs(std::span<const Tensor> inputs) {
  if (torch_) return torch_outputs(*torch_, graph_, inputs, method_);
  return onnxruntime_outputs(source_, graph_, inputs, fixed_);
}

}  // namespace tenon
