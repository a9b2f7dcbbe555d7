// Dropout in training mode that drops nothing (--train-mode=keep).
#include "converter/libtorch/dropout.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <string>

namespace tenon::libtorch {
namespace {

using torch::jit::Block;
using torch::jit::Node;

void set_input(Node& node, std::size_t place, const c10::IValue& value) {
  const torch::jit::WithInsertPoint before(&node);
  node.replaceInput(place, node.owningGraph()->insertConstant(value));
}

void keep(Node& node) {
  const auto* schema = node.maybeSchema();
  if (!schema) return;
  const bool is_dropout = schema->name().find("dropout") != std::string::npos;
  const auto& arguments = schema->arguments();
  for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    const std::string& name = arguments[i].name();
    if (is_dropout && name == "train") set_input(node, i, false);
    const bool is_share = arguments[i].type()->kind() == c10::TypeKind::FloatType;
    if (is_share && (name == "dropout_p" || name == "dropout")) set_input(node, i, 0.0);
  }
}

void keep(Block& block) {
  for (Node* node : block.nodes()) {
    keep(*node);
    for (Block* inner : node->blocks()) keep(*inner);
  }
}

}  // namespace

void keep_all(const torch::jit::Module& module) {
  for (const torch::jit::Module& part : module.modules())
    for (torch::jit::Function* method : part._ivalue()->type()->methods())
      if (auto* function = torch::jit::tryToGraphFunction(*method)) keep(*function->graph()->block());
}

}  // namespace tenon::libtorch
