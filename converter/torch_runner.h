// The source model run by LibTorch: what Tenon's results are compared with.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tenon {

/// Elements in row-major order without gaps.
struct RawTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

struct NamedRawTensor {
  std::string name;
  RawTensor tensor;
};

/// The value that one executed node of the source model produced.
struct IntermediateValue {
  std::size_t ordinal = 0;     // its number within one call, from 0
  std::string module;          // "layer3.0.conv2"; "" for the model itself
  std::string op;              // "aten::add.Tensor"
  std::string value;           // the name of the result in the graph: "input.12"
  std::string file, function;  // where the author wrote it
  int line = 0;                // 0: not known
  RawTensor tensor;
};

struct TorchRunnerOptions {
  int threads = 1;                    // results differ in the last bits between thread counts
  std::chrono::seconds timeout{600};  // for starting, and for each call
  std::uint64_t memory_limit = 0;     // bytes beyond LibTorch and the file; 0: most of the machine's
  std::vector<NamedRawTensor> fixed;  // what every call gets besides its inputs
  std::filesystem::path weights;      // of a .pt2: a .safetensors file beside it
  bool keep_dropout = false;          // dropout in training mode drops nothing (RandomOptions)
};

struct TorchCall {
  std::string method = "forward";
  /// Keep what the call changes in the module (attributes, buffers) for the next one. Otherwise every call
  /// sees the module as it was saved.
  bool stateful = false;
};

/// How `time` runs the model.
enum class TorchMode {
  module,     // module.forward, as in a C++ program that loaded the file
  optimized,  // after torch::jit::freeze and optimize_for_inference
};

/// A TorchScript or exported model in a tenon-torch process: eval mode, no gradients. The process ends with
/// this object, and a crash, an endless loop or an exception of the model is an Error that says so.
///
/// Inputs are leaves in the order of the method's parameters: a tuple takes its elements, a number its
/// 0-dim tensor (by the parameter's type), a missing optional its default. A list or dict parameter `xs`
/// takes the leaves named "xs.0", "xs.1", or "xs.KEY". When any input has a name, all are taken by name.
/// Outputs are leaves as well: "out", or "out.0", "out.logits" inside tuples, lists and dicts.
class TorchRunner {
 public:
  /// Throws Error when the file is neither TorchScript nor an exported program, or tenon-torch is missing.
  explicit TorchRunner(const std::filesystem::path& path, const TorchRunnerOptions& options = {});
  ~TorchRunner();
  TorchRunner(TorchRunner&&) noexcept;
  TorchRunner& operator=(TorchRunner&&) noexcept;

  std::vector<NamedRawTensor> run(std::span<const NamedRawTensor> inputs, const TorchCall& call = {});

  /// Runs node by node and passes each tensor to `on_value` right after its node ran. `on_value` returns
  /// false to stop the run; the result is empty then. Results are bit-identical to those of `run`.
  std::vector<NamedRawTensor> intermediate_values(
      std::span<const NamedRawTensor> inputs, const std::function<bool(const IntermediateValue&)>& on_value,
      const TorchCall& call = {});

  /// Milliseconds of each of `iterations` calls after `warmup` unmeasured ones.
  std::vector<double> time(std::span<const NamedRawTensor> inputs, int warmup, int iterations, TorchMode mode,
                           const TorchCall& call = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
