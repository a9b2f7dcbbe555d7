#include "converter/libtorch/program_writer.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include "converter/libtorch/source_location.h"
#include "converter/libtorch/value_writer.h"

namespace tenon::libtorch {
namespace {

using nlohmann::json;
using torch::jit::Block;
using torch::jit::Function;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;
namespace attr = c10::attr;

class ProgramWriter {
 public:
  explicit ProgramWriter(const LoadedModule& loaded) : loaded_(loaded), values_(loaded) {}

  std::string write() {
    note_training_mode();
    json program = {{"format", 1}, {"root", values_.value(loaded_.module._ivalue())}};
    json classes = json::array();
    while (classes.size() < values_.classes().size()) {  // which grows
      const c10::TypePtr next = values_.classes()[classes.size()];
      classes.push_back(class_record(next));
    }
    note_traced_methods();
    program["classes"] = std::move(classes);
    program["functions"] = std::move(functions_);
    program["schemas"] = std::move(schemas_);
    program["sources"] = std::move(sources_);
    program["traced_methods"] = std::move(traced_methods_);
    program["training"] = std::move(modules_in_training_);
    values_.give_tables(program);
    return program.dump(-1, ' ', false, json::error_handler_t::replace);
  }

 private:
  using Index = ValueWriter::Index;

  json class_record(const c10::TypePtr& t) {
    json attributes = json::array(), methods = json::array();
    if (const auto type_of_class = t->cast<c10::ClassType>()) {
      for (Index i = 0; i < type_of_class->numAttributes(); ++i) {
        const bool may_be_flagged = type_of_class->is_module();
        attributes.push_back(json::array({values_.string(type_of_class->getAttributeName(i)),
                                          values_.type(type_of_class->getAttribute(i)),
                                          may_be_flagged && type_of_class->is_parameter(i),
                                          may_be_flagged && type_of_class->is_buffer(i)}));
      }
      for (Function* method : type_of_class->methods()) {
        if (const auto f = function(*method)) methods.push_back(*f);
      }
    }
    const bool is_interface = t->kind() == c10::TypeKind::InterfaceType;
    return json::array(
        {t->annotation_str(), t->is_module(), is_interface, std::move(attributes), std::move(methods)});
  }

  /// The function's index, or nothing when it has no graph.
  std::optional<Index> function(Function& f) {
    const auto known = function_ids_.find(&f);
    if (known != function_ids_.end()) return known->second;
    f.ensure_defined();
    const auto* graph_function = torch::jit::tryToGraphFunction(f);
    if (!graph_function) return std::nullopt;
    const Index id = functions_.size();
    function_ids_[&f] = id;
    functions_.push_back(nullptr);

    const auto graph = graph_function->graph();
    ValueIds ids;
    json values = json::array();
    json body = block(*graph->block(), ids, values);
    json arguments = json::array();
    const auto& parameters = f.getSchema().arguments();
    const auto traced = loaded_.traced.find(&f);
    for (Index i = 0; i < parameters.size(); ++i) {
      const bool is_traced = traced != loaded_.traced.end() && i > 0 && i <= traced->second.size();
      arguments.push_back(
          argument(parameters[i], is_traced ? values_.traced_type(parameters[i].type(), traced->second[i - 1])
                                            : values_.type(parameters[i].type())));
    }
    json returns = json::array();
    for (const auto& result : f.getSchema().returns()) returns.push_back(values_.type(result.type()));
    functions_[id] = json::array({f.name(), f.qualname().qualifiedName(), std::move(arguments),
                                  std::move(returns), std::move(values), std::move(body)});
    return id;
  }

  json argument(const c10::Argument& a, Index its_type) {
    const bool is_written = a.alias_info() && a.alias_info()->isWrite();
    json record = json::array({values_.string(a.name()), its_type, a.kwarg_only(), is_written});
    if (a.default_value()) record.push_back(values_.value(*a.default_value()));
    return record;
  }

  using ValueIds = std::unordered_map<const Value*, Index>;

  Index define(const Value* v, ValueIds& ids, json& values) {
    ids[v] = values.size();
    values.push_back(json::array({values_.string(v->debugName()), values_.type(v->type())}));
    return ids[v];
  }

  json block(const Block& b, ValueIds& ids, json& values) {
    json inputs = json::array(), nodes = json::array(), outputs = json::array();
    for (const Value* input : b.inputs()) inputs.push_back(define(input, ids, values));
    for (const Node* n : b.nodes()) nodes.push_back(node(*n, ids, values));
    for (const Value* output : b.outputs()) outputs.push_back(ids.at(output));
    return json::array({std::move(inputs), std::move(nodes), std::move(outputs)});
  }

  json node(const Node& n, ValueIds& ids, json& values) {
    json inputs = json::array(), outputs = json::array();
    for (const Value* input : n.inputs()) inputs.push_back(ids.at(input));
    json extra = extra_of(n, ids, values);  // blocks see no outputs of their own node
    for (const Value* output : n.outputs()) outputs.push_back(define(output, ids, values));
    const c10::FunctionSchema* signature = n.maybeSchema();
    json record = json::array({values_.string(n.kind().toQualString()),
                               signature ? json(schema(*signature)) : json(nullptr), std::move(inputs),
                               std::move(outputs), source(n.sourceRange())});
    if (!extra.empty()) record.push_back(std::move(extra));
    return record;
  }

  json extra_of(const Node& n, ValueIds& ids, json& values) {
    json extra = json::object();
    if (n.kind() == prim::Constant) extra["constant"] = constant(n);
    if (n.hasAttribute(attr::name)) extra["name"] = n.s(attr::name);
    if (n.kind() == prim::isinstance) {
      json types = json::array();
      for (const auto& asked : n.tys(attr::types)) types.push_back(values_.type(asked));
      extra["types"] = std::move(types);
    }
    if (!n.blocks().empty()) {
      json blocks = json::array();
      for (const Block* b : n.blocks()) blocks.push_back(block(*b, ids, values));
      extra["blocks"] = std::move(blocks);
    }
    return extra;
  }

  json constant(const Node& n) {
    if (const auto function_type = n.output()->type()->cast<c10::FunctionType>()) {
      const auto id = function(*function_type->function());
      if (id) return json::array({"fn", *id});
      return unsupported_value("the built-in function " +
                               function_type->function()->qualname().qualifiedName());
    }
    const auto v = torch::jit::toIValue(n.output());
    return v ? values_.value(*v)
             : unsupported_value("a constant of type " + n.output()->type()->annotation_str());
  }

  Index schema(const c10::FunctionSchema& s) {
    const auto [found, is_new] = schema_ids_.emplace(&s, schemas_.size());
    if (is_new) {
      json arguments = json::array(), returns = json::array();
      for (const auto& a : s.arguments()) arguments.push_back(argument(a, values_.type(a.type())));
      for (const auto& r : s.returns()) returns.push_back(argument(r, values_.type(r.type())));
      schemas_.push_back(json::array(
          {s.name(), s.overload_name(), s.is_vararg(), std::move(arguments), std::move(returns)}));
    }
    return found->second;
  }

  json source(const torch::jit::SourceRange& range) {
    const SourceLocation location = location_of(range);
    if (location.line == 0) return nullptr;
    const auto [found, is_new] = source_ids_.emplace(location, sources_.size());
    if (is_new) {
      sources_.push_back(json::array({values_.string(location.file), location.line,
                                      values_.string(location.function), values_.string(location.text)}));
    }
    return found->second;
  }

  void note_training_mode() {
    for (const auto& part : loaded_.module.named_modules()) {
      if (!part.value.hasattr("training")) continue;
      const c10::IValue flag = part.value.attr("training");
      if (!flag.isBool() || !flag.toBool()) continue;
      modules_in_training_.push_back(part.name);
      values_.note_training(part.value._ivalue().get());
    }
    set_eval(loaded_.module);
  }

  void note_traced_methods() {
    for (Function* method : loaded_.module._ivalue()->type()->methods())
      if (loaded_.traced.contains(method)) traced_methods_.push_back(method->name());
  }

  const LoadedModule& loaded_;
  ValueWriter values_;
  json functions_ = json::array(), schemas_ = json::array(), sources_ = json::array();
  json traced_methods_ = json::array(), modules_in_training_ = json::array();
  std::unordered_map<const void*, Index> function_ids_, schema_ids_;
  std::map<SourceLocation, Index> source_ids_;
};

}  // namespace

std::string write_program(const LoadedModule& loaded) { return ProgramWriter(loaded).write(); }

}  // namespace tenon::libtorch
