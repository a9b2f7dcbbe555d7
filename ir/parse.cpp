#include "ir/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "ir/lex.h"
#include "ir/ops/control.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

constexpr int max_depth = 200;  // nested regions and lists

struct ParsedOperand {
  Value* value = nullptr;
  Attr literal;                // a string, or a number whose dtype may come from a sibling
  std::optional<DType> dtype;  // written behind the literal
};

struct ParsedCall {
  Op op;
  std::vector<ParsedOperand> operands;
};

/// Names in scope. A fused body sees the names around it: they become its parameters as they are used.
struct Scope {
  Scope* outer = nullptr;
  bool captures = false;
  Region* region = nullptr;
  std::vector<Value*> captured = {};  // outer values, one per parameter of a fused body
  std::unordered_map<std::string, Value*> names = {};
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lex_(text) {}

  std::unique_ptr<Graph> run();

 private:
  // Errors of inference and attributes get the place in the text.
  template <class F>
  decltype(auto) guard(F&& f) {
    const Lexer::Mark mark = lex_.mark();
    try {
      return f();
    } catch (Error& e) {
      if (e.where().rfind("line ", 0) != 0) e.at(lex_.place(mark));
      throw;
    }
  }

  Type type() {
    const std::string_view text = lex_.type_text();
    return guard([&] { return Type::parse(text); });
  }

  void parameters(Scope& scope) {
    lex_.expect('(');
    while (lex_.peek() != ')') {
      if (!scope.region->parameters().empty()) lex_.expect(',');
      lex_.expect('%');
      std::string name = lex_.peek() == '"' ? lex_.string() : lex_.name();
      lex_.expect(':');
      Value* v = scope.region->add_parameter(type(), name);
      define(scope, std::move(name), v);
    }
    lex_.expect(')');
  }

  void symbols() {
    do {
      const std::string symbol = lex_.name();
      lex_.expect_word("in");
      SymbolInfo info;
      info.min = lex_.integer();
      lex_.expect('.');
      lex_.expect('.');
      if (lex_.at_digit()) info.max = lex_.integer();
      if (lex_.peek() == '"') info.note = lex_.string();
      graph_->symbols[symbol] = info;
    } while (lex_.try_char(','));
  }

  void define(Scope& scope, std::string name, Value* value) {
    if (!scope.names.emplace(name, value).second) lex_.fail("%{} is defined twice", name);
  }

  Value* find(Scope& scope, const std::string& name) {
    if (const auto it = scope.names.find(name); it != scope.names.end()) return it->second;
    if (!scope.captures || !scope.outer) return nullptr;
    Value* outer = find(*scope.outer, name);
    return outer ? scope.names[name] = capture(scope, outer) : nullptr;
  }

  Value* weight(Scope& scope, const std::string& name) {
    Value* w = graph_->find_weight(name);
    if (!w) lex_.fail("weight @{} is not declared", name);
    if (!scope.captures) return w;
    Value*& inside = scope.names["@" + name];
    if (!inside) inside = capture(scope, w);
    return inside;
  }

  Value* capture(Scope& scope, Value* outer) {
    scope.captured.push_back(outer);
    return scope.region->add_parameter(outer->type());
  }

  void region(Scope& scope, int depth) {
    if (depth > max_depth) lex_.fail("regions are nested more than {} deep", max_depth);
    while (!lex_.try_word("return")) statement(scope, depth);
    while (lex_.peek() != '}') {
      if (!scope.region->results().empty()) lex_.expect(',');
      scope.region->add_result(literal_or_value(scope));
      if (lex_.try_word("as")) name_result();
    }
    lex_.expect('}');
  }

  void name_result() {
    const Lexer::Mark mark = lex_.mark();
    std::string name = lex_.string();
    auto& names = graph_->output_names;
    if (std::ranges::count(names, name) > 0) lex_.fail_at(mark, "two results are named \"{}\"", name);
    names.push_back(std::move(name));
  }

  Value* value(Scope& scope) {
    if (lex_.try_char('@')) return weight(scope, lex_.peek() == '"' ? lex_.string() : lex_.name());
    const Lexer::Mark mark = lex_.mark();
    lex_.expect('%');
    const std::string name = lex_.peek() == '"' ? lex_.string() : lex_.name();
    Value* v = find(scope, name);
    if (!v) lex_.fail_at(mark, "%{} is not defined above", name);
    return v;
  }

  std::vector<std::string> result_names() {
    std::vector<std::string> names;
    if (lex_.peek() != '%') return names;
    do {
      lex_.expect('%');
      names.push_back(lex_.name());
    } while (lex_.try_char(','));
    lex_.expect('=');
    return names;
  }

  void statement(Scope& scope, int depth) {
    const std::vector<std::string> names = result_names();
    const Lexer::Mark mark = lex_.mark();
    Node* node = lex_.try_word("fused") ? fused(scope) : plain(scope, depth);
    if (names.size() != node->num_outputs())
      lex_.fail_at(mark, "{} has {} results, not {}", node->op().name(), node->num_outputs(), names.size());
    const bool has_types = !names.empty() && lex_.try_char(':');
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!has_types) {
        define(scope, names[i], node->output(i));
        continue;
      }
      if (i) lex_.expect(',');
      const Lexer::Mark at = lex_.mark();
      const Type written = type();
      if (written != node->output(i)->type())
        lex_.fail_at(at, "%{} is written as {} but {} gives {}", names[i], written.str(), node->op().name(),
                     node->output(i)->type().str());
      define(scope, names[i], node->output(i));
    }
    if (const auto comment = lex_.comment()) source(node->source, *comment);
  }

  static void source(Source& s, std::string_view text) {
    if (text.ends_with(')')) {
      const auto open = text.rfind('(');
      const auto colon = text.rfind(':');
      if (open != std::string_view::npos && colon != std::string_view::npos && colon > open) {
        s.file = text.substr(open + 1, colon - open - 1);
        std::from_chars(text.data() + colon + 1, text.data() + text.size() - 1, s.line);
        text = text.substr(0, open);
        while (text.ends_with(' ')) text.remove_suffix(1);
      }
    }
    s.modules = Source::parse_modules(text);
  }

  Node* insert(Scope& scope, ParsedCall call) {
    std::vector<Value*> inputs = resolve(scope, call.operands);
    return guard([&] { return scope.region->insert(std::move(call.op), std::move(inputs)); });
  }

  Node* plain(Scope& scope, int depth) {
    ParsedCall c = call(scope, nullptr);
    if (c.op.info().regions == 0) return insert(scope, std::move(c));
    std::vector<Value*> inputs = resolve(scope, c.operands);
    const auto regions = static_cast<std::size_t>(c.op.info().regions);
    Node* node = scope.region->insert_typed(c.op, inputs, {}, regions);
    for (const auto& r : node->regions()) {
      Scope inner{.region = r.get()};
      parameters(inner);
      lex_.expect('{');
      region(inner, depth + 1);
    }
    guard([&] { node->add_outputs(node->infer()); });
    return node;
  }

  Node* fused(Scope& scope) {
    Node* node = scope.region->insert_typed(Op(Fused{}), {}, {}, 1);
    Scope inner{.outer = &scope, .captures = true, .region = &node->region()};
    Value* previous = nullptr;
    if (lex_.peek() != '{') previous = step(inner, nullptr);
    bool returned = false;
    lex_.expect('{');
    do {
      returned = lex_.try_word("return");
      if (returned) break;
      previous = step(inner, previous);
    } while (lex_.try_char(';'));
    if (returned) {
      do node->region().add_result(value(inner));
      while (lex_.try_char(','));
    } else {
      if (!previous) lex_.fail("a fused body ends with the value it returns");
      node->region().add_result(previous);
    }
    lex_.expect('}');
    for (Value* v : inner.captured) node->add_input(v);
    node->add_outputs(node->infer());
    return node;
  }

  // One step of a fused body. Its value when it is not named: what `_` means in the next step.
  Value* step(Scope& scope, Value* previous) {
    const std::vector<std::string> names = result_names();
    const Lexer::Mark mark = lex_.mark();
    ParsedCall c = call(scope, previous);
    if (c.op.info().regions > 0) lex_.fail_at(mark, "a fused body holds no {}", c.op.name());
    Node* node = insert(scope, std::move(c));
    if (!names.empty() && names.size() != node->num_outputs())
      lex_.fail("{} has {} results, not {}", node->op().name(), node->num_outputs(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) define(scope, names[i], node->output(i));
    return names.empty() && node->num_outputs() == 1 ? node->output() : nullptr;
  }

  ParsedCall call(Scope& scope, Value* previous) {
    const Lexer::Mark mark = lex_.mark();
    const std::string name = lex_.name();
    const OpInfo* info = find_op(name);
    if (!info) lex_.fail_at(mark, "there is no operator '{}'", name);
    ParsedCall c{info->make(), {}};
    if (!lex_.try_char('(')) {
      if (!previous) lex_.fail("operands of {} are missing", name);
      c.operands.push_back({.value = previous, .literal = {}, .dtype = {}});
      return c;
    }
    std::vector<std::pair<std::string, Attr>> attributes;
    bool first = true;
    while (!lex_.try_char(')')) {
      if (!std::exchange(first, false)) lex_.expect(',');
      if (const auto field = lex_.try_field())
        attributes.emplace_back(*field, attribute(0));
      else
        c.operands.push_back(operand(scope, previous));
    }
    guard([&] { c.op = c.op.with(attributes); });
    return c;
  }

  ParsedOperand operand(Scope& scope, Value* previous) {
    if (lex_.peek() == '%' || lex_.peek() == '@') return {.value = value(scope), .literal = {}, .dtype = {}};
    if (lex_.peek() == '_') {
      lex_.expect('_');
      if (!previous) lex_.fail("_ is the value of the step before; here is none");
      return {.value = previous, .literal = {}, .dtype = {}};
    }
    ParsedOperand o{.value = nullptr, .literal = {}, .dtype = {}};
    if (lex_.peek() == '"')
      o.literal = lex_.string();
    else
      o.literal = lex_.number();
    if (lex_.try_char(':')) {
      const std::string word = lex_.name();
      o.dtype = dtype_from_name(word);
      if (!o.dtype) lex_.fail("'{}' is not a dtype", word);
    }
    return o;
  }

  static Tensor literal(DType dtype, const Attr& value) {
    if (is_string(dtype)) return string_tensor({}, std::array{from_attr<std::string>(value)});
    const auto* integer = value.get<std::int64_t>();
    return integer ? Tensor::scalar(dtype, *integer) : Tensor::scalar(dtype, from_attr<double>(value));
  }

  Value* literal_or_value(Scope& scope) { return resolve(scope, {operand(scope, nullptr)})[0]; }

  std::vector<Value*> resolve(Scope& scope, const std::vector<ParsedOperand>& operands) {
    std::optional<DType> sibling;
    for (const ParsedOperand& o : operands)
      if (o.value && !sibling) sibling = o.value->dtype();
    std::vector<Value*> values;
    for (const ParsedOperand& o : operands) {
      if (o.value) {
        values.push_back(o.value);
        continue;
      }
      const auto dtype = o.dtype                        ? o.dtype
                         : o.literal.get<std::string>() ? std::optional(DType::string)
                                                        : sibling;
      if (!dtype)
        lex_.fail("the dtype of the literal {} is missing: write {}:f32", o.literal.str(), o.literal.str());
      values.push_back(scope.region->literal(guard([&] { return literal(*dtype, o.literal); })));
    }
    return values;
  }

  Attr attribute(int depth) {
    if (depth > max_depth) lex_.fail("lists are nested more than {} deep", max_depth);
    if (lex_.peek() == '"') return lex_.string();
    if (lex_.try_char('[')) {
      Attr::List list;
      while (!lex_.try_char(']')) {
        if (!list.empty()) lex_.expect(',');
        list.push_back(attribute(depth + 1));
      }
      return list;
    }
    if (lex_.try_word("none")) return {};
    if (auto number = lex_.try_number()) return *number;
    const std::string_view text = lex_.dim_text();
    if (const auto dtype = dtype_from_name(text)) return *dtype;
    return guard([&] { return Attr(Dim::parse(text)); });
  }

  Lexer lex_;
  std::unique_ptr<Graph> graph_;
};

std::unique_ptr<Graph> Parser::run() {
  lex_.expect_word("graph");
  graph_ = std::make_unique<Graph>(lex_.peek() == '"' ? lex_.string() : lex_.name());
  Scope scope{.region = &graph_->body()};
  parameters(scope);
  if (lex_.try_word("where")) symbols();
  lex_.expect('{');
  while (lex_.peek() == '@') {
    lex_.expect('@');
    const std::string weight = lex_.peek() == '"' ? lex_.string() : lex_.name();
    lex_.expect(':');
    guard([&] { graph_->add_weight(weight, type()); });
  }
  region(scope, 1);
  lex_.expect_end();
  return std::move(graph_);
}

}  // namespace

std::unique_ptr<Graph> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tenon
