#include "converter/exported/program_reader.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/count.h"
#include "base/error.h"
#include "base/json.h"
#include "converter/exported/graph_reader.h"
#include "converter/exported/pytree.h"
#include "converter/exported/weights.h"

namespace tenon::exported {
namespace {

constexpr int kMajorVersion = 8;

void check_version(const json& program) {
  const json& version = program.at("schema_version");
  if (version.at("major") == kMajorVersion) return;
  throw unsupported("the file is of version {}.{} of torch.export's format, written by PyTorch {}",
                    version.at("major").dump(), version.at("minor").dump(),
                    program.value("torch_version", "of an unknown version"))
      .hint("export the model again with a PyTorch from 2.9 to 2.13");
}

class ProgramReader {
 public:
  ProgramReader(const json& program, const std::map<std::string, ts::IValue>& tensors, ts::Program& p)
      : text_(program),
        graph_module_(program.at("graph_module")),
        specs_(graph_module_.at("signature")),
        tensors_(tensors),
        p_(p),
        function_(p.functions.emplace_back()),
        class_(p.classes.emplace_back()),
        instance_(p.instances.emplace_back()),
        out_(p, function_),
        reader_(out_) {}

  void run() {
    check_version(text_);
    read_symbols();
    class_.name = "torch.export";
    class_.is_module = true;
    class_.methods = {&function_};
    instance_.type = &class_;
    p_.root = &instance_;
    function_.name = function_.qualified_name = "forward";
    ts::Type* self = const_cast<ts::Type*>(out_.type(Kind::object, "torch.export"));
    self->object = &class_;
    self_ = add_argument("self", self);
    reader_.enter(graph_module_.at("graph"));
    read_inputs();
    check_missing();
    reader_.read_nodes();
    out_.set_source({});
    read_results();
  }

 private:
  void read_symbols() {
    const json& ranges = text_.at("range_constraints");
    for (const auto& [name, range] : ranges.items()) {
      const bool is_symbol = name.find_first_of(" *+-/()") == std::string::npos;
      if (!is_symbol) continue;
      ts::SizeRange& size = p_.symbols[name];
      // PyTorch itself takes 0 and 1 where the range begins at 1 or 2.
      const json& min = range.at("min_val");
      const std::int64_t least = min.is_null() ? 0 : min.get<std::int64_t>();
      size.min = least > 2 ? least : 0;
      size.exported_min = least;
      if (const json& max = range.at("max_val"); !max.is_null()) size.max = max.get<std::int64_t>();
      if (size.max < size.min) malformed_program(fmt::format("the range of the size {} is empty", name));
    }
    // A size computed from others, as 2*s, is held to its range, and so are they.
    for (const auto& [name, range] : ranges.items())
      if (const json& min = range.at("min_val"); !min.is_null() && min.get<std::int64_t>() > 2)
        for (auto& [symbol, size] : p_.symbols)
          if (symbol != name && mentions(name, symbol) && !ranges.at(symbol).at("min_val").is_null())
            size.min = std::max(size.min, ranges[symbol]["min_val"].get<std::int64_t>());
  }

  /// Whether the name stands in the expression by itself, not within another.
  static bool mentions(std::string_view expression, std::string_view name) {
    const auto continues = [&](std::size_t at) {
      return at < expression.size() &&
             (std::isalnum(static_cast<unsigned char>(expression[at])) || expression[at] == '_');
    };
    for (std::size_t at = 0; (at = expression.find(name, at)) != std::string_view::npos; ++at)
      if ((at == 0 || !continues(at - 1)) && !continues(at + name.size())) return true;
    return false;
  }

  TupleFields tuple_fields() const {
    TupleFields fields;
    const json records = graph_module_.value("treespec_namedtuple_fields", json::object());
    for (const auto& [name, record] : records.items())
      fields[name] = record.at("field_names").get<std::vector<std::string>>();
    return fields;
  }

  const json& call_signature() const {
    for (const json& entry : graph_module_.at("module_call_graph"))
      if (entry.at("fqn") == "" && !entry.at("signature").is_null()) return entry.at("signature");
    malformed_program("the structure of its inputs is missing");
  }

  ts::ValueId add_argument(std::string name, const ts::Type* type) {
    ts::Argument a;
    a.name = out_.keep(std::move(name));
    a.type = type;
    if (type->fixed) a.default_value = *type->fixed;
    function_.arguments.push_back(a);
    const ts::ValueId id = out_.value(a.name, type);
    function_.body.inputs.push_back(id);
    return id;
  }

  // ---- inputs ----

  /// One leaf of the arguments: the name the graph knows it by and its type.
  struct Leaf {
    std::string name;
    const ts::Type* type = nullptr;
  };

  void read_inputs() {
    for (const json& spec : specs_.at("input_specs")) {
      const auto& [kind, v] = tagged_value(spec);
      if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant")
        attribute(v.at("arg").at("name").get<std::string>(), v.at(kind + "_name").get<std::string>(),
                  kind == "parameter");
      else if (kind == "custom_obj")
        reader_.bind(v.at("arg").at("name").get<std::string>(),
                     out_.constant(ts::Unsupported{"an object of a class of its own"}));
      else if (kind == "user_input")
        leaves_.push_back(user_input(v.at("arg")));
      else if (kind == "constant_input")
        leaves_.push_back(constant_input(v));
      else
        throw unsupported("an input of the kind '{}'", kind);
    }
    arguments();
  }

  void attribute(const std::string& value, const std::string& name, bool is_parameter) {
    const auto data = tensors_.find(name);
    const auto* type = reader_.declared_type(value);
    const bool is_there = data != tensors_.end() && !std::holds_alternative<ts::None>(data->second);
    if (!is_there) {
      missing_.push_back(name);
      return;
    }
    if (const auto* tensor = std::get_if<const ts::Tensor*>(&data->second); tensor && type->declared_sizes)
      check_weight(name, **tensor, *type);
    const std::string_view kept = out_.keep(name);
    if (!class_.slot(kept)) {
      class_.attributes.push_back({kept, type, is_parameter, !is_parameter});
      instance_.values.push_back(data->second);
    }
    const ts::ValueId id = out_.value(out_.keep(value), type);
    out_.add("prim::GetAttr", {self_}, {id}).name = kept;
    reader_.bind(value, id);
  }

  void check_missing() const {
    constexpr std::size_t shown = 5;
    if (missing_.empty()) return;
    const std::vector<std::string> some(
        missing_.begin(), missing_.begin() + static_cast<std::ptrdiff_t>(std::min(shown, missing_.size())));
    throw error("the data of {} are missing: {}{}",
                missing_.size() == 1 ? "a weight" : counted(missing_.size(), "weight"), fmt::join(some, ", "),
                some.size() < missing_.size() ? ", ..." : "")
        .hint("give them: --weights-from FILE.safetensors, with the names of the model's state dict");
  }

  Leaf user_input(const json& arg) {
    const auto& [kind, v] = tagged_value(arg);
    if (kind == "as_tensor") {
      const std::string name = v.at("name").get<std::string>();
      return {name, reader_.declared_type(name)};
    }
    if (kind == "as_sym_int" && v.contains("as_name"))
      return {v["as_name"].get<std::string>(), out_.type(Kind::integer, "int")};
    if (kind == "as_custom_obj") throw unsupported("an input that is an object of a class of its own");
    return constant_input({{"name", ""}, {"value", arg}});
  }

  Leaf constant_input(const json& v) {
    const auto& [kind, value] = tagged_value(v.at("value"));
    auto fixed = plain_value(kind, value);
    if (!fixed) throw unsupported("an input of the kind '{}'", kind);
    auto* type = const_cast<ts::Type*>(out_.type(kind_of(*fixed), kind.substr(3)));
    type->fixed = std::move(fixed);
    return {v.at("name").get<std::string>(), type};
  }

  /// The arguments of `forward`, nested as its caller gives them.
  void arguments() {
    const json& signature = call_signature();
    const Tree tree = read_tree(signature.at("in_spec").get<std::string>(), tuple_fields());
    const bool is_call = tree.children.size() == 2 && !tree.children[0].is_leaf && !tree.children[1].is_leaf;
    if (!is_call) malformed_program("its inputs are no arguments of a call");
    std::vector<const Tree*> trees;
    for (const Tree& part : tree.children)
      for (const Tree& child : part.children) trees.push_back(&child);
    std::vector<std::string> names;
    if (const auto given = signature.find("forward_arg_names"); given != signature.end() && given->is_array())
      names = given->get<std::vector<std::string>>();
    names.resize(trees.size());
    const std::size_t positional = tree.children[0].children.size();
    for (std::size_t i = 0; i < trees.size(); ++i) {
      if (i >= positional && !tree.children[1].names.empty())
        names[i] = tree.children[1].names[i - positional];
      if (names[i].empty()) names[i] = fmt::format("input_{}", i);
      const std::size_t first = next_leaf_;
      const ts::Type* type = type_of(*trees[i]);
      unpack(add_argument(names[i], type), *trees[i], first);
    }
    if (next_leaf_ != leaves_.size()) malformed_program("it has more inputs than their structure says");
  }

  const ts::Type* type_of(const Tree& tree) {
    if (tree.is_leaf) {
      if (next_leaf_ >= leaves_.size()) malformed_program("it has fewer inputs than their structure says");
      return leaves_[next_leaf_++].type;
    }
    std::vector<const ts::Type*> inner;
    for (const Tree& child : tree.children) inner.push_back(type_of(child));
    return container_type(tree, std::move(inner));
  }

  /// Lists and dicts have a fixed number of items here: all containers are tuples, with names or without.
  const ts::Type* container_type(const Tree& tree, std::vector<const ts::Type*> inner) {
    auto* type = const_cast<ts::Type*>(out_.type(Kind::tuple, tree.type, std::move(inner)));
    type->fields = tree.names;
    return type;
  }

  std::size_t unpack(ts::ValueId id, const Tree& tree, std::size_t leaf) {
    if (tree.is_leaf) {
      if (!leaves_[leaf].name.empty()) reader_.bind(leaves_[leaf].name, id);
      return leaf + 1;
    }
    std::vector<ts::ValueId> parts;
    for (const ts::Type* type : out_.type_of(id)->inner) parts.push_back(out_.value("", type));
    out_.add("prim::TupleUnpack", {id}, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) leaf = unpack(parts[i], tree.children[i], leaf);
    return leaf;
  }

  // ---- results ----

  void read_results() {
    std::vector<ts::ValueId> flat;
    const json& outputs = graph_module_.at("graph").at("outputs");
    const json& specs = specs_.at("output_specs");
    if (outputs.size() != specs.size()) malformed_program("it has other outputs than its signature");
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto& [kind, v] = tagged_value(specs[i]);
      if (kind == "user_output")
        flat.push_back(reader_.argument(v.at("arg")));
      else if (kind == "buffer_mutation" || kind == "parameter_mutation")
        keep_state(v, kind == "buffer_mutation" ? "buffer_name" : "parameter_name");
      else if (kind == "user_input_mutation")
        write_input(v);
      else
        throw unsupported("an output of the kind '{}'", kind).hint("export the model for inference");
    }
    const Tree tree = read_tree(call_signature().at("out_spec").get<std::string>(), tuple_fields());
    std::size_t next = 0;
    const ts::ValueId result = packed(tree, flat, next);
    if (next != flat.size()) malformed_program("it has more outputs than their structure says");
    function_.body.outputs = {result};
    function_.returns = {out_.type_of(result)};
  }

  void keep_state(const json& v, const char* name_key) {
    const std::string name = v.at(name_key).get<std::string>();
    if (!class_.slot(name)) malformed_program(fmt::format("it changes {}, which it does not have", name));
    const ts::ValueId value = reader_.find(v.at("arg").at("name").get<std::string>());
    out_.add("prim::SetAttr", {self_, value}, {}).name = out_.keep(name);
  }

  void write_input(const json& v) {
    const ts::ValueId target = reader_.find(v.at("user_input_name").get<std::string>());
    const ts::ValueId value = reader_.find(v.at("arg").at("name").get<std::string>());
    out_.call("aten::copy_", {target, value, out_.constant(false)}, out_.tensor_type());
  }

  ts::ValueId packed(const Tree& tree, const std::vector<ts::ValueId>& flat, std::size_t& next) {
    if (tree.is_leaf) {
      if (next >= flat.size()) malformed_program("it has fewer outputs than their structure says");
      return flat[next++];
    }
    std::vector<ts::ValueId> parts;
    std::vector<const ts::Type*> inner;
    for (const Tree& child : tree.children) {
      parts.push_back(packed(child, flat, next));
      inner.push_back(out_.type_of(parts.back()));
    }
    const ts::ValueId id = out_.value("", container_type(tree, std::move(inner)));
    out_.add("prim::TupleConstruct", std::move(parts), {id});
    return id;
  }

  const json &text_, &graph_module_, &specs_;
  const std::map<std::string, ts::IValue>& tensors_;
  ts::Program& p_;
  ts::Function& function_;
  ts::Class& class_;
  ts::Instance& instance_;
  GraphWriter out_;
  GraphReader reader_;
  ts::ValueId self_ = 0;
  std::vector<Leaf> leaves_;
  std::vector<std::string> missing_;
  std::size_t next_leaf_ = 0;
};

}  // namespace

void read_program(const std::string& text, const std::map<std::string, ts::IValue>& tensors, ts::Program& p) {
  const json program = parse_json(text);
  ProgramReader(program, tensors, p).run();
}

}  // namespace tenon::exported
