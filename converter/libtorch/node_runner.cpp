// Runs a TorchScript method node by node.
#include "converter/libtorch/node_runner.h"

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace tenon::libtorch {
namespace {

using torch::jit::Block;
using torch::jit::Function;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;

c10::IValue new_list(const c10::ListType& type, std::vector<c10::IValue> items) {
  // A shaped tensor type would make a list that is not a Tensor[].
  const auto element = type.getElementType();
  const bool holds_tensors = element->kind() == c10::TypeKind::TensorType;
  c10::impl::GenericList list(holds_tensors ? c10::TypePtr(c10::TensorType::get()) : element);
  for (c10::IValue& item : items) list.push_back(std::move(item));
  return list;
}

c10::IValue new_dict(const c10::DictType& type, const std::vector<c10::IValue>& items) {
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) dict.insert_or_assign(items[i], items[i + 1]);
  return dict;
}

c10::IValue new_tuple(const c10::TupleTypePtr& type, std::vector<c10::IValue> items) {
  if (type->name()) return c10::ivalue::Tuple::createNamed(std::move(items), type);
  return c10::ivalue::Tuple::create(std::move(items));
}

c10::IValue new_object(const c10::ClassTypePtr& type) {
  return c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type),
                                     type->numAttributes());
}

bool is_instance(const c10::IValue& value, const std::vector<c10::TypePtr>& types) {
  const c10::TypePtr actual = value.type();
  for (const c10::TypePtr& type : types) {
    if (actual->isSubtypeOf(*type)) return true;
  }
  return false;
}

}  // namespace

c10::IValue NodeRunner::call(Function& method, const c10::IValue& self,
                             const std::vector<c10::IValue>& arguments) {
  const auto root = std::make_shared<const std::string>();
  std::vector<KnownValue> slots{{self, false, root}};
  for (const c10::IValue& argument : arguments) slots.push_back({argument, false, nullptr});
  const std::vector<KnownValue> results = call_function(method, std::move(slots), root);
  return results.empty() ? c10::IValue() : results[0].value;
}

std::vector<NodeRunner::KnownValue> NodeRunner::call_function(Function& function,
                                                              std::vector<KnownValue> arguments,
                                                              std::shared_ptr<const std::string> module) {
  const auto* graph_function = torch::jit::tryToGraphFunction(function);
  TORCH_CHECK(graph_function, "the function ", function.name(), " has no graph");
  const auto graph = graph_function->graph();
  TORCH_CHECK(graph->inputs().size() == arguments.size(), function.name(), " takes ", graph->inputs().size(),
              " arguments, not ", arguments.size());
  CallFrame frame{std::move(module), {}};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    frame.slots[graph->inputs()[i]] = std::move(arguments[i]);
  run_block(*graph->block(), frame);
  std::vector<KnownValue> results;
  for (const Value* output : graph->outputs()) results.push_back(frame.slots.at(output));
  return results;
}

void NodeRunner::run_block(const Block& block, CallFrame& frame) {
  for (const Node* node : block.nodes()) run_node(*const_cast<Node*>(node), frame);
}

const c10::IValue& NodeRunner::input(const Node& node, std::size_t i, const CallFrame& frame) const {
  return frame.slots.at(node.input(i)).value;
}

void NodeRunner::set(const Node& node, std::size_t output, c10::IValue value, CallFrame& frame) {
  frame.slots[node.outputs()[output]] = {std::move(value), false, nullptr};
}

void NodeRunner::produce(const Node& node, std::size_t output, c10::IValue value, CallFrame& frame) {
  if (value.isTensor() && value.toTensor().defined()) {
    const std::string own = node.scopeName();  // exported programs say it of each node
    const NodeResult result{&node, node.outputs()[output], own.empty() ? *frame.module : own,
                            value.toTensor()};
    if (!watcher_(result)) throw Stopped{};
  }
  set(node, output, std::move(value), frame);
}

void NodeRunner::run_node(Node& node, CallFrame& frame) {
  if (node.kind() == prim::If) return run_if(node, frame);
  if (node.kind() == prim::Loop) return run_loop(node, frame);
  if (node.kind() == prim::CallMethod || node.kind() == prim::CallFunction) return run_call(node, frame);
  if (node.kind() == prim::Enter || node.kind() == prim::Exit) return run_context(node, frame);
  if (run_structural(node, frame) || run_with_scalar(node, frame)) return;
  run_operator(node, frame);
}

/// Nodes that only build, take apart or name values.
bool NodeRunner::run_structural(Node& node, CallFrame& frame) {
  const auto inputs = [&] {
    std::vector<c10::IValue> values;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) values.push_back(input(node, i, frame));
    return values;
  };
  switch (node.kind()) {
    case prim::Constant: {
      const auto value = torch::jit::toIValue(node.output());
      // A function constant has no value: run_call reads it from the node's type.
      frame.slots[node.output()] = {value.value_or(c10::IValue()), true, nullptr};
      return true;
    }
    case prim::GetAttr: get_attribute(node, frame); return true;
    case prim::SetAttr:
      input(node, 0, frame).toObject()->setAttr(node.s(attr::name), input(node, 1, frame));
      return true;
    case prim::Uninitialized: set(node, 0, c10::IValue::uninitialized(), frame); return true;
    case prim::CreateObject:
      set(node, 0, new_object(node.output()->type()->expect<c10::ClassType>()), frame);
      return true;
    case prim::unchecked_cast:
    case prim::Store: frame.slots[node.output()] = frame.slots.at(node.input(0)); return true;
    case prim::TupleConstruct:
      set(node, 0, new_tuple(node.output()->type()->expect<c10::TupleType>(), inputs()), frame);
      return true;
    case prim::ListConstruct:
      set(node, 0, new_list(node.output()->type()->expectRef<c10::ListType>(), inputs()), frame);
      return true;
    case prim::DictConstruct:
      set(node, 0, new_dict(node.output()->type()->expectRef<c10::DictType>(), inputs()), frame);
      return true;
    case prim::TupleUnpack: {
      const auto items = input(node, 0, frame).toTupleRef().elements().vec();
      for (std::size_t i = 0; i < items.size(); ++i) produce(node, i, items[i], frame);
      return true;
    }
    case prim::ListUnpack: {
      const std::vector<c10::IValue> items = input(node, 0, frame).toListRef().vec();
      TORCH_CHECK(items.size() == node.outputs().size(), "expected ", node.outputs().size(),
                  " elements, not ", items.size());
      for (std::size_t i = 0; i < items.size(); ++i) produce(node, i, items[i], frame);
      return true;
    }
    case prim::isinstance:
      set(node, 0, is_instance(input(node, 0, frame), node.tys(attr::types)), frame);
      return true;
    case prim::RaiseException: {
      const c10::IValue& message = input(node, 0, frame);
      C10_THROW_ERROR(Error,
                      "the model raised: " + (message.isString() ? message.toStringRef() : "an exception"));
    }
    default: return false;
  }
}

void NodeRunner::get_attribute(Node& node, CallFrame& frame) {
  const KnownValue& owner = frame.slots.at(node.input());
  const std::string& name = node.s(attr::name);
  KnownValue slot{owner.value.toObject()->getAttr(name), false, nullptr};
  const bool is_named_module = owner.module && slot.value.isModule();
  if (is_named_module) {
    slot.module =
        std::make_shared<const std::string>(owner.module->empty() ? name : *owner.module + "." + name);
  }
  frame.slots[node.output()] = std::move(slot);
}

void NodeRunner::run_call(Node& node, CallFrame& frame) {
  std::vector<KnownValue> arguments;
  for (const Value* argument : node.inputs()) arguments.push_back(frame.slots.at(argument));
  std::vector<KnownValue> results;
  if (node.kind() == prim::CallMethod) {
    const auto type = arguments[0].value.toObject()->type();
    Function& method = type->getMethod(node.s(attr::name));
    const auto module = arguments[0].module ? arguments[0].module : frame.module;
    results = call_function(method, std::move(arguments), module);
  } else {
    Function& function = *node.input(0)->type()->expectRef<c10::FunctionType>().function();
    arguments.erase(arguments.begin());
    results = call_function(function, std::move(arguments), frame.module);
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    frame.slots[node.outputs()[i]] = std::move(results.at(i));
}

/// `with` statements: __enter__, and __exit__ without an exception.
void NodeRunner::run_context(Node& node, CallFrame& frame) {
  const bool enters = node.kind() == prim::Enter;
  std::vector<KnownValue> arguments{frame.slots.at(node.input(0))};
  if (!enters) arguments.resize(4);
  Function& method = arguments[0].value.toObject()->type()->getMethod(enters ? "__enter__" : "__exit__");
  auto results = call_function(method, std::move(arguments), frame.module);
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    frame.slots[node.outputs()[i]] = std::move(results.at(i));
}

void NodeRunner::run_if(Node& node, CallFrame& frame) {
  const Block& taken = *node.blocks()[input(node, 0, frame).toBool() ? 0 : 1];
  run_block(taken, frame);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    KnownValue slot = frame.slots.at(taken.outputs()[i]);
    slot.is_constant = false;
    frame.slots[node.outputs()[i]] = std::move(slot);
  }
}

void NodeRunner::run_loop(Node& node, CallFrame& frame) {
  const Block& body = *node.blocks()[0];
  const std::int64_t most = input(node, 0, frame).toInt();
  bool goes_on = input(node, 1, frame).toBool();
  std::vector<KnownValue> carried;
  for (std::size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(frame.slots.at(node.input(i)));
  for (std::int64_t step = 0; step < most && goes_on; ++step) {
    frame.slots[body.inputs()[0]] = {step, false, nullptr};
    for (std::size_t i = 0; i < carried.size(); ++i) {
      carried[i].is_constant = false;
      frame.slots[body.inputs()[i + 1]] = carried[i];
    }
    run_block(body, frame);
    goes_on = frame.slots.at(body.outputs()[0]).value.toBool();
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = frame.slots.at(body.outputs()[i + 1]);
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    carried[i].is_constant = false;
    frame.slots[node.outputs()[i]] = std::move(carried[i]);
  }
}

/// What CanonicalizeOps does to a graph, done to one node: constant 0-dim tensors on the right become
/// scalars.
bool NodeRunner::run_with_scalar(Node& node, CallFrame& frame) {
  const bool is_candidate = node.matches("aten::add(Tensor self, Tensor other, *, Scalar alpha) -> Tensor") ||
                            node.matches("aten::sub(Tensor self, Tensor other, *, Scalar alpha) -> Tensor") ||
                            node.matches("aten::mul(Tensor self, Tensor other) -> Tensor") ||
                            node.matches("aten::div(Tensor self, Tensor other) -> Tensor");
  if (!is_candidate) return false;
  const KnownValue& right = frame.slots.at(node.input(1));
  if (!right.is_constant || !right.value.isTensor() || right.value.toTensor().dim() != 0) return false;

  const at::Tensor left = input(node, 0, frame).toTensor();
  const at::Scalar other = right.value.toTensor().item();
  at::Tensor result;
  switch (node.kind()) {
    case aten::add: result = at::add(left, other, input(node, 2, frame).toScalar()); break;
    case aten::sub: result = at::sub(left, other, input(node, 2, frame).toScalar()); break;
    case aten::mul: result = at::mul(left, other); break;
    default: result = at::div(left, other); break;
  }
  produce(node, 0, std::move(result), frame);
  return true;
}

void NodeRunner::run_operator(Node& node, CallFrame& frame) {
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) stack.push_back(input(node, i, frame));
  const auto* schema = node.maybeSchema();
  if (schema && schema->is_vararg()) stack.emplace_back(static_cast<std::int64_t>(node.inputs().size()));
  node.getOperation()(stack);
  TORCH_CHECK(stack.size() == node.outputs().size(), node.kind().toQualString(), " left ", stack.size(),
              " values");
  for (std::size_t i = 0; i < stack.size(); ++i) produce(node, i, std::move(stack[i]), frame);
}

}  // namespace tenon::libtorch
