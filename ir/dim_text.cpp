// The text form of a Dim: printing with few parentheses, and the recursive-descent parser that reads it.
#include <charconv>

#include "ir/dim_parts.h"

namespace tenon {
namespace {
constexpr std::size_t max_text = 1 << 16;
constexpr int max_depth = 200;

// An operand of // and %: in parentheses unless it is a symbol, a call or a natural number.
std::string operand(const Dim& d) {
  const auto* atom = DimParts::as_atom(d);
  const bool is_call = atom && (atom->kind == AtomKind::min || atom->kind == AtomKind::max);
  const bool is_name = atom && atom->kind == AtomKind::symbol;
  if (is_call || is_name || (d.is_known() && d.value() >= 0)) return d.str();
  return fmt::format("({})", d.str());
}

std::string atom_text(AtomKind kind, const std::vector<Dim>& args) {
  if (kind == AtomKind::floor_div) return fmt::format("{}//{}", operand(args[0]), operand(args[1]));
  if (kind == AtomKind::mod) return fmt::format("{}%{}", operand(args[0]), operand(args[1]));
  std::string text = kind == AtomKind::min ? "min(" : "max(";
  for (const Dim& arg : args) text += arg.str() + ",";
  text.back() = ')';
  return text;
}

void append_term(std::string& text, const DimParts::Term& term) {
  const bool first = text.empty();
  if (term.coefficient < 0)
    text += "-";
  else if (!first)
    text += "+";
  const bool alone = term.atoms.size() == 1 && (term.coefficient == 1 || (term.coefficient == -1 && !first));
  if (term.coefficient != 1 && term.coefficient != -1)
    text += fmt::format("{}*", term.coefficient < 0 ? 0 - static_cast<std::uint64_t>(term.coefficient)
                                                    : static_cast<std::uint64_t>(term.coefficient));
  for (const auto& atom : term.atoms) {
    const bool binary = atom->kind == AtomKind::floor_div || atom->kind == AtomKind::mod;
    text += binary && !alone ? fmt::format("({})*", atom->text) : fmt::format("{}*", atom->text);
  }
  text.pop_back();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Dim whole() {
    Dim result = sum();
    if (at_ < text_.size()) throw wrong("an operator");
    return result;
  }

 private:
  Error wrong(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : "the end";
    return error("dimension '{}': expected {} at position {}, found {}", text_, expected, at_ + 1, found);
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    skip_spaces();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) throw wrong(fmt::format("'{}'", token));
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Dim sum() {
    Dim result = product();
    while (true) {
      if (accept("+"))
        result = result + product();
      else if (accept("-"))
        result = result - product();
      else
        return result;
    }
  }

  Dim product() {
    Dim result = factor();
    while (true) {
      if (accept("*"))
        result = result * factor();
      else if (accept("//"))
        result = floor_div(result, factor());
      else if (accept("%"))
        result = mod(result, factor());
      else
        return result;
    }
  }

  Dim factor() {
    if (++depth_ > max_depth) throw error("dimension '{}...' is nested too deeply", text_.substr(0, 40));
    Dim result = accept("-") ? negated() : primary();
    --depth_;
    return result;
  }

  // The smallest integer has no positive counterpart, so a sign directly before digits belongs to them.
  Dim negated() { return at_digit() ? number("-") : -factor(); }

  Dim primary() {
    if (accept("(")) {
      Dim result = sum();
      expect(")");
      return result;
    }
    if (at_digit()) return number("");
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '?') ++at_;
    const std::size_t word = at_;
    while (at_ < text_.size() && is_symbol_character(text_[at_])) ++at_;
    if (at_ == word || text_[word] == '.') {
      at_ = begin;
      throw wrong("a name, a number or '('");
    }
    const std::string_view name = text_.substr(begin, at_ - begin);
    skip_spaces();
    if ((name == "min" || name == "max") && accept("(")) return call(name == "min");
    return Dim::symbol(name);
  }

  Dim call(bool smaller) {
    Dim result = sum();
    expect(",");
    do {
      const Dim next = sum();
      result = smaller ? min(result, next) : max(result, next);
    } while (accept(","));
    expect(")");
    return result;
  }

  bool at_digit() {
    skip_spaces();
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }

  Dim number(std::string sign) {
    std::string digits = std::move(sign);
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') digits += text_[at_++];
    std::int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc()) {
      at_ = begin;
      throw wrong("a number of 64 bits");
    }
    skip_spaces();
    return Dim(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};
}  // namespace

Dim DimParts::atom(AtomKind kind, std::vector<Dim> args) {
  std::string text = atom_text(kind, args);
  if (text.size() > max_text) throw error("a dimension expression is longer than {} characters", max_text);
  auto atom = std::make_shared<const Atom>(kind, std::move(text), std::move(args));
  return of({1, {std::move(atom)}});
}

std::string Dim::str() const {
  if (is_known()) return fmt::format("{}", constant_);
  std::string text;
  for (const auto& term : terms_->list) append_term(text, term);
  if (constant_ != 0) text += fmt::format("{:+}", constant_);
  return text;
}

Dim Dim::parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace tenon
