// Bounds of a Dim, and what they decide: comparisons, minimum and maximum.
#include <algorithm>
#include <limits>

#include "ir/dim_parts.h"

namespace tenon {
namespace {
using Atom = DimParts::Atom;
using Term = DimParts::Term;
using Ranges = std::map<std::string, DimRange, std::less<>>;
__extension__ typedef __int128 Wide;

constexpr Wide infinite = Wide(1) << 100;
constexpr Wide lowest = std::numeric_limits<std::int64_t>::min();
constexpr Wide highest = std::numeric_limits<std::int64_t>::max();

// Bounds that saturate: beyond 64 bits a bound is infinite, or weaker than it could be, never wrong.
struct Interval {
  Wide min, max;

  Interval(Wide low, Wide high)
      : min(low < lowest ? -infinite : std::min(low, highest)),
        max(high > highest ? infinite : std::max(high, lowest)) {}
  explicit Interval(std::int64_t value) : Interval(value, value) {}
  explicit Interval(const DimRange& r)
      : Interval(r.min ? Wide(*r.min) : -infinite, r.max ? Wide(*r.max) : infinite) {}

  DimRange range() const {
    DimRange r;
    if (min != -infinite) r.min = static_cast<std::int64_t>(min);
    if (max != infinite) r.max = static_cast<std::int64_t>(max);
    return r;
  }
};

bool is_infinite(Wide x) { return x == infinite || x == -infinite; }

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? infinite : -infinite;
  return a * b;
}

Interval operator+(const Interval& a, const Interval& b) { return {a.min + b.min, a.max + b.max}; }

Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] =
      std::minmax({times(a.min, b.min), times(a.min, b.max), times(a.max, b.min), times(a.max, b.max)});
  return {low, high};
}

Interval lesser(const Interval& a, const Interval& b) {
  return {std::min(a.min, b.min), std::min(a.max, b.max)};
}
Interval greater(const Interval& a, const Interval& b) {
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}

// What the finer methods below take on: their arithmetic then stays far inside 64 bits.
bool is_small(const Dim& d) {
  const auto within = [](std::int64_t x, std::int64_t limit) { return -limit <= x && x <= limit; };
  const auto terms = DimParts::terms(d);
  const auto is_small_term = [&](const Term& t) {
    return within(t.coefficient, 1 << 20) && t.atoms.size() <= 4;
  };
  return terms.size() <= 8 && within(DimParts::constant(d), std::int64_t{1} << 40) &&
         std::all_of(terms.begin(), terms.end(), is_small_term);
}

/// The bounds of an atom that is no symbol, from those of its operands.
template <class F>
Interval joined(const Atom& a, F&& operand) {
  Interval result = operand(0);
  for (std::size_t i = 1; i < a.args.size(); ++i) {
    const Interval next = operand(i);
    switch (a.kind) {
      case AtomKind::floor_div: result = Interval(floor_div_range(result.range(), next.range())); break;
      case AtomKind::mod: result = Interval(mod_range(result.range(), next.range())); break;
      case AtomKind::min: result = lesser(result, next); break;
      default: result = greater(result, next); break;
    }
  }
  return result;
}

class Bounds {
 public:
  explicit Bounds(const Ranges& symbols) : symbols_(symbols) {}

  Interval of(const Dim& d) {
    if (d.is_known()) return Interval(DimParts::constant(d));
    return remembered(of_dims_, d.str(), [&] { return Interval(lower(d, 2), -lower(-d, 2)); });
  }

 private:
  Interval atom(const Atom& a) {
    if (a.kind == AtomKind::symbol) return symbol(a.text);
    if (symbols_.empty()) return Interval(a.ranges().own);
    return remembered(of_atoms_, a.text,
                      [&] { return joined(a, [&](std::size_t i) { return of(a.args[i]); }); });
  }

  Interval operand(const Atom& a, std::size_t i) {
    return symbols_.empty() ? Interval(a.ranges().of_args[i]) : of(a.args[i]);
  }

  using Memo = std::map<std::string, Interval, std::less<>>;

  // Nested expressions ask for the same bounds again and again; without this the time is exponential.
  template <class F>
  static Interval remembered(Memo& memo, const std::string& text, F&& compute) {
    const auto found = memo.find(text);
    if (found != memo.end()) return found->second;
    const Interval result = compute();
    memo.emplace(text, result);
    return result;
  }

  Interval symbol(const std::string& name) const {
    const auto it = symbols_.find(name);
    if (it != symbols_.end()) return Interval(it->second);
    return Interval(DimRange{is_data_size(name) ? 0 : 1, std::nullopt});
  }

  Interval product(const DimParts::Monomial& atoms) {
    Interval result(1);
    for (const auto& a : atoms) result = result * atom(*a);
    return result;
  }

  Interval by_terms(const Dim& d) {
    Interval sum(DimParts::constant(d));
    for (const Term& term : DimParts::terms(d)) sum = sum + Interval(term.coefficient) * product(term.atoms);
    return sum;
  }

  // By terms after writing each atom as its lower bound plus the rest, which is >= 0: N*seq-N becomes
  // (n+1)*(s+1)-(n+1) = n*s+s, so it is >= 0.
  Wide lower_by_excess(const Dim& d) {
    Dim shifted(DimParts::constant(d));
    for (const Term& term : DimParts::terms(d)) {
      Dim expanded(term.coefficient);
      for (const auto& a : term.atoms) {
        const Wide base = atom(*a).min;
        if (base < -1024 || base > 1024) return -infinite;
        expanded = expanded * (DimParts::of({1, {a}}) + Dim(static_cast<std::int64_t>(base)));
      }
      shifted = shifted + expanded;
    }
    Interval sum(DimParts::constant(shifted));
    for (const Term& term : DimParts::terms(shifted)) {
      Interval excess(term.coefficient);
      for (const auto& a : term.atoms) excess = excess * Interval(0, atom(*a).max - atom(*a).min);
      sum = sum + excess;
    }
    return sum.min;
  }

  Wide lower(const Dim& d, int depth) {
    Wide best = by_terms(d).min;
    if (!is_small(d)) return best;
    best = std::max(best, lower_by_excess(d));
    if (depth == 0) return best;
    for (const Term& term : DimParts::terms(d))
      for (std::size_t i = 0; i < term.atoms.size(); ++i)
        best = std::max(best, lower_around(d, term, i, depth));
    return best;
  }

  // The best bound of d that follows from replacing one atom of one term by what bounds it.
  Wide lower_around(const Dim& d, const Term& term, std::size_t which, int depth) {
    const Atom& a = *term.atoms[which];
    if (a.kind == AtomKind::symbol || !std::all_of(a.args.begin(), a.args.end(), is_small)) return -infinite;
    Term others = term;
    others.atoms.erase(others.atoms.begin() + static_cast<std::ptrdiff_t>(which));
    if (product(others.atoms).min < 0) return -infinite;
    const Dim rest = d - DimParts::of(term);
    const Dim factor = DimParts::of(others);
    const bool wants_upper = term.coefficient < 0;
    const auto bound = [&](const Dim& by, std::int64_t scale = 1) {
      const Wide low = lower(Dim(scale) * rest + factor * by, depth - 1);
      return is_infinite(low)
                 ? low
                 : -Wide(floor_quotient(static_cast<std::int64_t>(-std::max(low, lowest + 1)), scale));
    };
    if (a.kind == AtomKind::floor_div) return lower_around_division(a, wants_upper, bound);
    if (a.kind == AtomKind::mod) return wants_upper ? lower_around_mod(a, bound) : -infinite;
    // A minimum is <= each operand and equal to one of them; a maximum likewise.
    const bool each_bounds = wants_upper == (a.kind == AtomKind::min);
    Wide best = each_bounds ? -infinite : infinite;
    for (const Dim& arg : a.args)
      best = each_bounds ? std::max(best, bound(arg)) : std::min(best, bound(arg));
    return best;
  }

  // (x-n+1)/n <= x//n <= x/n.
  template <class F>
  Wide lower_around_division(const Atom& a, bool wants_upper, F&& bound) {
    if (!a.args[1].is_known() || a.args[1].value() > 1024) return -infinite;
    const std::int64_t n = a.args[1].value();
    return bound(wants_upper ? a.args[0] : a.args[0] - Dim(n - 1), n);
  }

  // x%n <= n-1, and <= x where x >= 0.
  template <class F>
  Wide lower_around_mod(const Atom& a, F&& bound) {
    if (operand(a, 1).min < 1) return -infinite;
    const Wide best = bound(a.args[1] - Dim(1));
    return operand(a, 0).min >= 0 ? std::max(best, bound(a.args[0])) : best;
  }

  const Ranges& symbols_;
  Memo of_dims_, of_atoms_;
};

// Keeps of two operands the one that bounds decide, or makes the atom of all operands, sorted, integers last.
Dim extremum(AtomKind kind, const Dim& a, const Dim& b) {
  std::vector<Dim> args;
  const auto is_covered_by = [&](const Dim& x, const Dim& y) {
    const DimRange gap = kind == AtomKind::min ? (x - y).range() : (y - x).range();
    return gap.min >= 0;
  };
  const auto add = [&](const Dim& x) {
    if (std::any_of(args.begin(), args.end(), [&](const Dim& y) { return is_covered_by(x, y); })) return;
    std::erase_if(args, [&](const Dim& y) { return is_covered_by(y, x); });
    args.push_back(x);
  };
  for (const Dim* d : {&a, &b}) {
    const Atom* atom = DimParts::as_atom(*d);
    if (!atom || atom->kind != kind) {
      add(*d);
      continue;
    }
    for (const Dim& arg : atom->args) add(arg);
  }
  if (args.size() == 1) return args[0];
  std::sort(args.begin(), args.end(), [](const Dim& x, const Dim& y) {
    return x.is_known() != y.is_known() ? y.is_known() : x.str() < y.str();
  });
  return DimParts::atom(kind, std::move(args));
}
}  // namespace

const Dim::Atom::Ranges& Dim::Atom::ranges() const {
  std::call_once(found_, [&] {
    Ranges found;
    for (const Dim& arg : args) found.of_args.push_back(arg.range());
    found.own = joined(*this, [&](std::size_t i) { return Interval(found.of_args[i]); }).range();
    ranges_ = std::move(found);
  });
  return ranges_;
}

DimRange floor_div_range(const DimRange& a, const DimRange& b) {
  if (!b.min || *b.min < 1) return {};
  const auto divided = [&](std::int64_t x, bool by_largest) -> std::int64_t {
    if (!by_largest) return floor_quotient(x, *b.min);
    if (b.max) return floor_quotient(x, *b.max);
    return x < 0 ? -1 : 0;
  };
  DimRange result;
  if (a.min) result.min = divided(*a.min, *a.min >= 0);
  if (a.max) result.max = divided(*a.max, *a.max < 0);
  return result;
}

DimRange mod_range(const DimRange& a, const DimRange& b) {
  if (!b.min || *b.min < 1) return {};
  DimRange result{0, std::nullopt};
  if (b.max) result.max = *b.max - 1;
  if (a.min >= 0 && a.max) result.max = std::min(result.max.value_or(*a.max), *a.max);
  return result;
}

DimRange Dim::range(const Ranges& symbols) const {
  if (is_known()) return {constant_, constant_};
  return Bounds(symbols).of(*this).range();
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return std::min(a.value(), b.value());
  return extremum(AtomKind::min, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return std::max(a.value(), b.value());
  return extremum(AtomKind::max, a, b);
}

std::optional<bool> known_less(const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return a.value() < b.value();
  const DimRange gap = (b - a).range();
  if (gap.min && *gap.min > 0) return true;
  if (gap.max && *gap.max <= 0) return false;
  return std::nullopt;
}

std::optional<bool> known_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const DimRange gap = (b - a).range();
  if ((gap.min && *gap.min > 0) || (gap.max && *gap.max < 0)) return false;
  if (gap.min && gap.max && *gap.min == 0 && *gap.max == 0) return true;
  return std::nullopt;
}

Error sizes_differ(std::string what, const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return Error(std::move(what) + " differ");
  return Error(std::move(what) + " are not known to be equal").unless_equal(a.str(), b.str());
}

}  // namespace tenon
