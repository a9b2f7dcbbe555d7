#include "base/json.h"

#include "base/error.h"

namespace tenon {
namespace {

using nlohmann::json;

constexpr int max_depth = 200;

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    depth += c == '[' || c == '{';
    depth -= c == ']' || c == '}';
    if (depth > max_depth) return true;
  }
  return false;
}

}  // namespace

json parse_json(std::string_view text) {
  if (is_too_deep(text)) throw error("its JSON is nested more than {} deep", max_depth);
  return json::parse(text);
}

json parse_json_or_discard(std::string_view text) {
  if (is_too_deep(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace tenon
