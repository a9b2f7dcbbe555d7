#include "converter/exported/graph_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "converter/exported/dtypes.h"
#include "converter/exported/size_text.h"
#include "ir/operator_library.h"

namespace tenon::exported {
namespace {

constexpr std::size_t kDeepestGraph = 50;  // graphs inside graphs

double real(const json& v) {
  if (v.is_number()) return v.get<double>();
  const std::string text = v.get<std::string>();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  malformed_program("a number that is none");
}

std::int64_t in_c10(std::optional<std::int64_t> code, std::string_view what) {
  if (!code) malformed_program(fmt::format("a {} that is not known", what));
  return *code;
}

}  // namespace

std::optional<ts::IValue> plain_value(const std::string& kind, const json& v) {
  if (kind == "as_none") return ts::None{};
  if (kind == "as_int") return v.get<std::int64_t>();
  if (kind == "as_float") return real(v);
  if (kind == "as_bool") return v.get<bool>();
  if (kind == "as_string") return v.get<std::string>();
  if (kind == "as_complex") return std::complex<double>(real(v.at("real")), real(v.at("imag")));
  if (kind == "as_device") return ts::Device{"cpu"};
  if (kind == "as_scalar_type") return in_c10(c10_dtype(v.get<std::int64_t>()), "dtype");
  if (kind == "as_layout") return in_c10(c10_layout(v.get<std::int64_t>()), "layout");
  if (kind == "as_memory_format") return in_c10(c10_memory_format(v.get<std::int64_t>()), "memory format");
  return std::nullopt;
}

namespace {

/// The kind of the items of a written-out list; empty for other arguments.
std::string_view item_kind(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kinds = {
      std::pair{"as_ints", "as_int"},       {"as_floats", "as_float"},   {"as_bools", "as_bool"},
      std::pair{"as_strings", "as_string"}, {"as_int_lists", "as_ints"}, {"as_float_lists", "as_floats"}};
  for (const auto& [list, item] : kinds)
    if (list == kind) return item;
  return {};
}

ts::IValue plain_list(ts::Program& p, std::string_view of, const json& items) {
  ts::List& list = p.lists.emplace_back();
  for (const json& item : items) {
    const std::string_view inner = item_kind(of);
    list.items.push_back(inner.empty() ? plain_value(std::string(of), item).value()
                                       : plain_list(p, inner, item));
  }
  return &list;
}

/// An assertion of what the types in the file say.
constexpr std::string_view assertion_of_types = "aten::_assert_tensor_metadata";

/// Operators that only check.
bool is_assertion(std::string_view key) {
  return key.starts_with("aten::_assert") || key.starts_with("aten::_functional_assert") ||
         key.starts_with("aten::sym_constrain_range") || key.starts_with("aten::_functional_sym_constrain");
}

/// "torch.ops.aten.add.Tensor" is "aten::add.Tensor", ".default" stands for no overload.
std::string key_of(std::string_view target) {
  constexpr std::string_view prefix = "torch.ops.";
  if (!target.starts_with(prefix)) return {};
  target.remove_prefix(prefix.size());
  const std::size_t dot = target.find('.');
  if (dot == std::string_view::npos) return {};
  std::string_view name = target.substr(dot + 1);
  if (name.ends_with(".default")) name.remove_suffix(8);
  return fmt::format("{}::{}", target.substr(0, dot), name);
}

/// The innermost line that is the author's: not PyTorch's own, not generated.
ts::Source line_of(GraphWriter& out, std::string_view trace) {
  ts::Source found;
  while (!trace.empty()) {
    const std::size_t end = trace.find('\n');
    std::string_view line = trace.substr(0, end);
    trace.remove_prefix(end == std::string_view::npos ? trace.size() : end + 1);
    const std::size_t start = line.find("File \"");
    const std::size_t close = line.find("\", line ");
    if (start == std::string_view::npos || close == std::string_view::npos || close < start + 6) continue;
    const std::string_view file = line.substr(start + 6, close - start - 6);
    const bool is_generated = file.starts_with('<') || file.empty();
    const bool is_library = file.find("/torch/") != std::string_view::npos || file.starts_with("torch/");
    if (is_generated || (is_library && found.line > 0)) continue;
    const std::string_view digits = line.substr(close + 8);
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number <= 0) continue;
    found.file = out.keep(std::string(file));
    found.line = number;
  }
  return found;
}

/// The last module of "key,path,class;key,path,class": a second call of it is "path@1".
std::string_view module_of(std::string_view stack) {
  const std::string_view last =
      stack.substr(stack.rfind(';') == std::string_view::npos ? 0 : stack.rfind(';') + 1);
  const std::size_t first = last.find(','), second = last.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  const std::string_view path = last.substr(first + 1, second - first - 1);
  const bool is_path =
      path.find_first_of("[]'\" ") == std::string_view::npos && !path.starts_with("_empty_nn");
  return is_path ? path.substr(0, path.find('@')) : std::string_view();
}

}  // namespace

void malformed_program(std::string_view what) {
  throw error("the program of the archive does not hold together: {}", what)
      .hint("copy or export the file again");
}

TaggedValue tagged_value(const json& one_of) {
  if (!one_of.is_object() || one_of.size() != 1) malformed_program("a record is not one of its kinds");
  return {one_of.begin().key(), one_of.begin().value()};
}

void GraphReader::enter(const json& graph) {
  if (scopes_.size() >= kDeepestGraph) malformed_program("its graphs nest too deep");
  scopes_.push_back({&graph, {}});
}

void GraphReader::bind(const std::string& name, ts::ValueId id) {
  if (!scopes_.back().names.emplace(name, id).second)
    malformed_program(fmt::format("two values are called {}", name));
}

ts::ValueId GraphReader::find(const std::string& name) const {
  const auto found = scopes_.back().names.find(name);
  if (found == scopes_.back().names.end())
    malformed_program(fmt::format("the value {} is used before it is made", name));
  return found->second;
}

const ts::Type* GraphReader::number_type(Kind kind) {
  const auto [known, is_new] = number_types_.try_emplace(static_cast<int>(kind), nullptr);
  if (is_new) known->second = out_.type(kind, "");
  return known->second;
}

const ts::Type* GraphReader::declared_type(const std::string& name) {
  const json& values = scopes_.back().graph->at("tensor_values");
  const auto meta = values.find(name);
  auto* type = const_cast<ts::Type*>(out_.tensor_type());
  if (meta == values.end()) return type;
  type->dtype = dtype_of(meta->at("dtype").get<std::int64_t>());
  if (!type->dtype) return type;
  type->declared_sizes.emplace();
  for (const json& size : meta->at("sizes")) {
    const bool known = size.contains("as_int");
    type->declared_sizes->push_back(
        known ? std::to_string(size["as_int"].get<std::int64_t>())
              : size_text(size.at("as_expr").at("expr_str").get_ref<const std::string&>()).value_or(""));
  }
  return type;
}

ts::ValueId GraphReader::define(const std::string& name, const ts::Type* type) {
  const ts::ValueId id = out_.value(out_.keep(name), type);
  bind(name, id);
  return id;
}

ts::ValueId GraphReader::optional_tensor(const json& record) {
  return record.contains("as_tensor") ? find(record["as_tensor"].at("name").get<std::string>())
                                      : out_.constant(ts::None{});
}

ts::ValueId GraphReader::symbol_or_number(const json& record) {
  const auto& [kind, v] = tagged_value(record);
  if (kind == "as_name") return find(v.get<std::string>());
  const auto plain = plain_value(kind, v);
  if (!plain) malformed_program("a size is neither a number nor a name");
  return out_.constant(*plain);
}

ts::ValueId GraphReader::argument(const json& given) {
  const auto& [kind, v] = tagged_value(given);
  if (auto plain = plain_value(kind, v)) return out_.constant(std::move(*plain));
  if (const std::string_view inner = item_kind(kind); !inner.empty())
    return out_.constant(plain_list(out_.program(), inner, v));
  if (kind == "as_tensor") return find(v.at("name").get<std::string>());
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return symbol_or_number(v);
  if (kind == "as_optional_tensor") return optional_tensor(v);
  std::vector<ts::ValueId> items;
  if (kind == "as_tensors") {
    for (const json& item : v) items.push_back(find(item.at("name").get<std::string>()));
    return out_.list(std::move(items), out_.tensor_type());
  }
  if (kind == "as_optional_tensors") {
    for (const json& item : v) items.push_back(optional_tensor(item));
    return out_.list(std::move(items), out_.type(Kind::optional, "Optional[Tensor]", {out_.tensor_type()}));
  }
  if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") {
    for (const json& item : v) items.push_back(symbol_or_number(item));
    const Kind of = kind == "as_sym_ints"     ? Kind::integer
                    : kind == "as_sym_floats" ? Kind::real
                                              : Kind::boolean;
    return out_.list(std::move(items), number_type(of));
  }
  if (kind == "as_nested_tensors") {
    for (const json& item : v) items.push_back(argument({{"as_tensors", item}}));
    return out_.list(std::move(items), out_.list_type(out_.tensor_type()));
  }
  return out_.constant(ts::Unsupported{fmt::format("an argument of the kind '{}'", kind)});
}

GraphReader::Outputs GraphReader::outputs_of(const json& node) {
  Outputs out;
  const auto tensor = [&](const json& record) {
    const std::string name = record.at("name").get<std::string>();
    return define(name, declared_type(name));
  };
  const auto tensors = [&](const json& records, auto&& each) {
    out.ids.push_back(out_.value("", out_.list_type(out_.tensor_type())));
    out.lists.push_back({out.ids.back(), {}});
    for (const json& record : records) out.lists.back().second.push_back(each(record));
  };
  for (const json& record : node.at("outputs")) {
    const auto& [kind, v] = tagged_value(record);
    const auto optional = [&](const json& r) {
      return r.contains("as_tensor") ? tensor(r["as_tensor"]) : out_.value("", number_type(Kind::none));
    };
    if (kind == "as_tensor")
      out.ids.push_back(tensor(v));
    else if (kind == "as_tensors")
      tensors(v, tensor);
    else if (kind == "as_optional_tensors")
      tensors(v, optional);
    else if (kind == "as_optional_tensor")
      out.ids.push_back(optional(v));
    else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      out.ids.push_back(
          define(v.at("as_name").get<std::string>(), number_type(kind == "as_sym_int"     ? Kind::integer
                                                                 : kind == "as_sym_float" ? Kind::real
                                                                                          : Kind::boolean)));
    else if (kind == "as_none" && node.at("outputs").size() > 1)  // it keeps its place among the results
      out.ids.push_back(out_.value("", number_type(Kind::none)));
    else if (kind != "as_none")
      malformed_program(fmt::format("a result of the kind '{}'", kind));
  }
  return out;
}

void GraphReader::unpack(const Outputs& outputs) {
  for (const auto& [list, items] : outputs.lists) out_.add("prim::ListUnpack", {list}, items);
}

void GraphReader::refuse(const json& node, std::string why) {
  std::vector<ts::ValueId> inputs;
  for (const json& input : node.at("inputs"))
    if (!input.at("arg").contains("as_graph")) inputs.push_back(argument(input["arg"]));
  const Outputs outputs = outputs_of(node);
  const std::string target = node.at("target").get<std::string>();
  const std::string key = key_of(target);
  out_.unsupported(out_.keep(key.empty() ? target : key), std::move(inputs), outputs.ids, std::move(why));
  unpack(outputs);
}

ts::Source GraphReader::source_of(const json& node) {
  const json& metadata = node.at("metadata");
  ts::Source source;
  if (const auto trace = metadata.find("stack_trace"); trace != metadata.end())
    source = line_of(out_, trace->get_ref<const std::string&>());
  if (const auto stack = metadata.find("nn_module_stack"); stack != metadata.end())
    source.module = out_.keep(std::string(module_of(stack->get_ref<const std::string&>())));
  if (source.line > 0) return source;
  // An operator that carries graphs stands where these do.
  for (const json& input : node.at("inputs"))
    if (input.at("arg").contains("as_graph"))
      for (const json& inner : input["arg"]["as_graph"].at("graph").at("nodes")) return source_of(inner);
  return source;
}

namespace {

/// The names of values anywhere in a record.
void collect_names(const json& record, std::unordered_set<std::string_view>& names) {
  if (record.is_array() || record.is_object())
    for (const auto& [key, item] : record.items()) {
      if ((key == "name" || key == "as_name") && item.is_string())
        names.insert(item.get_ref<const std::string&>());
      else
        collect_names(item, names);
    }
}

/// Functions of sizes, whose value alone counts.
bool is_on_sizes(std::string_view target) {
  return target.starts_with("_operator.") || target.starts_with("math.") ||
         target.starts_with("torch.sym_") || target.starts_with("torch.ops.aten.sym_");
}

}  // namespace

namespace {

bool reads_any(const json& node, const std::unordered_set<std::string_view>& names) {
  std::unordered_set<std::string_view> read;
  for (const json& input : node.at("inputs")) collect_names(input.at("arg"), read);
  return std::any_of(read.begin(), read.end(), [&](std::string_view name) { return names.contains(name); });
}

const std::string& target_of(const json& node) { return node.at("target").get_ref<const std::string&>(); }

/// Strides and places in memory, and what is computed from them: exporters write down what they know of
/// these.
std::unordered_set<std::string_view> numbers_of_layouts(const json& nodes) {
  std::unordered_set<std::string_view> names;
  for (const json& node : nodes) {
    const std::string& target = target_of(node);
    const bool is_of_layout = target.starts_with("torch.ops.aten.sym_stride") ||
                              target.starts_with("torch.ops.aten.sym_storage_offset");
    if (is_of_layout || (is_on_sizes(target) && reads_any(node, names)))
      collect_names(node.at("outputs"), names);
  }
  return names;
}

}  // namespace

/// Assertions about layouts are left out, and the sizes that nothing else reads.
void GraphReader::read_nodes() {
  const json& graph = *scopes_.back().graph;
  const json& nodes = graph.at("nodes");
  const auto of_layouts = numbers_of_layouts(nodes);
  std::unordered_set<std::string_view> needed;
  std::vector<const json*> read;
  collect_names(graph.at("outputs"), needed);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const std::string& target = target_of(*node);
    if (is_assertion(key_of(target)) && reads_any(*node, of_layouts)) continue;
    std::unordered_set<std::string_view> results;
    collect_names(node->at("outputs"), results);
    const bool is_needed = std::any_of(results.begin(), results.end(),
                                       [&](std::string_view name) { return needed.contains(name); });
    if (!is_needed && is_on_sizes(target)) continue;
    for (const json& input : node->at("inputs")) collect_names(input.at("arg"), needed);
    read.push_back(&*node);
  }
  for (auto node = read.rbegin(); node != read.rend(); ++node) read_node(**node);
}

void GraphReader::read_node(const json& node) {
  out_.set_source(source_of(node));
  const std::string target = node.at("target").get<std::string>();
  const std::string key = key_of(target);
  if (key == assertion_of_types) return;
  if (key.starts_with("aten::") || key.starts_with("torchvision::") || key.starts_with("torch_nn::") ||
      find_library_operator(key))
    return read_operator(node, key);
  if (key == "transformers::grouped_mm_fallback")  // what Transformers calls on the CPU for the same
    return read_operator(node, "aten::_grouped_mm", {"self", "mat2", "offs"});
  if (key.starts_with("higher_order::")) return read_higher_order(node, key.substr(14));
  if (!key.empty()) return refuse(node, "a custom operator");
  if (!read_vmap(node, target) && !read_symbolic(node, target))
    refuse(node, "a function on sizes that is not implemented");
}

void GraphReader::read_operator(const json& node, const std::string& key,
                                const std::vector<std::string_view>& names) {
  const ts::Schema* schema = out_.schemas().find(key);
  if (!schema) return refuse(node, "the operator is not one that Tenon knows of PyTorch");
  if (is_cast_inside(key)) return refuse(node, "under autocast, which casts what it computes on the way");
  std::unordered_map<std::string_view, const json*> given;
  for (const json& input : node.at("inputs")) {
    const std::string_view own = input.at("name").get_ref<const std::string&>();
    given.emplace(given.size() < names.size() ? names[given.size()] : own, &input.at("arg"));
  }
  std::vector<ts::ValueId> inputs;
  std::size_t used = 0;
  for (const ts::Argument& a : schema->arguments) {
    const auto found = given.find(a.name);
    if (found != given.end()) {
      inputs.push_back(argument(*found->second));
      ++used;
    } else if (a.default_value) {
      inputs.push_back(out_.constant(*a.default_value));
    } else {
      malformed_program(fmt::format("a call of {} lacks its argument {}", key, a.name));
    }
  }
  if (used != given.size())
    return refuse(node, "it has an argument that this version of Tenon does not know");
  autocast(schema->kind, inputs);
  const Outputs outputs = outputs_of(node);
  out_.add(schema->kind, std::move(inputs), outputs.ids).schema = schema;
  unpack(outputs);
}

}  // namespace tenon::exported
