// The prim:: nodes: attributes, calls, containers, types.
#include <algorithm>

#include "base/error.h"
#include "converter/aten/quantized.h"
#include "converter/c10_dtype.h"
#include "converter/interpreter/interpreter.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/scalars.h"

namespace tenon::converter {

namespace {

/// A Python number that is not known.
bool is_number(const AbstractValue& d) { return d.is_tensor() && is_unknown_scalar(d); }
bool is_real(const AbstractValue& d) { return is_float((*d.get<TensorPtr>())->dtype()); }

}  // namespace

bool has_type(const AbstractValue& d, const ts::Type& type) {
  using Kind = ts::Type::Kind;
  switch (type.kind) {
    case Kind::tensor: return (d.is_tensor() && !is_python_scalar(d)) || is_quantized(d);
    case Kind::integer: return d.is<Dim>() || (is_number(d) && !is_real(d));
    case Kind::real: return d.is<double>() || (is_number(d) && is_real(d));
    case Kind::boolean: return d.is<bool>() || d.is<SymbolicBool>();
    case Kind::string: return d.is<std::string>();
    case Kind::none: return d.is_none();
    case Kind::number: return d.is<Dim>() || d.is<double>() || is_number(d);
    case Kind::device: return d.is<Device>();
    case Kind::optional: return d.is_none() || has_type(d, *type.inner.at(0));
    case Kind::any: return true;
    case Kind::dict: return d.is<DictPtr>();
    case Kind::list: {
      const auto* list = d.get<ListPtr>();
      return list && ((*list)->items.empty() || has_type((*list)->items[0], *type.inner.at(0)));
    }
    case Kind::tuple: {
      const auto* tuple = d.get<TuplePtr>();
      if (!tuple || (*tuple)->items.size() != type.inner.size()) return false;
      for (std::size_t i = 0; i < type.inner.size(); ++i)
        if (!has_type((*tuple)->items[i], *type.inner[i])) return false;
      return true;
    }
    case Kind::object: {
      const auto* object = d.get<ObjectPtr>();
      const auto* module = object ? dynamic_cast<const ModuleObject*>(object->get()) : nullptr;
      return module && module->instance->type == type.object;
    }
    default: break;
  }
  if (type.text == "list") return d.is<ListPtr>();
  if (type.text == "tuple") return d.is<TuplePtr>();
  throw unsupported("isinstance(…, {})", type.text);
}

namespace {

const ModuleObject& module_of(const AbstractValue& d) {
  const auto* object = d.get<ObjectPtr>();
  const auto* module = object ? dynamic_cast<const ModuleObject*>(object->get()) : nullptr;
  if (!module) throw unsupported("{} where an object is needed", kind_name(d));
  return *module;
}

const ts::Function& method_of(const ModuleObject& object, std::string_view name) {
  if (const ts::Function* f = object.instance->type->method(name)) return *f;
  throw unsupported("a call of {}.{}, which has no TorchScript code", object.instance->type->name, name);
}

const std::vector<AbstractValue>& elements(const AbstractValue& d) {
  if (const auto* list = d.get<ListPtr>(); list && ((*list)->stacked_list() || (*list)->grows))
    throw unsupported("a list of unknown length is unpacked");
  if (const auto* items = items_of(d)) return *items;
  throw unsupported("{} where a tuple or list is needed", kind_name(d));
}

std::int64_t known_int(const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>(); dim && dim->is_known()) return dim->value();
  throw unsupported("an index that is not known");
}

/// What is a property of a tensor on the one device there is, without gradients.
std::optional<AbstractValue> tensor_property(std::string_view kind, const TensorPtr& t, Builder& build) {
  if (kind == "prim::dtype") return AbstractValue(c10_code(t->dtype()));
  if (kind == "prim::device") return AbstractValue(Device{"cpu"});
  if (kind == "prim::layout") return AbstractValue(0);
  if (kind == "prim::type") return AbstractValue(std::string("cpu"));
  if (kind == "prim::requires_grad" || kind == "prim::is_cuda" || kind == "prim::is_sparse" ||
      kind == "prim::is_quantized" || kind == "prim::is_mkldnn" || kind == "prim::is_meta" ||
      kind == "prim::is_xla" || kind == "prim::is_xpu" || kind == "prim::is_mps" ||
      kind == "prim::is_vulkan" || kind == "prim::is_nested" || kind == "prim::is_sparse_csr")
    return AbstractValue(false);
  if (kind == "prim::is_cpu") return AbstractValue(true);
  if (kind == "prim::is_leaf") return AbstractValue(true);
  if (kind == "prim::grad" || kind == "prim::name") return AbstractValue();
  if (kind == "prim::itemsize") return AbstractValue(size_of(t->dtype()));
  if (kind == "prim::shape") return run_aten(build, "size", "", {{"self", AbstractValue(t)}})[0];
  if (kind == "prim::data") return run_aten(build, "detach", "", {{"self", AbstractValue(t)}})[0];
  return std::nullopt;
}

}  // namespace

Interpreter::Outputs Interpreter::call_node(const ts::Node& node, CallFrame& frame,
                                            std::vector<AbstractValue> in) {
  const Source caller = source_of(node, frame);
  const bool is_method = node.kind == "prim::CallMethod";
  const ts::Function* function = nullptr;
  std::string path = frame.path;
  if (is_method) {
    const ModuleObject& object = module_of(in.at(0));
    function = &method_of(object, node.name);
    if (object.instance->type->is_module) path = object.path;
  } else {
    const auto* object = in.at(0).get<ObjectPtr>();
    const auto* held = object ? dynamic_cast<const FunctionObject*>(object->get()) : nullptr;
    if (!held) throw unsupported("a call of {}", kind_name(in[0]));
    function = held->function;
    in.erase(in.begin());
  }
  callers_.emplace_back(caller.file, caller.line);
  AbstractValue result = call(*function, std::move(in), path);
  callers_.pop_back();
  return {std::move(result)};
}

Interpreter::Outputs Interpreter::evaluate_prim(const ts::Node& node, CallFrame& frame) {
  const std::string_view kind = node.kind;
  if (kind == "prim::Constant") return {objects_.constant(node.constant)};
  if (kind == "prim::If") return run_if(node, frame);
  if (kind == "prim::Loop") return run_loop(node, frame);

  std::vector<AbstractValue> in = inputs_of(node, frame);
  if (kind == "prim::ListConstruct") return {list_of(std::move(in))};
  if (kind == "prim::TupleConstruct") {
    auto tuple = std::make_shared<Tuple>();
    tuple->items = std::move(in);
    if (const ts::Type* type = frame.function.values.at(node.outputs.at(0)).type)
      tuple->fields = type->fields;
    return {AbstractValue(TuplePtr(tuple))};
  }
  if (kind == "prim::DictConstruct") {
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i + 1 < in.size(); i += 2) dict->items.emplace_back(in[i], in[i + 1]);
    return {AbstractValue(DictPtr(dict))};
  }
  if (kind == "prim::Uninitialized") return {AbstractValue(Uninitialized{})};
  if (kind == "prim::Print") return {};
  if (kind == "prim::SetAttr") {
    objects_.set_attribute(module_of(in.at(0)), node.name, in.at(1));
    return {};
  }
  if (kind == "prim::CreateObject")
    return {objects_.create(*frame.function.values.at(node.outputs.at(0)).type->object)};
  if (!in.empty() && in[0].is<DivergentValue>() && kind != "prim::unchecked_cast" &&
      kind != "prim::unchecked_unwrap_optional")
    throw unsupported("{}", kind_name(in[0]));
  if (!in.empty() && in[0].is<Poison>()) return Outputs(node.outputs.size(), AbstractValue(Poison{}));
  if (kind == "prim::CallMethod" || kind == "prim::CallFunction")
    return call_node(node, frame, std::move(in));
  if (kind == "prim::Enter" || kind == "prim::Exit") {
    const ts::Function& method =
        method_of(module_of(in.at(0)), kind == "prim::Enter" ? "__enter__" : "__exit__");
    in.resize(method.body.inputs.size());
    return {call(method, std::move(in), frame.path)};
  }
  if (kind == "prim::GetAttr") {
    if (const auto* tuple = in.at(0).get<TuplePtr>()) {
      for (std::size_t i = 0; i < (*tuple)->fields.size(); ++i)
        if ((*tuple)->fields[i] == node.name) return {(*tuple)->items.at(i)};
    }
    const auto& module = module_of(in.at(0));
    if (node.name == "training" && module.instance->saved_in_training_mode) note_training_mode();
    return {objects_.get_attribute(module, node.name)};
  }
  if (kind == "prim::TupleUnpack" || kind == "prim::ListUnpack") {
    const auto& items = elements(in.at(0));
    if (items.size() != node.outputs.size())
      throw error("{} values to unpack into {}", items.size(), node.outputs.size());
    return items;
  }
  if (kind == "prim::TupleIndex") {
    const auto& items = elements(in.at(0));
    const std::int64_t i = known_int(in.at(1));
    return {items.at(static_cast<std::size_t>(i < 0 ? i + static_cast<std::int64_t>(items.size()) : i))};
  }
  if (kind == "prim::TupleSlice" || kind == "prim::unchecked_cast" ||
      kind == "prim::unchecked_unwrap_optional")
    return {in.at(0)};
  if (kind == "prim::NumToTensor") {
    if (const auto* dim = in.at(0).get<Dim>()) return {AbstractValue(build_.number(*dim))};
    return run_aten(build_, "tensor", "", {{"data", in[0]}});
  }
  if (kind == "prim::isinstance") {
    for (const ts::Type* type : node.types)
      if (has_type(in.at(0), *type)) return {AbstractValue(true)};
    return {AbstractValue(false)};
  }
  if (kind == "prim::RaiseException") {
    ModelRaised raised(text_of(in.at(0)));
    raised.at(source_of(node, frame).str());
    throw raised;
  }
  if (kind == "prim::tolist") throw unsupported("tolist(), which turns tensor data into Python numbers");
  if (!in.empty() && is_quantized(in[0])) {
    if (auto property = quantized_property(kind, in[0])) return {std::move(*property)};
    in[0] = AbstractValue(quantized_of(build_, in[0]).real);
  }
  if (const auto* t = in.empty() ? nullptr : in[0].get<TensorPtr>()) {
    if (auto property = tensor_property(kind, *t, build_)) return {std::move(*property)};
  }
  if (kind == "prim::type" || kind == "prim::index")
    return {kind == "prim::index" ? AbstractValue(-1) : AbstractValue(std::string("cpu"))};
  const std::string_view name = kind.substr(6);
  if (std::any_of(in.begin(), in.end(), [](const AbstractValue& d) { return d.is<Poison>(); }))
    return Outputs(node.outputs.size(), AbstractValue(Poison{}));
  if (auto result = run_unknown_list(build_, name, in)) return {std::move(*result)};
  if (auto result = run_container(name, in)) return {std::move(*result)};
  if (auto result = run_any_scalar(build_, name, "", in)) return {std::move(*result)};
  throw unsupported("the construct is not implemented");
}

}  // namespace tenon::converter
