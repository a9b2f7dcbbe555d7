// Runs a TorchScript method node by node, so that each tensor can be looked at as it is made.
#pragma once
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::libtorch {

/// A tensor right after the node that made it. Look at it or copy it at once: a later node may write into it.
struct NodeResult {
  const torch::jit::Node* node;
  const torch::jit::Value* value;
  const std::string& module;  // path of the module whose method the node stands in
  const at::Tensor& tensor;
};

/// Thrown when the watcher says stop.
struct Stopped {};

/// Walks the methods themselves (nothing is inlined), so that a module is known by the chain of attributes
/// that led to it. A 0-dim constant on the right of add, sub, mul and div counts as a Python scalar, as
/// LibTorch's own executor has it after its pass CanonicalizeOps; results equal those of forward().
class NodeRunner {
 public:
  using Watcher = std::function<bool(const NodeResult&)>;  // false: stop

  explicit NodeRunner(Watcher watcher) : watcher_(std::move(watcher)) {}

  /// Calls a method of `self`; throws what the model throws.
  c10::IValue call(torch::jit::Function& method, const c10::IValue& self,
                   const std::vector<c10::IValue>& arguments);

 private:
  /// What is known about an SSA value besides its content.
  struct KnownValue {
    c10::IValue value;
    bool is_constant = false;                   // a prim::Constant, perhaps handed down through calls
    std::shared_ptr<const std::string> module;  // path, when it is an attribute of a known module
  };
  struct CallFrame {
    std::shared_ptr<const std::string> module;
    std::unordered_map<const torch::jit::Value*, KnownValue> slots;
  };

  std::vector<KnownValue> call_function(torch::jit::Function& function, std::vector<KnownValue> arguments,
                                        std::shared_ptr<const std::string> module);
  void run_block(const torch::jit::Block& block, CallFrame& frame);
  void run_node(torch::jit::Node& node, CallFrame& frame);
  bool run_structural(torch::jit::Node& node, CallFrame& frame);
  void run_call(torch::jit::Node& node, CallFrame& frame);
  void run_context(torch::jit::Node& node, CallFrame& frame);
  void run_if(torch::jit::Node& node, CallFrame& frame);
  void run_loop(torch::jit::Node& node, CallFrame& frame);
  void run_operator(torch::jit::Node& node, CallFrame& frame);
  bool run_with_scalar(torch::jit::Node& node, CallFrame& frame);
  void get_attribute(torch::jit::Node& node, CallFrame& frame);

  const c10::IValue& input(const torch::jit::Node& node, std::size_t i, const CallFrame& frame) const;
  void set(const torch::jit::Node& node, std::size_t output, c10::IValue value, CallFrame& frame);
  /// As `set`, and shows the value to the watcher when it is a tensor.
  void produce(const torch::jit::Node& node, std::size_t output, c10::IValue value, CallFrame& frame);

  Watcher watcher_;
};

}  // namespace tenon::libtorch
