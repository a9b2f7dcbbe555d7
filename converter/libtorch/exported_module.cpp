#include "converter/libtorch/exported_module.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

#include "converter/exported/load.h"
#include "converter/libtorch/dtype.h"

namespace tenon::libtorch {
namespace {

namespace ts = torchscript;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Kind = ts::Type::Kind;

TORCH_LIBRARY_FRAGMENT(tenon, library) {
  library.def(
      "view_as_dtype(Tensor(a) x, int dtype) -> Tensor(a)",
      [](const at::Tensor& x, std::int64_t dtype) { return x.view(static_cast<c10::ScalarType>(dtype)); });
}

/// The types of arguments and results; containers have their items' names.
class Types {
 public:
  c10::TypePtr type(const ts::Type& t) {
    if (t.fixed) return c10::NoneType::get();
    switch (t.kind) {
      case Kind::tensor: return c10::TensorType::get();
      case Kind::integer: return c10::IntType::get();
      case Kind::real: return c10::FloatType::get();
      case Kind::boolean: return c10::BoolType::get();
      case Kind::string: return c10::StringType::get();
      case Kind::none: return c10::NoneType::get();
      case Kind::optional: return c10::OptionalType::create(type(*t.inner.at(0)));
      case Kind::list: return c10::ListType::create(type(*t.inner.at(0)));
      case Kind::tuple: return tuple(t);
      default: TORCH_CHECK(false, "a value of the type '", t.text, "' is not run by LibTorch");
    }
  }

 private:
  c10::TypePtr tuple(const ts::Type& t) {
    std::vector<c10::TypePtr> items;
    for (const ts::Type* item : t.inner) items.push_back(type(*item));
    if (t.fields.empty()) return c10::TupleType::create(std::move(items));
    const std::string name = "__torch__.exported.Fields" + std::to_string(tuples_++);
    return c10::TupleType::createNamed(c10::QualifiedName(name), t.fields, items);
  }

  int tuples_ = 0;
};

/// Tensors over copies of their storages: what shares bytes in the file shares them here.
class Data {
 public:
  at::Tensor tensor(const ts::Tensor& t) {
    const auto dtype = scalar_type(name(t.dtype));
    TORCH_CHECK(dtype, "a tensor of a dtype that LibTorch does not have");
    at::Tensor& bytes = storages_[t.storage];
    if (!bytes.defined()) {
      const auto held = t.storage->bytes;
      bytes = at::empty({static_cast<std::int64_t>(held.size())}, c10::kByte);
      if (!held.empty()) std::memcpy(bytes.mutable_data_ptr(), held.data(), held.size());
    }
    return at::empty({0}, *dtype).set_(bytes.storage(), t.offset, t.sizes, t.strides);
  }

 private:
  std::map<const ts::Storage*, at::Tensor> storages_;
};

bool is_number(const ts::IValue& v) {
  return std::holds_alternative<bool>(v) || std::holds_alternative<std::int64_t>(v) ||
         std::holds_alternative<double>(v) || std::holds_alternative<std::complex<double>>(v);
}

at::Scalar scalar(const ts::IValue& v) {
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
  if (const auto* c = std::get_if<std::complex<double>>(&v))
    return c10::complex<double>(c->real(), c->imag());
  return std::get<double>(v);
}

/// A number where an operator takes a tensor: as Python passes it, it does not decide the result's dtype.
at::Tensor wrapped_number(const ts::IValue& v) {
  const at::Scalar number = scalar(v);
  at::Tensor t = at::scalar_tensor(number, number.type());
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

/// A constant as a parameter of this type takes it.
c10::IValue constant(const ts::IValue& v, const c10::Type& wanted) {
  if (std::holds_alternative<ts::None>(v)) return {};
  if (wanted.kind() == c10::TypeKind::OptionalType)
    return constant(v, *wanted.expectRef<c10::OptionalType>().getElementType());
  if (const auto* list = std::get_if<const ts::List*>(&v)) {
    const auto element = wanted.kind() == c10::TypeKind::ListType
                             ? wanted.expectRef<c10::ListType>().getElementType()
                             : c10::TypePtr(c10::AnyType::get());
    c10::impl::GenericList items(element);
    for (const ts::IValue& item : (*list)->items) items.push_back(constant(item, *element));
    return items;
  }
  if (const auto* text = std::get_if<std::string>(&v)) return *text;
  if (std::holds_alternative<ts::Device>(v)) return c10::Device(c10::kCPU);
  if (const auto* flag = std::get_if<bool>(&v); flag && wanted.kind() == c10::TypeKind::AnyType) return *flag;
  TORCH_CHECK(is_number(v), "an argument of a kind that LibTorch's operators do not take");
  switch (wanted.kind()) {
    case c10::TypeKind::TensorType: return wrapped_number(v);
    case c10::TypeKind::FloatType: return scalar(v).toDouble();
    case c10::TypeKind::BoolType: return scalar(v).toBool();
    case c10::TypeKind::IntType: return scalar(v).toLong();
    case c10::TypeKind::AnyType: return c10::IValue(scalar(v));
    default: return scalar(v).isBoolean() ? c10::IValue(scalar(v).toLong()) : c10::IValue(scalar(v));
  }
}

/// The JIT has int lists for what is one int in a file.
const torch::jit::Operator& operator_for(const ts::Schema& schema) {
  const auto symbol = c10::Symbol::fromQualString(std::string(schema.kind));
  for (const auto& op : torch::jit::getAllOperatorsFor(symbol))
    if (op->schema().overload_name() == schema.overload) return *op;
  TORCH_CHECK(false, "LibTorch has no operator ", schema.key);
}

class GraphMaker {
 public:
  GraphMaker(const ts::Function& function, Graph& graph, Value* self, Types& types)
      : function_(function), graph_(graph), self_(self), types_(types), values_(function.values.size()) {}

  void run(const std::vector<Value*>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[function_.body.inputs[i]] = inputs[i];
    nodes(function_.body);
    for (const ts::ValueId id : function_.body.outputs) graph_.registerOutput(value(id, nullptr));
  }

 private:
  /// The value; a constant is made anew for each use, as the user wants it.
  Value* value(ts::ValueId id, const c10::TypePtr& wanted) {
    const auto known = constants_.find(id);
    if (known == constants_.end()) return values_.at(id);
    const c10::TypePtr type = wanted ? wanted : c10::TypePtr(c10::AnyType::get());
    return graph_.insertConstant(constant(*known->second, *type));
  }
  Value* value(ts::ValueId id) { return value(id, nullptr); }
  std::vector<Value*> values(const std::vector<ts::ValueId>& ids) {
    std::vector<Value*> out;
    for (const ts::ValueId id : ids) out.push_back(value(id));
    return out;
  }
  const ts::Type& type_of(ts::ValueId id) const { return *function_.values.at(id).type; }

  void nodes(const ts::Block& block) {
    for (const ts::Node& node : block.nodes) {
      if (node.kind == "prim::Constant") {
        constants_[node.outputs.at(0)] = &node.constant;
        continue;
      }
      if (const auto* u = std::get_if<ts::Unsupported>(&node.constant))
        TORCH_CHECK(false, "LibTorch does not run ", std::string(node.kind), ": ", u->what);
      Node* made = node.schema ? call(node) : structural(node);
      place(*made, node.source);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) name(made->output(i), node.outputs[i]);
    }
  }

  void name(Value* v, ts::ValueId id) {
    values_[id] = v;
    const std::string text(function_.values[id].name);
    const bool is_identifier =
        !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_');
    if (is_identifier) v->setDebugName(text);
  }

  void place(Node& node, const ts::Source& source) {
    if (!source.module.empty()) {
      node.setScope(root_->push(c10::Symbol::scope(std::string(source.module))));
    }
    if (source.line == 0) return;
    const std::string file(source.file);
    const auto text =
        std::make_shared<torch::jit::Source>(file + "(" + std::to_string(source.line) + "): forward", file,
                                             static_cast<std::size_t>(source.line - 1));
    node.setSourceRange(torch::jit::SourceRange(text, 0, 1));
  }

  /// The JIT takes pow.int, which gives a float, for the same operands.
  Node* power_of_ints(const ts::Node& node) {
    Value* power = graph_.insert(c10::aten::pow, {value(node.inputs.at(0)), value(node.inputs.at(1))});
    return graph_.insert(c10::aten::Int, {power})->node();
  }

  /// The JIT has integers for dtypes, and takes them for sizes.
  Node* view_as_dtype(const ts::Node& node) {
    static const auto view = c10::Symbol::fromQualString("tenon::view_as_dtype");
    return graph_.insert(view, {value(node.inputs.at(0)), value(node.inputs.at(1))})->node();
  }

  Node* call(const ts::Node& node) {
    if (node.schema->key == "aten::view.dtype") return view_as_dtype(node);
    if (node.schema->key == "aten::pow.int_to_int") return power_of_ints(node);
    const c10::FunctionSchema& schema = operator_for(*node.schema).schema();
    TORCH_CHECK(schema.arguments().size() == node.inputs.size(), node.schema->key,
                " has other arguments in this LibTorch");
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool says_dtype = schema.arguments()[i].name() == "dtype" && fills_with_bool(node);
      inputs.push_back(says_dtype ? graph_.insertConstant(static_cast<std::int64_t>(c10::kBool))
                                  : value(node.inputs[i], schema.arguments()[i].type()));
      // The JIT's numbers are no bools.
      const bool is_number = schema.arguments()[i].type()->kind() == c10::TypeKind::NumberType;
      if (is_number && inputs[i]->type()->kind() == c10::TypeKind::BoolType)
        inputs[i] = graph_.insert(c10::aten::Int, {inputs[i]});
    }
    Node* made =
        graph_.create(c10::Symbol::fromQualString(std::string(node.kind)), inputs, schema.returns().size());
    for (std::size_t i = 0; i < schema.returns().size(); ++i) {
      const c10::Type& returned = *schema.returns()[i].type();
      const bool is_generic = returned.hasFreeVariables() || returned.kind() == c10::TypeKind::NumberType;
      made->output(i)->setType(is_generic ? types_.type(type_of(node.outputs.at(i)))
                                          : schema.returns()[i].type());
    }
    graph_.insertNode(made);
    const auto* found = made->maybeSchema();
    TORCH_CHECK(found && stands_for(*found, node), "LibTorch calls another overload than ", node.schema->key,
                " for these arguments");
    return made;
  }

  /// torch.full(size, True): the JIT's numbers are no bools, so the dtype must say it.
  bool fills_with_bool(const ts::Node& node) const {
    const auto fill = node.schema->index_of("fill_value"), dtype = node.schema->index_of("dtype");
    if (!fill || !dtype) return false;
    const auto filled = constants_.find(node.inputs[*fill]), given = constants_.find(node.inputs[*dtype]);
    return filled != constants_.end() && given != constants_.end() &&
           std::holds_alternative<bool>(*filled->second) && std::holds_alternative<ts::None>(*given->second);
  }

  /// The JIT chooses overloads by types. It has twins for lists without None, functions of any number, and
  /// takes a number that is computed where an operator wants a tensor as the number it is.
  bool stands_for(const c10::FunctionSchema& found, const ts::Node& node) const {
    const std::string& overload = found.overload_name();
    if (overload == node.schema->overload || overload.ends_with("hacked_twin")) return true;
    const auto& taken = found.arguments();
    const auto takes_any_number = [](const c10::Argument& a) {
      return a.type()->kind() == c10::TypeKind::NumberType;
    };
    if (is_of_numbers(node) && std::all_of(taken.begin(), taken.end(), takes_any_number)) return true;
    if (differ_in_none(taken, node)) return true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_computed = !constants_.contains(node.inputs[i]);
      const Kind kind = type_of(node.inputs[i]).kind;
      const bool is_a_number = kind == Kind::integer || kind == Kind::real;
      if (is_computed && is_a_number && node.schema->arguments[i].type->kind == Kind::tensor) return true;
    }
    return false;
  }

  /// Overloads that differ in the types of arguments which are None here: None is none of both.
  bool differ_in_none(const std::vector<c10::Argument>& taken, const ts::Node& node) const {
    const auto& arguments = node.schema->arguments;
    bool same = taken.size() == arguments.size() && taken.size() == node.inputs.size();
    for (std::size_t i = 0; same && i < taken.size(); ++i) {
      const auto given = constants_.find(node.inputs[i]);
      const bool is_none = given != constants_.end() && std::holds_alternative<ts::None>(*given->second);
      same = taken[i].name() == arguments[i].name &&
             (is_none || taken[i].type()->str() == arguments[i].type->text);
    }
    return same;
  }

  static bool is_of_numbers(const ts::Node& node) {
    const auto& arguments = node.schema->arguments;
    return std::all_of(arguments.begin(), arguments.end(), [](const ts::Argument& a) {
      return a.type->kind == Kind::integer || a.type->kind == Kind::real || a.type->kind == Kind::boolean;
    });
  }

  Node* structural(const ts::Node& node) {
    if (node.kind == "prim::GetAttr") {
      Value* v = graph_.insertGetAttr(self_, std::string(node.name));
      return v->node();
    }
    if (node.kind == "prim::SetAttr") {
      Node* made = graph_.insertNode(graph_.create(c10::prim::SetAttr, {self_, value(node.inputs.at(1))}, 0));
      return made->s_(c10::attr::name, std::string(node.name));
    }
    if (node.kind == "prim::TupleUnpack")
      return graph_.insertNode(graph_.createTupleUnpack(value(node.inputs.at(0))));
    if (node.kind == "prim::ListUnpack")
      return graph_.insertNode(graph_.createListUnpack(value(node.inputs.at(0)), node.outputs.size()));
    if (node.kind == "prim::ListConstruct") {
      const auto element = types_.type(*type_of(node.outputs.at(0)).inner.at(0));
      std::vector<Value*> items;
      for (const ts::ValueId id : node.inputs) items.push_back(value(id, element));
      return graph_.insertNode(graph_.createList(element, items));
    }
    if (node.kind == "prim::TupleConstruct") return tuple(node);
    if (node.kind == "prim::If" || node.kind == "prim::Loop") return with_blocks(node);
    TORCH_CHECK(false, "LibTorch does not run ", std::string(node.kind));
  }

  Node* tuple(const ts::Node& node) {
    const auto items = values(node.inputs);
    const ts::Type& type = type_of(node.outputs.at(0));
    if (type.fields.empty()) return graph_.insertNode(graph_.createTuple(items));
    std::vector<c10::TypePtr> inner;
    for (const Value* item : items) inner.push_back(item->type());
    const c10::QualifiedName name("__torch__.exported.Result" + std::to_string(results_++));
    return graph_.insertNode(
        graph_.createTuple(items, c10::TupleType::createNamed(name, type.fields, inner)));
  }

  Node* with_blocks(const ts::Node& node) {
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(value(node.inputs[i]));
    Node* made = graph_.insertNode(
        graph_.create(c10::Symbol::fromQualString(std::string(node.kind)), inputs, node.outputs.size()));
    for (const ts::Block& block : node.blocks) {
      torch::jit::Block* b = made->addBlock();
      const torch::jit::WithInsertPoint inside(b);
      for (const ts::ValueId id : block.inputs) {
        values_[id] = b->addInput();
        values_[id]->setType(types_.type(type_of(id)));
      }
      nodes(block);
      for (const ts::ValueId id : block.outputs) b->registerOutput(value(id));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      made->output(i)->setType(types_.type(type_of(node.outputs[i])));
    return made;
  }

  const ts::Function& function_;
  Graph& graph_;
  Value* self_;
  Types& types_;
  std::vector<Value*> values_;
  std::unordered_map<ts::ValueId, const ts::IValue*> constants_;
  torch::jit::ScopePtr root_ = c10::make_intrusive<torch::jit::Scope>();
  int results_ = 0;
};

}  // namespace

torch::jit::Module load_exported(const std::string& path, const std::string& weights,
                                 std::shared_ptr<torch::jit::CompilationUnit> unit) {
  const ts::Program program = exported::load(path, weights);
  const ts::Instance& root = *program.root;
  const c10::QualifiedName class_name("__torch__.exported.Model");
  torch::jit::Module module(class_name, unit);
  Data data;
  Types types;
  for (std::size_t i = 0; i < root.values.size(); ++i) {
    const auto* tensor = std::get_if<const ts::Tensor*>(&root.values[i]);
    TORCH_CHECK(tensor, "the file holds a tensor that LibTorch cannot take from it");
    module.register_attribute(std::string(root.type->attributes[i].name), c10::TensorType::get(),
                              data.tensor(**tensor));
  }
  const ts::Function& forward = *root.type->methods.at(0);
  const auto graph = std::make_shared<Graph>();
  std::vector<Value*> inputs;
  std::vector<c10::Argument> arguments;
  for (std::size_t i = 0; i < forward.arguments.size(); ++i) {
    const ts::Argument& a = forward.arguments[i];
    const c10::TypePtr type = i == 0 ? c10::TypePtr(module.type()) : types.type(*a.type);
    inputs.push_back(graph->addInput());
    inputs.back()->setType(type);
    const auto fallback = a.type->fixed ? std::optional<c10::IValue>(c10::IValue()) : std::nullopt;
    arguments.emplace_back(std::string(a.name), type, std::nullopt, fallback);
  }
  GraphMaker(forward, *graph, inputs.at(0), types).run(inputs);
  torch::jit::Function* function = unit->create_function(c10::QualifiedName(class_name, "forward"), graph);
  function->setSchema(c10::FunctionSchema("forward", "", std::move(arguments),
                                          {c10::Argument("", graph->outputs().at(0)->type())}));
  module.type()->addMethod(function);
  return module;
}

}  // namespace tenon::libtorch
