// A symbolic dimension: an integer expression over named symbols (N, 2*seq+1, (H+1)//2), kept in a
// normal form so that equal expressions compare equal.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tenon {

/// Values of symbols: what one input signature binds.
using Bindings = std::map<std::string, std::int64_t, std::less<>>;

/// Inclusive bounds of an expression; nullopt is unbounded.
struct DimRange {
  std::optional<std::int64_t> min, max;
};

/// An integer polynomial over atoms. An atom is a symbol, or a floor division, remainder, minimum or
/// maximum of two Dims that does not simplify further. Immutable; known integers cost no allocation.
/// Symbols stand for sizes: unless a range says otherwise they are >= 1, or >= 0 when is_data_size() says so;
/// simplification relies on it.
/// Arithmetic that leaves 64 bits, or makes an expression too large to be a size, throws Error.
class Dim {
 public:
  Dim(std::int64_t value = 0) : constant_(value) {}
  /// Letters, digits, '_' and '.', not beginning with a digit or '.'; before them perhaps a '?'. Throws Error
  /// on other names.
  static Dim symbol(std::string_view name);
  /// Reads the text form. Throws Error with the position of the first wrong character.
  static Dim parse(std::string_view text);

  bool is_known() const { return !terms_; }
  /// The integer. Only for known dims.
  std::int64_t value() const;

  friend Dim operator+(const Dim&, const Dim&);
  friend Dim operator-(const Dim&, const Dim&);
  friend Dim operator*(const Dim&, const Dim&);
  Dim operator-() const;
  /// Division rounding towards minus infinity, as Python's //. Exact polynomial quotients simplify:
  /// (N*seq*12)//N is seq*12. Throws Error on a known zero divisor.
  friend Dim floor_div(const Dim&, const Dim&);
  /// Division rounding up: -((-a)//b).
  friend Dim ceil_div(const Dim&, const Dim&);
  /// Python's %, in [0, b) for b > 0.
  friend Dim mod(const Dim&, const Dim&);
  friend Dim min(const Dim&, const Dim&);
  friend Dim max(const Dim&, const Dim&);

  /// Structural equality of the normal forms. False says "not known to be equal".
  friend bool operator==(const Dim&, const Dim&);

  /// Interval arithmetic over the symbols' ranges (default [1, inf)).
  DimRange range(const std::map<std::string, DimRange, std::less<>>& symbols = {}) const;
  /// The value under bindings. Throws Error naming an unbound symbol, or a divisor that is zero.
  std::int64_t eval(const Bindings&) const;
  /// The expression with symbols replaced.
  Dim substitute(const std::map<std::string, Dim, std::less<>>&) const;
  /// Names of the symbols it uses, sorted, each once.
  std::vector<std::string> symbols() const;
  /// The text form: "N", "2*seq+1", "(H+1)//2", "min(N,8)", "N%2". Parses back to an equal Dim.
  std::string str() const;

 private:
  friend struct DimParts;  // the inside as the algebra sees it: ir/dim_parts.h
  struct Atom;
  struct Terms;
  std::int64_t constant_;
  std::shared_ptr<const Terms> terms_;  // null when the dim is a known integer
};

/// True for the symbols of sizes that no input's shape tells: "?0". A node gives them when it runs.
inline bool is_data_size(std::string_view symbol) { return symbol.starts_with('?'); }
/// True when one of its symbols is such.
bool has_data_size(const Dim&);

/// True or false when the ranges decide it, nullopt when they do not.
std::optional<bool> known_less(const Dim& a, const Dim& b);
std::optional<bool> known_equal(const Dim& a, const Dim& b);

/// "WHAT differ", or "WHAT are not known to be equal" (Error::unless_equal).
Error sizes_differ(std::string what, const Dim& a, const Dim& b);

}  // namespace tenon
