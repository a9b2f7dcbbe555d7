// Floor division and remainder of dims: both take out what the divisor divides, then simplify the rest.
#include <algorithm>
#include <numeric>

#include "ir/dim_parts.h"

namespace tenon {
namespace {
using Term = DimParts::Term;
using Monomial = DimParts::Monomial;

// a = quotient * divisor + rest.
struct Split {
  Dim quotient, rest;
};

bool is_positive(const Dim& d) { return known_less(Dim(0), d).value_or(false); }

bool is_negative_form(const Dim& d) {
  return d.is_known() ? d.value() < 0 : DimParts::terms(d)[0].coefficient < 0;
}

// Multivariate long division by the leading term. It ends because the leading monomial falls at each step.
std::optional<Dim> exact_quotient(Dim a, const Dim& b) {
  const Term& lead = DimParts::terms(b)[0];
  Dim quotient;
  while (!(a == Dim(0))) {
    if (a.is_known()) return std::nullopt;
    const Term& top = DimParts::terms(a)[0];
    const auto atoms = DimParts::divide(top.atoms, lead.atoms);
    if (!atoms || lead.coefficient == 0 || top.coefficient % lead.coefficient != 0) return std::nullopt;
    const Dim step = DimParts::of({top.coefficient / lead.coefficient, *atoms});
    quotient = quotient + step;
    a = a - step * b;
  }
  return quotient;
}

// Takes out of each term the multiples of one monomial. Coefficients are cut towards zero, so that (-N)//4
// stays and keeps its bounds; the constant is cut downwards, so that (H-1)//2+1 becomes (H+1)//2.
Split split_by_monomial(const Dim& a, std::int64_t coefficient, const Monomial& atoms) {
  Dim quotient;
  for (const Term& term : DimParts::terms(a)) {
    const auto left = DimParts::divide(term.atoms, atoms);
    if (left) quotient = quotient + DimParts::of({term.coefficient / coefficient, *left});
  }
  if (atoms.empty()) quotient = quotient + Dim(floor_quotient(DimParts::constant(a), coefficient));
  return {quotient, a - quotient * DimParts::of({coefficient, atoms})};
}

Split split(const Dim& a, const Dim& b) {
  if (b.is_known()) return split_by_monomial(a, b.value(), {});
  const auto terms = DimParts::terms(b);
  if (terms.size() == 1 && DimParts::constant(b) == 0)
    return split_by_monomial(a, terms[0].coefficient, terms[0].atoms);
  if (auto quotient = exact_quotient(a, b)) return {*quotient, Dim(0)};
  return {Dim(0), a};
}

// The quotient where bounds decide it: 0 for 0 <= a < b, -1 for -b <= a < 0, any other where the bounds of
// a and b leave one value.
std::optional<std::int64_t> quotient_by_range(const Dim& a, const Dim& b) {
  const DimRange range = a.range();
  if (range.min >= 0 && known_less(a, b) == true) return 0;
  if (range.max < 0 && range.max && known_less(-b - Dim(1), a) == true) return -1;
  const DimRange quotient = floor_div_range(range, b.range());
  if (quotient.min && quotient.min == quotient.max) return quotient.min;
  return std::nullopt;
}

std::int64_t coefficient_gcd(const Dim& d) {
  std::int64_t g = 0;
  for (const Term& term : DimParts::terms(d)) g = std::gcd(g, term.coefficient);
  return g;
}

// The atoms that every term has; none when there is a constant.
Monomial common_atoms(const Dim& a, const Dim& b) {
  if (DimParts::constant(a) != 0 || DimParts::constant(b) != 0) return {};
  Monomial shared = DimParts::terms(a)[0].atoms;
  for (const Dim* d : {&a, &b})
    for (const Term& term : DimParts::terms(*d)) shared = DimParts::common(shared, term.atoms);
  return shared;
}

// A common factor of all variable terms of a and of b: an integer > 0 (not of a's constant) times atoms.
struct Factor {
  std::int64_t number = 1;
  Monomial atoms;
  bool is_one() const { return number == 1 && atoms.empty(); }
};

Factor common_factor(const Dim& a, const Dim& b) {
  Factor factor;
  if (a.is_known()) return factor;
  if (!b.is_known()) factor.atoms = common_atoms(a, b);
  const std::int64_t of_b = std::gcd(coefficient_gcd(b), DimParts::constant(b));
  factor.number = std::gcd(coefficient_gcd(a), of_b);
  return factor;
}

Dim divide_all(const Dim& d, const Factor& factor) {
  std::vector<Term> terms;
  for (const Term& term : DimParts::terms(d))
    terms.push_back({term.coefficient / factor.number, *DimParts::divide(term.atoms, factor.atoms)});
  return DimParts::build(floor_quotient(DimParts::constant(d), factor.number), std::move(terms));
}

// x//n + c as {x, n, c}: the form whose division joins into one, (x//n + c)//b = (x + c*n)//(n*b).
struct Quotient {
  const Dim& dividend;
  const Dim& divisor;
  std::int64_t added;
};

std::optional<Quotient> as_quotient(const Dim& d) {
  const std::int64_t added = DimParts::constant(d);
  const auto terms = DimParts::terms(d);
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].atoms.size() != 1) return std::nullopt;
  const auto& atom = *terms[0].atoms[0];
  if (atom.kind != AtomKind::floor_div) return std::nullopt;
  return Quotient{atom.args[0], atom.args[1], added};
}

// x % m within a multiple that b divides may be x itself: (3*(x%4)) % 2 == (3*x) % 2.
Dim without_inner_mod(const Dim& a, std::int64_t b) {
  Dim result = a;
  for (const Term& term : DimParts::terms(a)) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::mod) continue;
    const auto& args = term.atoms[0]->args;
    if (!args[1].is_known() || checked_multiply(term.coefficient, args[1].value()) % b != 0) continue;
    result = result - DimParts::of(term) + Dim(term.coefficient) * args[0];
  }
  return result;
}
// True when every term of `part` is one of d's.
bool has_terms(const Dim& d, const Dim& part) {
  const auto all = DimParts::terms(d), wanted = DimParts::terms(part);
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const Term& t) {
    return std::any_of(all.begin(), all.end(), [&](const Term& u) {
      return u.coefficient == t.coefficient && DimParts::compare(u.atoms, t.atoms) == 0;
    });
  });
}

// x//n for a known n > 0, in the form that ceil_div gives too.
Dim whole_part(const Dim& x, std::int64_t n) {
  return is_negative_form(x) ? -floor_div(Dim(n - 1) - x, Dim(n)) : floor_div(x, Dim(n));
}
}  // namespace

Dim without_remainders(Dim sum) {
  for (const Term& term : DimParts::terms(sum)) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::mod) continue;
    const Dim &x = term.atoms[0]->args[0], &by = term.atoms[0]->args[1];
    if (!by.is_known() || by.value() < 2) continue;
    const Dim part = Dim(term.coefficient) * x, rest = Dim(term.coefficient) * by;
    if (has_terms(sum, -part)) return sum - DimParts::of(term) + part - rest * whole_part(x, by.value());
    const Dim whole = rest * DimParts::atom(AtomKind::floor_div, {x, by});
    if (has_terms(sum, whole)) return sum - DimParts::of(term) - whole + part;
  }
  return sum;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(0)) throw error("the dimension ({})//0 divides by zero", a.str());
  if (a.is_known() && b.is_known()) return floor_quotient(a.value(), b.value());
  if (is_negative_form(b)) return floor_div(-a, -b);
  const auto [quotient, rest] = split(a, b);
  if (rest == Dim(0)) return quotient;
  if (const auto known = quotient_by_range(rest, b)) return quotient + Dim(*known);
  const bool positive = is_positive(b);
  const Factor factor = common_factor(rest, b);
  const bool exact = DimParts::constant(rest) % factor.number == 0;
  if (!factor.is_one() && (positive || exact))
    return quotient + floor_div(divide_all(rest, factor), divide_all(b, factor));
  if (const auto inner = as_quotient(rest); inner && positive)
    return quotient + floor_div(inner->dividend + Dim(inner->added) * inner->divisor, inner->divisor * b);
  return quotient + DimParts::atom(AtomKind::floor_div, {rest, b});
}

Dim mod(const Dim& a, const Dim& b) {
  if (b == Dim(0)) throw error("the dimension ({})%0 divides by zero", a.str());
  if (a.is_known() && b.is_known()) return floor_remainder(a.value(), b.value());
  if (is_negative_form(b)) return -mod(-a, -b);
  Dim rest = split(a, b).rest;
  if (b.is_known()) {
    const Dim simpler = without_inner_mod(rest, b.value());
    if (!(simpler == rest)) return mod(simpler, b);
  }
  if (rest == Dim(0)) return rest;
  if (const auto known = quotient_by_range(rest, b)) return rest - Dim(*known) * b;
  const Factor factor = common_factor(rest, b);
  const Dim over(floor_remainder(DimParts::constant(rest), factor.number));
  if (!factor.is_one() && (over == Dim(0) || is_positive(b)))
    return DimParts::of({factor.number, factor.atoms}) *
               mod(divide_all(rest, factor), divide_all(b, factor)) +
           over;
  return DimParts::atom(AtomKind::mod, {rest, b});
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (!(b == Dim(0)) && is_positive(b)) return floor_div(a + b - Dim(1), b);
  return -floor_div(-a, b);
}

}  // namespace tenon
