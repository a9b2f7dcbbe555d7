// The inside of a Dim, shared by the files that implement its algebra.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/dim.h"

namespace tenon {

enum class AtomKind : std::uint8_t { symbol, floor_div, mod, min, max };

/// What a polynomial treats as a variable. `args` are the operands (none for a symbol; two for floor_div
/// and mod; two or more for min and max). `text` identifies the atom: equal texts are equal atoms.
struct Dim::Atom {
  Atom(AtomKind k, std::string t, std::vector<Dim> a) : kind(k), text(std::move(t)), args(std::move(a)) {}

  AtomKind kind;
  std::string text;
  std::vector<Dim> args;

  /// Bounds of the atom and of its operands where nothing is said of the symbols. Found when they are first
  /// asked for and kept: nested atoms are then no more work than flat ones.
  struct Ranges {
    DimRange own;
    std::vector<DimRange> of_args;
  };
  const Ranges& ranges() const;

 private:
  mutable std::once_flag found_;
  mutable Ranges ranges_;
};

/// The terms besides the constant, leading term first (graded lexicographic order), none with coefficient 0.
struct Dim::Terms {
  struct Term {
    std::int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> atoms;  // symbols first, then by text; a power repeats its atom
  };
  std::vector<Term> list;
};

/// Access to the parts of a Dim, and the operations on monomials.
struct DimParts {
  using Atom = Dim::Atom;
  using Term = Dim::Terms::Term;
  using Monomial = decltype(Term::atoms);

  static std::int64_t constant(const Dim& d) { return d.constant_; }
  static std::span<const Term> terms(const Dim& d);
  static bool same_terms(const Dim& a, const Dim& b) { return a.terms_ == b.terms_; }
  /// The Dim of these terms in any order; equal monomials are merged, empty ones add to the constant.
  static Dim build(std::int64_t constant, std::vector<Term> terms);
  static Dim of(Term term);
  /// A Dim of one atom that is not simplified further.
  static Dim atom(AtomKind kind, std::vector<Dim> args);
  /// The atom when d is exactly one atom, else null.
  static const Atom* as_atom(const Dim& d);

  static std::strong_ordering compare(const Monomial& a, const Monomial& b);
  /// a / b, or nullopt when b does not divide a.
  static std::optional<Monomial> divide(const Monomial& a, const Monomial& b);
  static Monomial multiply(const Monomial& a, const Monomial& b);
  static Monomial common(const Monomial& a, const Monomial& b);
};

/// A sum in which a remainder meets what it is a remainder of: x - x%n is n*(x//n), x%n + n*(x//n) is x. With
/// this N + (-N)%4, a size padded to a multiple, is 4*((N+3)//4).
Dim without_remainders(Dim sum);

/// Characters of a symbol's name: letters, digits, '_' and '.'.
bool is_symbol_character(char c);

std::int64_t checked_add(std::int64_t a, std::int64_t b);
std::int64_t checked_multiply(std::int64_t a, std::int64_t b);

/// Python's // and % of integers; b is not 0.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b);
std::int64_t floor_remainder(std::int64_t a, std::int64_t b);

/// The bounds of a // b and a % b for operands within these bounds.
DimRange floor_div_range(const DimRange& a, const DimRange& b);
DimRange mod_range(const DimRange& a, const DimRange& b);

}  // namespace tenon
