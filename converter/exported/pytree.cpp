#include "converter/exported/pytree.h"

#include "base/error.h"
#include "base/json.h"

namespace tenon::exported {
namespace {

using nlohmann::json;

constexpr int kDeepestTree = 200;

[[noreturn]] void malformed(std::string_view what) {
  throw error("the structure of the program's inputs or outputs cannot be read: {}", what);
}

std::string key_text(const json& key) { return key.is_string() ? key.get<std::string>() : key.dump(); }

/// The names in a node's context: dict keys, or the fields of a class that says them.
std::vector<std::string> names_in(const json& context, std::size_t count) {
  const json* list = &context;
  if (context.is_object() && context.contains("dict_context"))
    list = &context["dict_context"];  // defaultdict
  // A dataclass lists the fields it has, then those that are None.
  if (context.is_array() && context.size() == 2)
    for (const json& part : context)
      if (part.is_array() && part.size() == count) list = &part;
  if (!list->is_array() || list->size() != count) return {};
  std::vector<std::string> names;
  for (const json& key : *list) {
    if (key.is_array() || key.is_object()) return {};
    names.push_back(key_text(key));
  }
  return names;
}

Tree tree(const json& node, const TupleFields& fields, int depth) {
  if (depth > kDeepestTree) malformed("it nests too deep");
  Tree out;
  if (node.at("type").is_null()) return out;
  out.is_leaf = false;
  out.type = node.at("type").get<std::string>();
  for (const json& child : node.at("children_spec")) out.children.push_back(tree(child, fields, depth + 1));
  // JSON in a string, or the plain name of a NamedTuple class.
  json context = node.at("context");
  if (context.is_string()) {
    json inner = parse_json_or_discard(context.get<std::string>());
    if (!inner.is_discarded()) context = std::move(inner);
  }
  const bool has_no_names = out.type == "builtins.tuple" || out.type == "builtins.list";
  if (has_no_names) return out;
  const auto named = context.is_string() ? fields.find(context.get<std::string>()) : fields.end();
  out.names = named != fields.end() ? named->second : names_in(context, out.children.size());
  if (!out.names.empty() && out.names.size() != out.children.size())
    malformed("a container has other children than names");
  return out;
}

}  // namespace

Tree read_tree(const std::string& text, const TupleFields& fields) {
  try {
    const json spec = parse_json(text);
    if (!spec.is_array() || spec.size() != 2 || spec[0] != 1) malformed("its version is not 1");
    return tree(spec[1], fields, 0);
  } catch (const json::exception& e) { malformed(e.what()); }
}

}  // namespace tenon::exported
