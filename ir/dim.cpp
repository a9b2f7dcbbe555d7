// The polynomial part of the dim algebra: sums, products, evaluation, substitution.
#include "ir/dim.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/dim_parts.h"

namespace tenon {
namespace {
// Bounds on what a hostile file can make us build; real shapes stay far below.
constexpr std::size_t max_terms = 1024;
constexpr std::size_t max_degree = 64;

// Symbols before other atoms, which reads better: N-H//2.
std::strong_ordering order(const DimParts::Atom& a, const DimParts::Atom& b) {
  const bool a_is_symbol = a.kind == AtomKind::symbol, b_is_symbol = b.kind == AtomKind::symbol;
  if (a_is_symbol != b_is_symbol) return b_is_symbol <=> a_is_symbol;
  return a.text <=> b.text;
}

constexpr auto before = [](const auto& a, const auto& b) { return order(*a, *b) < 0; };

Error overflow() { return error("a dimension expression leaves the range of 64-bit integers"); }
}  // namespace

bool is_symbol_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) throw overflow();
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw overflow();
  return product;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return checked_multiply(a, -1);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

std::span<const DimParts::Term> DimParts::terms(const Dim& d) {
  if (!d.terms_) return {};
  return d.terms_->list;
}

std::strong_ordering DimParts::compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto result = order(*b[i], *a[i]);
    if (result != 0) return result;
  }
  return std::strong_ordering::equal;
}

std::optional<DimParts::Monomial> DimParts::divide(const Monomial& a, const Monomial& b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end(), before)) return std::nullopt;
  Monomial quotient;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(quotient), before);
  return quotient;
}

DimParts::Monomial DimParts::multiply(const Monomial& a, const Monomial& b) {
  if (a.size() + b.size() > max_degree)
    throw error("a dimension multiplies more than {} factors", max_degree);
  Monomial product;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product), before);
  return product;
}

DimParts::Monomial DimParts::common(const Monomial& a, const Monomial& b) {
  Monomial shared;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared), before);
  return shared;
}

Dim DimParts::build(std::int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return compare(a.atoms, b.atoms) > 0; });
  auto merged = std::make_shared<Dim::Terms>();
  for (Term& term : terms) {
    auto& list = merged->list;
    if (term.atoms.empty()) {
      constant = checked_add(constant, term.coefficient);
    } else if (!list.empty() && compare(list.back().atoms, term.atoms) == 0) {
      list.back().coefficient = checked_add(list.back().coefficient, term.coefficient);
    } else {
      list.push_back(std::move(term));
    }
  }
  std::erase_if(merged->list, [](const Term& t) { return t.coefficient == 0; });
  if (merged->list.size() > max_terms)
    throw error("a dimension expression has more than {} terms", max_terms);
  Dim result(constant);
  if (!merged->list.empty()) result.terms_ = std::move(merged);
  return result;
}

Dim DimParts::of(Term term) {
  std::vector<Term> one;
  one.push_back(std::move(term));
  return build(0, std::move(one));
}

const DimParts::Atom* DimParts::as_atom(const Dim& d) {
  const auto list = terms(d);
  if (list.size() != 1 || constant(d) != 0) return nullptr;
  if (list[0].coefficient != 1 || list[0].atoms.size() != 1) return nullptr;
  return list[0].atoms[0].get();
}

Dim Dim::symbol(std::string_view name) {
  const std::string_view word = is_data_size(name) ? name.substr(1) : name;
  const bool starts_well =
      !word.empty() && word[0] != '.' && (word != name || !(word[0] >= '0' && word[0] <= '9'));
  if (!starts_well || !std::all_of(word.begin(), word.end(), is_symbol_character))
    throw error("'{}' is not a name for a dimension", name).hint("use letters, digits and '_'");
  auto atom = std::make_shared<const Atom>(AtomKind::symbol, std::string(name), std::vector<Dim>());
  return DimParts::of({1, {std::move(atom)}});
}

std::int64_t Dim::value() const {
  TENON_CHECK(is_known());
  return constant_;
}

Dim operator+(const Dim& a, const Dim& b) {
  const std::int64_t constant = checked_add(a.constant_, b.constant_);
  if (a.is_known() && b.is_known()) return Dim(constant);
  const auto left = DimParts::terms(a), right = DimParts::terms(b);
  std::vector<DimParts::Term> terms(left.begin(), left.end());
  terms.insert(terms.end(), right.begin(), right.end());
  return without_remainders(DimParts::build(constant, std::move(terms)));
}

Dim operator*(const Dim& a, const Dim& b) {
  const std::int64_t constant = checked_multiply(a.constant_, b.constant_);
  if (a.is_known() && b.is_known()) return Dim(constant);
  const auto left = DimParts::terms(a), right = DimParts::terms(b);
  if (left.size() * right.size() > max_terms * max_terms / 16)
    throw error("a dimension expression has more than {} terms", max_terms);
  std::vector<DimParts::Term> terms;
  const auto add = [&](std::int64_t x, std::int64_t y, DimParts::Monomial atoms) {
    if (x != 0 && y != 0) terms.push_back({checked_multiply(x, y), std::move(atoms)});
  };
  for (const auto& x : left) add(x.coefficient, b.constant_, x.atoms);
  for (const auto& y : right) add(a.constant_, y.coefficient, y.atoms);
  for (const auto& x : left)
    for (const auto& y : right) add(x.coefficient, y.coefficient, DimParts::multiply(x.atoms, y.atoms));
  return DimParts::build(constant, std::move(terms));
}

Dim Dim::operator-() const { return *this * Dim(-1); }
Dim operator-(const Dim& a, const Dim& b) { return a + -b; }

bool operator==(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_) return false;
  if (DimParts::same_terms(a, b)) return true;
  const auto left = DimParts::terms(a), right = DimParts::terms(b);
  const auto same = [](const auto& x, const auto& y) {
    return x.coefficient == y.coefficient && DimParts::compare(x.atoms, y.atoms) == 0;
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

namespace {
std::int64_t eval_atom(const DimParts::Atom& atom, const Bindings& bindings) {
  if (atom.kind == AtomKind::symbol) {
    const auto it = bindings.find(atom.text);
    if (it == bindings.end()) throw error("the dimension {} has no value", atom.text);
    return it->second;
  }
  std::int64_t result = atom.args[0].eval(bindings);
  for (std::size_t i = 1; i < atom.args.size(); ++i) {
    const std::int64_t next = atom.args[i].eval(bindings);
    if (atom.kind == AtomKind::min) {
      result = std::min(result, next);
    } else if (atom.kind == AtomKind::max) {
      result = std::max(result, next);
    } else {
      if (next == 0) throw error("the dimension {} divides by zero", atom.text);
      result = atom.kind == AtomKind::mod ? floor_remainder(result, next) : floor_quotient(result, next);
    }
  }
  return result;
}

Dim substitute_atom(const DimParts::Atom& atom, const std::map<std::string, Dim, std::less<>>& by) {
  if (atom.kind == AtomKind::symbol) {
    const auto it = by.find(atom.text);
    return it == by.end() ? Dim::symbol(atom.text) : it->second;
  }
  Dim result = atom.args[0].substitute(by);
  for (std::size_t i = 1; i < atom.args.size(); ++i) {
    const Dim next = atom.args[i].substitute(by);
    switch (atom.kind) {
      case AtomKind::floor_div: result = floor_div(result, next); break;
      case AtomKind::mod: result = mod(result, next); break;
      case AtomKind::min: result = min(result, next); break;
      default: result = max(result, next); break;
    }
  }
  return result;
}

void collect_symbols(const Dim& d, std::set<std::string>& names) {
  for (const auto& term : DimParts::terms(d)) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == AtomKind::symbol) names.insert(atom->text);
      for (const Dim& arg : atom->args) collect_symbols(arg, names);
    }
  }
}
}  // namespace

std::int64_t Dim::eval(const Bindings& bindings) const {
  std::int64_t sum = constant_;
  for (const auto& term : DimParts::terms(*this)) {
    std::int64_t product = term.coefficient;
    for (const auto& atom : term.atoms) product = checked_multiply(product, eval_atom(*atom, bindings));
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& by) const {
  if (is_known()) return *this;
  Dim sum(constant_);
  for (const auto& term : DimParts::terms(*this)) {
    Dim product(term.coefficient);
    for (const auto& atom : term.atoms) product = product * substitute_atom(*atom, by);
    sum = sum + product;
  }
  return sum;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

bool has_data_size(const Dim& d) {
  if (d.is_known()) return false;
  const auto symbols = d.symbols();
  return std::any_of(symbols.begin(), symbols.end(), is_data_size);
}

}  // namespace tenon
