#include "converter/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/count.h"
#include "base/error.h"
#include "converter/equal_sizes.h"
#include "converter/finish.h"
#include "converter/given_inputs.h"
#include "converter/interpreter/interpreter.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/scalars.h"
#include "converter/interpreter/state_lifting.h"
#include "converter/random.h"
#include "converter/size_guards.h"
#include "ir/hint.h"

namespace tenon {

namespace {

using converter::AbstractValue;
using converter::Builder;
using converter::Interpreter;
namespace ts = torchscript;

AbstractValue as_value(const InputLiteral& literal) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, std::monostate>)
          return AbstractValue();
        else
          return AbstractValue(v);
      },
      literal);
}

/// The arguments of the entry method, from what is given, traced or declared.
class Inputs {
 public:
  Inputs(const ts::Program& program, const ts::Function& method, const ConvertOptions& options, Graph& graph,
         Interpreter& interpreter)
      : method_(method),
        given_(options),
        graph_(graph),
        interpreter_(interpreter),
        declared_types_(program.symbols) {}

  /// In two rounds: what is given of one input may fix the sizes of another.
  std::vector<AbstractValue> arguments() {
    is_narrowing_ = true;
    each_argument();
    given_.check_all_taken(method_.name, argument_names());
    declared_types_.settle();
    is_narrowing_ = false;
    missing_.clear();
    given_.begin_anew();
    std::vector<AbstractValue> out = each_argument();
    interpreter_.set_declared_types(declared_types_);
    if (!missing_.empty()) {
      throw TypesUnknown(
          error("the types of {} are not known: the file does not say them",
                missing_.size() == 1 ? "an input" : counted(missing_.size(), "input"))
              .hint(
                  fmt::format("add {}, with your dtype and sizes: numbers, or names (N) for those that vary",
                              fmt::join(missing_, " "))));
    }
    return out;
  }

  const std::vector<std::string>& takers() const { return given_.takers(); }

 private:
  std::vector<AbstractValue> each_argument() {
    std::vector<AbstractValue> out;
    for (std::size_t i = 1; i < method_.arguments.size(); ++i) out.push_back(argument(method_.arguments[i]));
    return out;
  }

  std::vector<std::string> argument_names() const {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < method_.arguments.size(); ++i)
      append_names(names, std::string(method_.arguments[i].name), *method_.arguments[i].type);
    return names;
  }

  static void append_names(std::vector<std::string>& names, const std::string& path, const ts::Type& type) {
    const auto items = items_of_type(type);
    if (items.empty()) return names.push_back(path);
    for (std::size_t i = 0; i < items.size(); ++i) append_names(names, item_path(path, type, i), *items[i]);
  }

  /// The types of a container's items, where its number of items is known.
  static std::span<const ts::Type* const> items_of_type(const ts::Type& type) {
    using Kind = ts::Type::Kind;
    const std::size_t own = type.kind == Kind::list ? 1 : 2;
    const bool is_list = type.kind == Kind::list || type.kind == Kind::dict;
    if (type.kind == Kind::tuple) return type.inner;
    return is_list ? std::span(type.inner).subspan(own) : std::span<const ts::Type* const>();
  }

  static std::string item_path(const std::string& path, const ts::Type& container, std::size_t i) {
    return fmt::format("{}.{}", path, container.fields.empty() ? std::to_string(i) : container.fields[i]);
  }

  AbstractValue argument(const ts::Argument& a) {
    return value(std::string(a.name), *a.type, a.default_value ? &*a.default_value : nullptr, true);
  }

  AbstractValue value(const std::string& name, const ts::Type& type, const ts::IValue* fallback,
                      bool by_position) {
    if (type.kind == ts::Type::Kind::tuple || !items_of_type(type).empty())
      return known_items(name, type, by_position);
    if (!given_.items_of(name).empty()) {
      if (auto parts = container(name, type)) return *parts;
    }
    if (const InputSpec* spec = given_.take(name, by_position)) {
      if (const auto number = number_in(*spec, type)) return literal_for(name, type, *number);
      if (const auto* given = std::get_if<tenon::Type>(&spec->value))
        return tensor(name, type, *spec, *given);
      const auto& literal = std::get<InputLiteral>(spec->value);
      if (!is_scalar(type) || std::holds_alternative<std::string>(literal))
        return literal_for(name, type, literal);
    }
    if (type.fixed) return interpreter_.objects().constant(*type.fixed);
    if (type.declared_sizes) return is_narrowing_ ? AbstractValue() : declared_parameter(name, type);
    if (type.dtype && type.sizes) return parameter(name, type, {*type.dtype, to_shape(*type.sizes)});
    if (fallback) return interpreter_.objects().constant(*fallback);
    return ask(name, type);
  }

  /// A tuple, or a list or dict of as many items as the trace had.
  AbstractValue known_items(const std::string& name, const ts::Type& type, bool by_position) {
    const auto types = items_of_type(type);
    std::vector<AbstractValue> items;
    for (std::size_t i = 0; i < types.size(); ++i)
      items.push_back(value(item_path(name, type, i), *types[i], nullptr, by_position));
    if (type.kind == ts::Type::Kind::list) return converter::list_of(std::move(items));
    if (type.kind == ts::Type::Kind::dict) {
      auto dict = std::make_shared<converter::Dict>();
      for (std::size_t i = 0; i < items.size(); ++i)
        dict->items.emplace_back(AbstractValue(type.fields[i]), items[i]);
      return AbstractValue(converter::DictPtr(dict));
    }
    auto tuple = std::make_shared<converter::Tuple>();
    tuple->items = std::move(items);
    tuple->fields = type.fields;
    return AbstractValue(converter::TuplePtr(tuple));
  }

  std::optional<AbstractValue> container(const std::string& name, const ts::Type& type) {
    std::vector<AbstractValue> items;
    if (type.kind == ts::Type::Kind::list) {
      const auto given = given_.items_of(name);
      const auto is_given = [&](const std::string& item) {
        return std::find(given.begin(), given.end(), item) != given.end();
      };
      for (std::string item; is_given(item = fmt::format("{}.{}", name, items.size()));)
        items.push_back(value(item, *type.inner.at(0), nullptr, false));
      return converter::list_of(std::move(items));
    }
    if (type.kind == ts::Type::Kind::dict) {
      auto dict = std::make_shared<converter::Dict>();
      for (const std::string& item : given_.items_of(name))
        dict->items.emplace_back(AbstractValue(item.substr(name.size() + 1)),
                                 value(item, *type.inner.at(1), nullptr, false));
      return AbstractValue(converter::DictPtr(dict));
    }
    return std::nullopt;
  }

  static const ts::Type& without_optional(const ts::Type& type) {
    return type.kind == ts::Type::Kind::optional ? *type.inner.at(0) : type;
  }

  /// Whether the file says that this is a tensor of no axes: a number written out is its value.
  static bool is_scalar(const ts::Type& type) {
    if (without_optional(type).kind != ts::Type::Kind::tensor) return false;
    return type.declared_sizes ? type.declared_sizes->empty()
                               : type.dtype && type.sizes && type.sizes->empty();
  }

  /// A number may be given as a tensor of no axes.
  static std::optional<InputLiteral> number_in(const InputSpec& spec, const ts::Type& declared) {
    using Kind = ts::Type::Kind;
    const ts::Type& inner = without_optional(declared);
    const bool takes_number = inner.kind == Kind::integer || inner.kind == Kind::real ||
                              inner.kind == Kind::boolean || inner.kind == Kind::number;
    return takes_number ? literal_of(spec) : std::nullopt;
  }

  AbstractValue literal_for(const std::string& name, const ts::Type& type,
                            const InputLiteral& literal) const {
    AbstractValue d = as_value(literal);
    const ts::Type& inner = type.kind == ts::Type::Kind::optional && !d.is_none() ? *type.inner.at(0) : type;
    if (inner.kind == ts::Type::Kind::real && d.is<Dim>())
      d = AbstractValue(static_cast<double>(d.get<Dim>()->value()));
    if (!type.fixed && !converter::has_type(d, type))
      throw error("input {} is {}, but the model takes {}", name, converter::kind_name(d), type.text)
          .hint("give " + wanted(name, type));
    if (const AbstractValue fixed = type.fixed ? interpreter_.objects().constant(*type.fixed) : d;
        !converter::same_value(d, fixed))
      throw error("input {} is given as {}, but the file was exported for {} alone", name,
                  converter::text_of(d), converter::text_of(fixed))
          .hint("leave it out, or export the model again with that value");
    return d;
  }

  AbstractValue declared_parameter(const std::string& name, const ts::Type& declared) {
    const tenon::Type type = declared_types_.input_type(name, declared, graph_);
    return AbstractValue(interpreter_.builder().input(graph_.body().add_parameter(type, name)));
  }

  /// What does not fit is a type to write otherwise, or an array to turn.
  AbstractValue tensor(const std::string& name, const ts::Type& declared, const InputSpec& spec,
                       const tenon::Type& given) {
    try {
      return parameter(name, declared, given);
    } catch (Error& e) {
      const std::string turned = spec.example ? hint::array(given, declared_type(declared)) : "";
      throw turned.empty() ? e : e.hint(turned);
    }
  }

  /// As far as the file says it; of the rank of what it says.
  static tenon::Type declared_type(const ts::Type& declared) {
    tenon::Type type;
    if (declared.dtype) type.dtype = *declared.dtype;
    if (declared.declared_sizes)
      for (const std::string& size : *declared.declared_sizes)
        type.shape.push_back(size.empty() ? Dim::symbol("_") : Dim::parse(size));
    else if (declared.sizes)
      type.shape = to_shape(*declared.sizes);
    return type;
  }

  AbstractValue parameter(const std::string& name, const ts::Type& declared, const tenon::Type& type) {
    using Kind = ts::Type::Kind;
    const ts::Type& inner = without_optional(declared);
    if (inner.kind != Kind::tensor && inner.kind != Kind::any)
      throw error("input {} is given a tensor, but the model takes {}", name, declared.text)
          .hint("give its value: " + wanted(name, declared));
    if (declared.declared_sizes) {
      if (!is_narrowing_) return declared_parameter(name, declared);
      declared_types_.narrow(name, declared, type, graph_);
    }
    if (is_narrowing_) return AbstractValue();
    if (declared.sizes && declared.sizes->size() != type.rank() && declared.dtype)
      throw error("input {} is {}, but the model was traced with rank {}", name, type.str(),
                  declared.sizes->size());
    for (std::size_t i = 0; i < type.rank(); ++i) {
      const std::string place = fmt::format("dim {} of input {}", i, name);
      for (const std::string& symbol : type.shape[i].symbols()) note_symbol(symbol, place);
      const bool was_known = declared.sizes && declared.sizes->at(i) > 1;
      if (was_known && !type.shape[i].is_known()) interpreter_.watch_size(declared.sizes->at(i), place);
    }
    Value* v = graph_.body().add_parameter(type, name);
    return AbstractValue(interpreter_.builder().input(v));
  }

  void note_symbol(const std::string& symbol, const std::string& place) {
    SymbolInfo& info = graph_.symbols[symbol];
    if (info.min < 1)
      throw error("the size {} is 0, and sizes that vary begin at 1 in TorchScript, as it has branches for 0",
                  symbol)
          .hint("give the inputs with the number 0 in place of " + symbol);
    if (info.note.empty()) info.note = place;
  }

  /// What gives the input, by its type: "--input x=1".
  static std::string wanted(const std::string& name, const ts::Type& type) {
    using Kind = ts::Type::Kind;
    const ts::Type& inner = without_optional(type);
    switch (inner.kind) {
      case Kind::tensor: {
        const bool is_known = inner.declared_sizes || (inner.dtype && inner.sizes);
        return hint::input(name,
                           is_known ? declared_type(inner) : tenon::Type{DType::f32, {Dim::symbol("N"), 16}});
      }
      case Kind::list: return wanted(name + ".0", *inner.inner.at(0));
      case Kind::dict: return wanted(name + ".KEY", *inner.inner.at(1));
      case Kind::boolean: return hint::input(name, "true");
      case Kind::string: return hint::input(name, "\"TEXT\"");
      default: return hint::input(name, "1");
    }
  }

  AbstractValue ask(const std::string& name, const ts::Type& type) {
    missing_.push_back(wanted(name, type));
    return AbstractValue(converter::Poison{});
  }

  const ts::Function& method_;
  converter::GivenInputs given_;
  Graph& graph_;
  Interpreter& interpreter_;
  converter::DeclaredTypes declared_types_;
  bool is_narrowing_ = false;
  std::vector<std::string> missing_;
};

/// The results of the graph, with the path of each in what the method returns.
class Outputs {
 public:
  Outputs(Graph& graph, Builder& builder, UnsupportedReport& report)
      : graph_(graph), build_(builder), report_(report) {}

  void add(const AbstractValue& d, const std::string& path) {
    if (d.is_none()) return;
    if (const auto* t = d.get<converter::TensorPtr>()) return tensor(*t, path);
    if (const auto* items = converter::items_of(d)) {
      const auto* tuple = d.get<converter::TuplePtr>();
      for (std::size_t i = 0; i < items->size(); ++i) {
        const bool named = tuple && i < (*tuple)->fields.size();
        add((*items)[i], path + "." + (named ? (*tuple)->fields[i] : std::to_string(i)));
      }
      return;
    }
    if (const auto* dict = d.get<converter::DictPtr>()) {
      for (const auto& [key, item] : (*dict)->items) add(item, path + "." + converter::text_of(key));
      return;
    }
    if (const auto* dim = d.get<Dim>()) return result(build_.size(*dim), path);
    if (d.is<converter::SymbolicBool>()) return symbolic_bool(d, path);
    if (d.is_number()) return result(build_.literal(d, d.is<bool>() ? DType::boolean : DType::f64), path);
    report_.add("output", fmt::format("{} is {}", path, converter::kind_name(d)), "return tensors", {});
  }

 private:
  void tensor(const converter::TensorPtr& t, const std::string& path) {
    computed([&] { return build_.read(t); }, path);
  }

  void symbolic_bool(const AbstractValue& d, const std::string& path) {
    computed([&] { return converter::condition_value(build_, d); }, path);
  }

  template <class F>
  void computed(F&& value, const std::string& path) {
    try {
      result(value(), path);
    } catch (const Error& e) {
      if (e.code() != Exit::unsupported) throw;
      report_.add("output", fmt::format("{}: {}", path, e.message()), e.hint(), {});
    }
  }

  void result(Ref value, const std::string& path) { add_output(graph_, value.value(), path); }

  Graph& graph_;
  Builder& build_;
  UnsupportedReport& report_;
};

}  // namespace

std::optional<InputLiteral> literal_of(const InputSpec& spec) {
  if (const auto* literal = std::get_if<InputLiteral>(&spec.value)) return *literal;
  if (!spec.example || spec.example->rank() != 0) return std::nullopt;
  const Tensor& t = *spec.example;
  if (is_bool(t.dtype())) return t.get_int() != 0;
  if (is_integral(t.dtype())) return t.get_int();
  return is_float(t.dtype()) ? std::optional<InputLiteral>(t.get_double()) : std::nullopt;
}

namespace {

const ts::Function& entry_method(const ts::Program& program, const std::string& name) {
  if (const ts::Function* f = program.root->type->method(name)) return *f;
  std::string known;
  for (const ts::Function* f : program.root->type->methods) known += (known.empty() ? "" : ", ") + f->name;
  throw error("the model has no method '{}'", name).at(program.path).hint("its methods are " + known);
}

/// The graph, or what stands in its way.
struct Attempt {
  std::unique_ptr<Graph> graph;
  UnsupportedReport report;
  ConvertNotes notes;
  std::vector<std::string> takers;
  std::vector<Builder::SizeGuard> size_guards;
  std::optional<Error> failure;
  bool has_states = false;  // attributes change from call to call, and `with_states` was false
  bool needs_none = false;  // `with_states` was true, but the calls compute the same
};

Attempt attempt(const ts::Program& program, const ts::Function& method, const ConvertOptions& options,
                bool with_states) {
  Attempt out;
  out.graph = std::make_unique<Graph>(options.method == "forward" ? "main" : options.method);
  out.graph->symbols = options.symbols;
  Interpreter interpreter(program, *out.graph, out.report, out.notes);
  try {
    Inputs inputs(program, method, options, *out.graph, interpreter);
    std::vector<AbstractValue> arguments = inputs.arguments();
    out.takers = inputs.takers();
    arguments.insert(arguments.begin(), interpreter.objects().module(program.root, ""));
    converter::StateLifting states(interpreter, method, arguments);
    const AbstractValue result =
        with_states ? states.run() : interpreter.call(method, std::move(arguments), "");
    out.has_states = !with_states && (interpreter.objects().state_changed() ||
                                      !interpreter.builder().written_states().empty());
    if (out.report.empty()) Outputs(*out.graph, interpreter.builder(), out.report).add(result, "out");
    if (out.report.empty() && with_states) states.add_results();
    out.needs_none = out.report.empty() && states.computes_the_same();
  } catch (const TypesUnknown&) { throw; } catch (const Error& e) {
    out.failure = e;
  }
  for (const std::string& name : interpreter.builder().written_inputs()) {
    out.notes.push_back(
        {ConvertNote::Kind::input,
         fmt::format("the model writes into its input {}; the caller's tensor stays as it is", name)});
  }
  out.size_guards = interpreter.builder().size_guards();
  return out;
}

/// How a module becomes one of this dtype in PyTorch.
std::string_view conversion_to(DType dtype) {
  switch (dtype) {
    case DType::f16: return "model.half()";
    case DType::bf16: return "model.bfloat16()";
    case DType::f64: return "model.double()";
    default: return "model.float()";
  }
}

/// Where an input is given in another precision than the weights have, that is what an operator refuses.
Error explained(Error failure, const Graph& graph, const std::vector<InputSpec>& inputs) {
  if (failure.code() != Exit::bad_input || !failure.hint().empty()) return failure;
  std::set<DType> weights;
  for (const auto& w : graph.weights())
    if (is_float(w->dtype())) weights.insert(w->dtype());
  if (weights.size() != 1) return failure;
  for (const auto& p : graph.body().parameters()) {
    if (!is_float(p->dtype()) || weights.contains(p->dtype())) continue;
    const auto is_given = [&](const InputSpec& input) {
      const auto* type = std::get_if<tenon::Type>(&input.value);
      return type && *type == p->type() && (input.name.empty() || input.name == p->name());
    };
    const auto input = std::find_if(inputs.begin(), inputs.end(), is_given);
    if (input == inputs.end()) continue;
    const tenon::Type fitting{*weights.begin(), p->shape()};
    const std::string conversion =
        input->example ? hint::conversion(p->dtype(), fitting.dtype) : hint::input(p->name(), fitting);
    return failure.hint(fmt::format(
        "input {} is given as {}, and the model's weights are {}: {}, or export {}", p->name(),
        tenon::name(p->dtype()), tenon::name(fitting.dtype), conversion, conversion_to(p->dtype())));
  }
  return failure;
}

const converter::Builder::SizeGuard* missing_guard(const Attempt& failed) {
  if (!failed.failure || !failed.report.empty()) return nullptr;
  return converter::missing_guard(*failed.failure, failed.size_guards);
}

}  // namespace

std::unique_ptr<Graph> convert_torchscript(const ts::Program& program, const ConvertOptions& options) {
  const ts::Function& method = entry_method(program, options.method);
  ConvertOptions assumed = options;
  ConvertNotes assumptions;
  Attempt result = attempt(program, method, assumed, false);
  bool with_states = result.has_states && result.report.empty();
  if (with_states) {
    Attempt with = attempt(program, method, assumed, true);
    with_states = !with.needs_none;
    if (with_states) result = std::move(with);
  }
  while (const auto* guard = missing_guard(result)) {
    assumptions.push_back(converter::assumed_guard(*guard));
    assumed.symbols[guard->symbol].max = guard->max;
    result = attempt(program, method, assumed, with_states);
  }
  result.notes.insert(result.notes.end(), assumptions.begin(), assumptions.end());
  converter::settle_random(*result.graph, options.random, result.report);
  converter::note_random(*result.graph, result.notes);
  if (options.report) *options.report = result.report;
  if (options.notes) *options.notes = result.notes;
  if (options.takers) *options.takers = result.takers;
  if (!result.report.empty()) throw result.report.to_error().at(program.path);
  if (result.failure)
    throw converter::with_equal_sizes(
        explained(*result.failure, *result.graph, options.inputs), *result.graph, assumed,
        [&](const ConvertOptions& o) { return attempt(program, method, o, with_states).failure; });
  converter::finish(*result.graph);
  return std::move(result.graph);
}

}  // namespace tenon
