#include "ir/operator_signature.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ir/lex.h"

namespace tenon {
namespace {

using Kind = OperatorSignature::Kind;
using Pattern = OperatorSignature::Pattern;
using Argument = OperatorSignature::Argument;

constexpr std::string_view leading_axes = "...";

struct KindName {
  Kind kind;
  std::string_view word, torch;
};
constexpr std::array<KindName, 6> kind_names = {{{Kind::integer, "int", "int"},
                                                 {Kind::real, "float", "float"},
                                                 {Kind::boolean, "bool", "bool"},
                                                 {Kind::text, "str", "str"},
                                                 {Kind::integers, "int[]", "int[]"},
                                                 {Kind::reals, "float[]", "float[]"}}};

std::string_view torch_name(Kind kind) {
  for (const KindName& k : kind_names)
    if (k.kind == kind) return k.torch;
  return "Tensor";
}

class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : lex_(text) { signature_.text = text; }

  OperatorSignature read() {
    lex_.expect('(');
    while (lex_.peek() != ')') {
      if (!signature_.arguments.empty()) lex_.expect(',');
      argument();
    }
    lex_.expect(')');
    lex_.expect('-');
    lex_.expect('>');
    do {
      const Lexer::Mark at = lex_.mark();
      signature_.results.push_back(pattern(lex_.type_text(), at));
      check_result(signature_.results.back(), at);
    } while (lex_.try_char(','));
    if (lex_.peek() != '\0') lex_.fail("text behind the end of the signature");
    return std::move(signature_);
  }

 private:
  void argument() {
    const Lexer::Mark at = lex_.mark();
    Argument a{.name = lex_.name(), .tensor = {}, .fallback = {}};
    if (!names_.insert(a.name).second) lex_.fail_at(at, "two arguments are called {}", a.name);
    lex_.expect(':');
    const Lexer::Mark type = lex_.mark();
    a.kind = kind();
    if (a.kind == Kind::tensor) {
      a.tensor = pattern(begun_ + std::string(lex_.type_text()), type);
      dtypes_.insert(a.tensor.dtype);
      has_leading_ |= a.tensor.has_leading;
      for (const Dim& d : a.tensor.shape) argument_size(d, type);
    } else {
      if (lex_.try_char('=')) a.fallback = fallback();
      if (a.kind == Kind::integer) sizes_.insert(a.name);
    }
    signature_.arguments.push_back(std::move(a));
  }

  // A name stands for what it first meets; an expression is compared with what its names stand for.
  void argument_size(const Dim& d, Lexer::Mark at) {
    const auto symbols = d.symbols();
    if (symbols.size() == 1 && d == Dim::symbol(symbols[0])) {
      sizes_.insert(symbols[0]);
      return;
    }
    for (const std::string& symbol : symbols)
      if (!sizes_.contains(symbol))
        lex_.fail_at(at, "{} is used before an argument says what {} is", d.str(), symbol);
  }

  // Of a tensor, `begun_` is the part of its type that is read already.
  Kind kind() {
    begun_.clear();
    for (const KindName& k : kind_names) {
      if (k.word.ends_with("[]") || !lex_.try_word(k.word)) continue;
      if (!lex_.try_char('[')) return k.kind;
      if (k.kind == Kind::boolean) {
        begun_ = "bool[";
        return Kind::tensor;
      }
      lex_.expect(']');
      if (k.kind == Kind::integer) return Kind::integers;
      if (k.kind == Kind::real) return Kind::reals;
      lex_.fail("there are lists of int and of float");
    }
    return Kind::tensor;
  }

  Attr fallback() {
    if (lex_.peek() == '"') return lex_.string();
    if (!lex_.try_char('[')) return lex_.number();
    Attr::List items;
    while (!lex_.try_char(']')) {
      if (!items.empty()) lex_.expect(',');
      items.push_back(lex_.number());
    }
    return items;
  }

  Pattern pattern(std::string_view text, Lexer::Mark at) {
    const auto open = text.find('[');
    if (open == std::string_view::npos || open == 0)
      lex_.fail_at(at, "'{}' is no type: write int, float, bool, str, or a tensor such as f32[N,C]", text);
    Pattern p{.text = std::string(text), .dtype = std::string(text.substr(0, open)), .shape = {}};
    std::string_view dims = text.substr(open + 1, text.size() - open - 2);
    if (dims.starts_with(leading_axes)) {
      p.has_leading = true;
      dims.remove_prefix(leading_axes.size());
      if (!dims.empty() && dims[0] != ',') lex_.fail_at(at, "'{}': a comma is missing behind '...'", text);
      dims.remove_prefix(std::min<std::size_t>(dims.size(), 1));
    }
    try {
      p.shape = Type::parse(fmt::format("f32[{}]", dims)).shape;
    } catch (const Error& e) { lex_.fail_at(at, "'{}': {}", text, e.message()); }
    return p;
  }

  // What a result uses must be known from the arguments.
  void check_result(const Pattern& p, Lexer::Mark at) {
    if (!dtype_from_name(p.dtype) && !dtypes_.contains(p.dtype))
      lex_.fail_at(at, "no argument has the dtype {} of the result {}", p.dtype, p.text);
    if (p.has_leading && !has_leading_)
      lex_.fail_at(at, "no argument has the leading axes '...' of the result {}", p.text);
    for (const Dim& d : p.shape)
      for (const std::string& symbol : d.symbols())
        if (!sizes_.contains(symbol))
          lex_.fail_at(at, "no argument has the size {} of the result {}", symbol, p.text);
  }

  Lexer lex_;
  OperatorSignature signature_;
  std::set<std::string> names_, dtypes_, sizes_;
  std::string begun_;
  bool has_leading_ = false;
};

/// Fits types to patterns; what their names stand for is remembered.
class SignatureMatcher {
 public:
  void argument(const Argument& a, const Type& type) {
    const Pattern& p = a.tensor;
    const auto wrong = [&](const std::string& why) {
      return error("argument {} is {}, not {}: {}", a.name, type.str(), p.text, why);
    };
    if (const auto dtype = dtype_from_name(p.dtype)) {
      if (*dtype != type.dtype) throw wrong("the dtype differs");
    } else if (const auto [known, is_new] = dtypes_.emplace(p.dtype, type.dtype);
               known->second != type.dtype) {
      throw wrong(fmt::format("{} is {}", p.dtype, name(known->second)));
    }
    const bool has_rank = p.has_leading ? type.rank() >= p.shape.size() : type.rank() == p.shape.size();
    if (!has_rank) throw wrong("it has another number of axes");
    const std::size_t front = type.rank() - p.shape.size();
    if (p.has_leading) {
      const Shape axes(type.shape.begin(), type.shape.begin() + static_cast<std::ptrdiff_t>(front));
      if (!leading_) leading_ = axes;
      if (*leading_ != axes) throw wrong(fmt::format("'...' is {}", str(*leading_)));
    }
    for (std::size_t i = 0; i < p.shape.size(); ++i) {
      const Dim& wanted = p.shape[i];
      const Dim& is = type.shape[front + i];
      const auto symbols = wanted.symbols();
      if (symbols.size() == 1 && wanted == Dim::symbol(symbols[0])) sizes_.emplace(symbols[0], is);
      if (const Dim needed = wanted.substitute(sizes_); needed != is)
        throw wrong(fmt::format("{} is {}, not known to be {}", wanted.str(), is.str(), needed.str()));
    }
  }

  void size(const std::string& name, const Dim& value) { sizes_.emplace(name, value); }

  Type result(const Pattern& p) const {
    const auto dtype = dtype_from_name(p.dtype);
    Type type{dtype ? *dtype : dtypes_.at(p.dtype), p.has_leading ? *leading_ : Shape{}};
    for (const Dim& d : p.shape) type.shape.push_back(d.substitute(sizes_));
    for (const Dim& d : type.shape)
      if (d.is_known() && d.value() < 0) throw error("the result {} would be {}", p.text, type.str());
    return type;
  }

 private:
  std::map<std::string, DType> dtypes_;
  std::map<std::string, Dim, std::less<>> sizes_;
  std::optional<Shape> leading_;
};

std::string torch_text(const Attr& a) {
  if (const auto* flag = a.get<bool>()) return *flag ? "True" : "False";
  const auto* list = a.get<Attr::List>();
  if (!list) return a.str();
  std::vector<std::string> items;
  for (const Attr& item : *list) items.push_back(torch_text(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace

OperatorSignature OperatorSignature::parse(std::string_view text) { return SignatureParser(text).read(); }

std::size_t OperatorSignature::tensors() const {
  return static_cast<std::size_t>(std::count_if(arguments.begin(), arguments.end(),
                                                [](const Argument& a) { return a.kind == Kind::tensor; }));
}

std::string OperatorSignature::torch_schema(std::string_view name) const {
  std::vector<std::string> parts;
  for (const Argument& a : arguments)
    parts.push_back(
        fmt::format("{} {}{}", torch_name(a.kind), a.name, a.fallback ? "=" + torch_text(*a.fallback) : ""));
  const std::vector<std::string> tensors(results.size(), "Tensor");
  const std::string result = fmt::format("{}", fmt::join(tensors, ", "));
  return fmt::format("{}({}) -> {}", name, fmt::join(parts, ", "),
                     results.size() == 1 ? result : "(" + result + ")");
}

std::vector<Type> OperatorSignature::infer(std::span<const Type> types, std::span<const Attr> values) const {
  if (types.size() != tensors() || values.size() != arguments.size() - tensors())
    throw error("{} tensors and {} other arguments are given to {}", types.size(), values.size(), text);
  SignatureMatcher matcher;
  std::size_t next = 0;
  for (const Argument& a : arguments) {
    if (a.kind == Kind::tensor) continue;
    const Attr& value = values[next++];
    if (a.kind == Kind::integer) matcher.size(a.name, from_attr<Dim>(value));
  }
  next = 0;
  for (const Argument& a : arguments)
    if (a.kind == Kind::tensor) matcher.argument(a, types[next++]);
  std::vector<Type> out;
  for (const Pattern& p : results) out.push_back(matcher.result(p));
  return out;
}

}  // namespace tenon
