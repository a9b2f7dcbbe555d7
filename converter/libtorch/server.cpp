// `tenon-torch serve`: runs a model for the requests of its parent.
#include "converter/libtorch/server.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <chrono>
#include <functional>
#include <optional>

#include "converter/libtorch/channel.h"
#include "converter/libtorch/commands.h"
#include "converter/libtorch/dropout.h"
#include "converter/libtorch/leaves.h"
#include "converter/libtorch/loader.h"
#include "converter/libtorch/node_runner.h"
#include "converter/libtorch/sandbox.h"
#include "converter/libtorch/source_location.h"

namespace tenon::libtorch {
namespace {

using nlohmann::json;
using torch::jit::Module;
using torch::jit::Node;

/// Whether a method of the module, or anything below, may leave the module changed: it sets an attribute,
/// or an operator writes into one of its arguments.
bool may_change(const Module& module) {
  const auto writes = [](const Node& node) {
    if (node.kind() == c10::prim::SetAttr || node.kind() == c10::prim::CallFunction) return true;
    const auto* schema = node.maybeSchema();
    if (!schema) return false;
    for (const auto& argument : schema->arguments()) {
      if (argument.alias_info() && argument.alias_info()->isWrite()) return true;
    }
    return false;
  };
  const std::function<bool(const torch::jit::Block&)> block_writes = [&](const torch::jit::Block& block) {
    for (const Node* node : block.nodes()) {
      if (writes(*node)) return true;
      for (const torch::jit::Block* inner : node->blocks()) {
        if (block_writes(*inner)) return true;
      }
    }
    return false;
  };
  for (const Module& part : module.modules()) {
    for (torch::jit::Function* method : part._ivalue()->type()->methods()) {
      const auto* graph_function = torch::jit::tryToGraphFunction(*method);
      if (!graph_function || block_writes(*graph_function->graph()->block())) return true;
    }
  }
  return false;
}

class Server {
 public:
  Server(const ServerOptions& options, Channel channel) : options_(options), channel_(channel) {}

  void run() {
    while (auto request = channel_.receive()) {
      try {
        answer(*request);
      } catch (const Stopped&) { channel_.send(json::object(), {}); } catch (...) {
        channel_.send(describe_current_exception(), {});
      }
    }
  }

 private:
  void answer(const Request& request) {
    const std::string task = request.header.at("do");
    prepare_module(request.header.at("stateful").get<bool>());
    if (task == "run") return run_method(request);
    if (task == "taps") return run_with_taps(request);
    return time_method(request);
  }

  /// The module as it was saved, or, for a stateful call, as the last stateful call left it.
  void prepare_module(bool is_stateful) {
    const bool is_used_up = is_changed_ && !(is_stateful && was_stateful_);
    if (!loaded_ || is_used_up) {
      loaded_.emplace(load_module(options_.path, Weights::read, options_.weights));
      set_eval(loaded_->module);
      if (options_.keep_dropout) keep_all(loaded_->module);
      may_change_ = may_change(loaded_->module);
    }
    is_changed_ = may_change_;
    was_stateful_ = is_stateful;
  }

  torch::jit::Method method(const Request& request) const {
    const std::string name = request.header.at("method");
    const auto found = loaded_->module.find_method(name);
    TORCH_CHECK(found, "the module has no method '", name, "'");
    return *found;
  }

  void run_method(const Request& request) {
    const auto f = method(request);
    const auto arguments = arguments_from(f.function().getSchema(), request.tensors);
    if (!loaded_->is_exported) return channel_.send(json::object(), leaves_of(f(arguments)));
    NodeRunner runner([](const NodeResult&) { return true; });
    channel_.send(json::object(), leaves_of(runner.call(f.function(), loaded_->module._ivalue(), arguments)));
  }

  void run_with_taps(const Request& request) {
    const auto f = method(request);
    std::size_t ordinal = 0;
    NodeRunner runner([&](const NodeResult& result) {
      const SourceLocation location = location_of(result.node->sourceRange());
      const auto* schema = result.node->maybeSchema();
      std::string op = result.node->kind().toQualString();
      if (schema && !schema->overload_name().empty()) op += "." + schema->overload_name();
      channel_.send({{"tap",
                      {{"ordinal", ordinal++},
                       {"module", result.module},
                       {"op", op},
                       {"value", result.value->debugName()},
                       {"file", location.file},
                       {"line", location.line},
                       {"function", location.function}}}},
                    {{"", result.tensor}});
      return channel_.is_told_to_go_on();
    });
    const auto arguments = arguments_from(f.function().getSchema(), request.tensors);
    channel_.send(json::object(), leaves_of(runner.call(f.function(), loaded_->module._ivalue(), arguments)));
  }

  void time_method(const Request& request) {
    const bool is_optimized = request.header.at("optimized");
    std::optional<Module> optimized;
    if (is_optimized) {
      Module frozen = torch::jit::freeze(loaded_->module);
      optimized = torch::jit::optimize_for_inference(frozen);
    }
    const auto f = is_optimized ? optimized->get_method(request.header.at("method")) : method(request);
    const auto arguments = arguments_from(f.function().getSchema(), request.tensors);
    const int warmup = request.header.at("warmup"), iterations = request.header.at("iterations");
    std::vector<double> milliseconds;
    for (int i = 0; i < warmup + iterations; ++i) {
      const auto start = std::chrono::steady_clock::now();
      f(arguments);
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      if (i >= warmup) milliseconds.push_back(took.count());
    }
    channel_.send({{"milliseconds", milliseconds}}, {});
  }

  const ServerOptions& options_;
  Channel channel_;
  std::optional<LoadedModule> loaded_;
  bool may_change_ = false, is_changed_ = false, was_stateful_ = false;
};

}  // namespace

void serve(const ServerOptions& options, int in, int out) {
  on_big_stack([&] {
    at::set_num_interop_threads(1);
    at::set_num_threads(options.threads);
    c10::NoGradGuard no_grad;
    Server(options, Channel(in, out)).run();
  });
}

}  // namespace tenon::libtorch
