// Reads PyTorch's schema text: "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) ->
// Tensor(a!)".
#include "converter/exported/schemas.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "ir/operator_library.h"

namespace tenon::exported {
namespace {

namespace ts = torchscript;

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

/// The part of each line before its first parenthesis.
std::string_view key_of(std::string_view line) { return line.substr(0, line.find('(')); }

const std::vector<std::string_view>& lines() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> found;
    std::string_view rest = schemas_txt;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      found.push_back(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return found;
  }();
  return all;
}

/// Splits at commas outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c != ',' || depth > 0) continue;
    parts.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  if (const auto last = trimmed(text.substr(start)); !last.empty()) parts.push_back(last);
  return parts;
}

/// Where the parenthesis that opens at `open` closes.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0) return i;
  }
  throw InternalError("schemas.txt: a parenthesis is not closed");
}

/// Of the plain types; `other` for lists, options and what is written.
ts::Type::Kind kind_of(std::string_view type) {
  using Kind = ts::Type::Kind;
  static const std::unordered_map<std::string_view, Kind> kinds = {
      {"Tensor", Kind::tensor}, {"int", Kind::integer},  {"SymInt", Kind::integer},  {"float", Kind::real},
      {"SymFloat", Kind::real}, {"bool", Kind::boolean}, {"SymBool", Kind::boolean}, {"Scalar", Kind::number},
      {"number", Kind::number}, {"str", Kind::string},   {"Device", Kind::device},
  };
  const auto found = kinds.find(type);
  return found == kinds.end() ? Kind::other : found->second;
}

class SchemaReader {
 public:
  explicit SchemaReader(ts::Program& program) : p_(program) {}

  ts::Schema schema(std::string_view line) {
    const std::size_t open = line.find('('), close = closing(line, open);
    const std::string_view key = line.substr(0, open);
    const std::size_t dot = key.find('.', key.find("::"));
    ts::Schema s;
    s.key = key;
    s.kind = key.substr(0, dot);
    s.overload = dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
    bool keyword_only = false;
    for (const std::string_view part : split(line.substr(open + 1, close - open - 1))) {
      if (part == "*")
        keyword_only = true;
      else if (part == "...")
        s.is_vararg = true;
      else
        s.arguments.push_back(argument(part, keyword_only));
    }
    std::string_view result = trimmed(line.substr(line.find("->", close) + 2));
    if (result.starts_with('(')) result = result.substr(1, result.size() - 2);
    for (const std::string_view part : split(result)) s.returns.push_back({"", type(part), {}, false, false});
    return s;
  }

 private:
  const ts::Type* type(std::string_view text) {
    ts::Type& t = p_.types.emplace_back();
    t.kind = kind_of(text);
    t.text = text;
    return &t;
  }

  ts::Argument argument(std::string_view text, bool keyword_only) {
    const std::size_t equals = text.find('=');
    const std::string_view declared = trimmed(text.substr(0, equals));
    const std::size_t space = declared.rfind(' ');
    const std::string_view of_type = declared.substr(0, space);
    ts::Argument a;
    a.name = declared.substr(space + 1);
    a.type = type(of_type);
    a.keyword_only = keyword_only;
    a.is_written = of_type.find('!') != std::string_view::npos;
    if (equals != std::string_view::npos) a.default_value = value(text.substr(equals + 1), of_type);
    return a;
  }

  ts::IValue value(std::string_view text, std::string_view of_type) {
    if (text == "None") return ts::None{};
    if (text == "True" || text == "False") return text == "True";
    if (text.starts_with('"')) return std::string(text.substr(1, text.size() - 2));
    if (text.starts_with('[')) {
      ts::List& list = p_.lists.emplace_back();
      for (const std::string_view item : split(text.substr(1, text.size() - 2)))
        list.items.push_back(value(item, ""));
      return &list;
    }
    const std::size_t bracket = of_type.find('[');
    if (bracket != std::string_view::npos) return repeated(number(text), of_type.substr(bracket + 1));
    return of_type.starts_with("float") ? ts::IValue(real(text)) : number(text);
  }

  /// `int[2] padding=0` stands for [0, 0].
  ts::IValue repeated(const ts::IValue& item, std::string_view count) {
    std::size_t n = 0;
    std::from_chars(count.data(), count.data() + count.size(), n);
    ts::List& list = p_.lists.emplace_back();
    list.items.assign(n, item);
    return &list;
  }

  static double real(std::string_view text) {
    double x = 0;
    const auto [end, e] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (e != std::errc() || end != text.data() + text.size())
      throw InternalError(fmt::format("schemas.txt: '{}' is no number", text));
    return x;
  }

  static ts::IValue number(std::string_view text) {
    if (text.find_first_of(".e") != std::string_view::npos) return real(text);
    return static_cast<std::int64_t>(real(text));
  }

  ts::Program& p_;
};

}  // namespace

std::vector<std::string_view> overloads_of(std::string_view name) {
  std::vector<std::string_view> keys;
  for (auto line = std::lower_bound(lines().begin(), lines().end(), name);
       line != lines().end() && line->starts_with(name); ++line) {
    const char next = line->substr(name.size()).front();
    if (next == '(' || next == '.') keys.push_back(key_of(*line));
  }
  return keys;
}

std::vector<std::string_view> schemas_of(std::string_view prefix) {
  std::vector<std::string_view> found;
  for (const std::string_view line : lines())
    if (line.starts_with(prefix)) found.push_back(line);
  return found;
}

const ts::Schema* Schemas::find(const std::string& key) {
  const auto [known, is_new] = known_.try_emplace(key, nullptr);
  if (!is_new) return known->second;
  if (const LibraryOperator* custom = find_library_operator(key))
    return known->second = &p_.schemas.emplace_back(
               SchemaReader(p_).schema(p_.strings.emplace_back(custom->signature.torch_schema(key))));
  const auto found =
      std::lower_bound(lines().begin(), lines().end(), std::string_view(key),
                       [](std::string_view line, std::string_view k) { return key_of(line) < k; });
  if (found == lines().end() || key_of(*found) != key) return nullptr;
  return known->second = &p_.schemas.emplace_back(SchemaReader(p_).schema(*found));
}

}  // namespace tenon::exported
