// Comparisons of Python values, and functions on bools.
#include "base/error.h"
#include "converter/interpreter/functions.h"
#include "converter/interpreter/objects.h"
#include "converter/interpreter/scalars.h"

namespace tenon::converter {

namespace {

/// How a comparison is written, and what it is called.
struct Sign {
  const char *text, *name;
};

AbstractValue decided(std::optional<bool> known, const AbstractValue& a, Sign sign, const AbstractValue& b) {
  if (known) return AbstractValue(*known);
  return AbstractValue(symbolic_bool(text_of(a) + " " + sign.text + " " + text_of(b), sign.name, {a, b}));
}

std::optional<AbstractValue> compare(Arguments a, Sign sign,
                                     std::optional<bool> (*on_ints)(const Dim&, const Dim&),
                                     bool (*on_reals)(double, double)) {
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j) return decided(on_ints(*i, *j), a[0], sign, a[1]);
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (x && y) return AbstractValue(on_reals(*x, *y));
  if (const auto* s = a[0].get<std::string>())
    if (const auto* t = a[1].get<std::string>()) return AbstractValue(on_reals(s->compare(*t), 0));
  return std::nullopt;
}

std::optional<bool> negated(std::optional<bool> b) { return b ? std::optional(!*b) : std::nullopt; }

std::optional<AbstractValue> lt(Arguments a) {
  return compare(a, {"<", "lt"}, known_less, [](double x, double y) { return x < y; });
}
std::optional<AbstractValue> gt(Arguments a) {
  return compare(
      a, {">", "gt"}, [](const Dim& x, const Dim& y) { return known_less(y, x); },
      [](double x, double y) { return x > y; });
}
std::optional<AbstractValue> le(Arguments a) {
  return compare(
      a, {"<=", "le"}, [](const Dim& x, const Dim& y) { return negated(known_less(y, x)); },
      [](double x, double y) { return x <= y; });
}
std::optional<AbstractValue> ge(Arguments a) {
  return compare(
      a, {">=", "ge"}, [](const Dim& x, const Dim& y) { return negated(known_less(x, y)); },
      [](double x, double y) { return x >= y; });
}

std::optional<AbstractValue> truth(const AbstractValue& d) {
  if (d.is<bool>() || d.is<SymbolicBool>()) return d;
  if (const auto* x = d.get<double>()) return AbstractValue(*x != 0);
  if (const auto* dim = d.get<Dim>()) {
    if (const auto zero = known_equal(*dim, Dim(0))) return AbstractValue(!*zero);
    return AbstractValue(symbolic_bool(dim->str() + " != 0", "truth", {d}));
  }
  if (const auto* s = d.get<std::string>()) return AbstractValue(!s->empty());
  return std::nullopt;
}

std::optional<AbstractValue> logical_not(Arguments a) {
  const auto t = truth(a[0]);
  if (!t) return std::nullopt;
  if (const auto* u = t->get<SymbolicBool>())
    return AbstractValue(symbolic_bool("not " + u->why, "not", {*t}));
  return AbstractValue(!*t->get<bool>());
}

std::optional<AbstractValue> bitwise(Arguments a, bool (*on_bools)(bool, bool),
                                     std::int64_t (*on_ints)(std::int64_t, std::int64_t),
                                     std::optional<bool> absorbing, Sign sign) {
  const auto* p = a[0].get<bool>();
  const auto* q = a[1].get<bool>();
  if (p && q) return AbstractValue(on_bools(*p, *q));
  if (a[0].is<SymbolicBool>() || a[1].is<SymbolicBool>()) {
    if (absorbing && ((p && *p == *absorbing) || (q && *q == *absorbing))) return AbstractValue(*absorbing);
    if (absorbing && (p || q)) return p ? a[1] : a[0];
    return AbstractValue(
        symbolic_bool(text_of(a[0]) + " " + sign.text + " " + text_of(a[1]), sign.name, {a[0], a[1]}));
  }
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j && i->is_known() && j->is_known()) return AbstractValue(on_ints(i->value(), j->value()));
  return std::nullopt;
}

std::optional<AbstractValue> to_bool(Arguments a) { return truth(a[0]); }

std::optional<AbstractValue> eq(Arguments a) { return equal(a[0], a[1]); }
std::optional<AbstractValue> ne(Arguments a) {
  const AbstractValue same = equal(a[0], a[1]);
  return logical_not(std::span(&same, 1));
}
std::optional<AbstractValue> is(Arguments a) { return AbstractValue(identical(a[0], a[1])); }
std::optional<AbstractValue> is_not(Arguments a) { return AbstractValue(!identical(a[0], a[1])); }

std::optional<AbstractValue> bit_and(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p && q; }, [](std::int64_t x, std::int64_t y) { return x & y; }, false,
      {"and", "and"});
}
std::optional<AbstractValue> bit_or(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p || q; }, [](std::int64_t x, std::int64_t y) { return x | y; }, true,
      {"or", "or"});
}
std::optional<AbstractValue> bit_xor(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p != q; }, [](std::int64_t x, std::int64_t y) { return x ^ y; },
      std::nullopt, {"!=", "ne"});
}

}  // namespace

AbstractValue equal(const AbstractValue& a, const AbstractValue& b) {
  const auto* x = items_of(a);
  const auto* y = items_of(b);
  if (x && y) {
    if (x->size() != y->size()) return AbstractValue(false);
    for (std::size_t i = 0; i < x->size(); ++i) {
      const AbstractValue same = equal((*x)[i], (*y)[i]);
      if (!same.is<bool>() || !*same.get<bool>()) return same;
    }
    return AbstractValue(true);
  }
  const auto i = integer(a);
  const auto j = integer(b);
  if (i && j) return decided(known_equal(*i, *j), a, {"==", "eq"}, b);
  const auto u = real(a);
  const auto v = real(b);
  if (u && v) return AbstractValue(*u == *v);
  if (a.is<DivergentValue>() || b.is<DivergentValue>())
    throw unsupported("{}", kind_name(a.is<DivergentValue>() ? a : b));
  if (a.is<SymbolicBool>() || b.is<SymbolicBool>())
    return AbstractValue(symbolic_bool("a bool that is not known", "eq", {a, b}));
  if (holds_tensor(a) && holds_tensor(b) && !same_value(a, b))
    return AbstractValue(SymbolicBool{"whether two tensors are equal", nullptr});
  if (holds_tensor(a) != holds_tensor(b) && !a.is_none() && !b.is_none())
    return AbstractValue(SymbolicBool{"whether a number that depends on data is equal to another", nullptr});
  if (const auto* d = a.get<Device>())
    if (const auto* e = b.get<Device>()) return AbstractValue(d->name == e->name);
  return AbstractValue(same_value(a, b));
}

bool identical(const AbstractValue& a, const AbstractValue& b) {
  if (a.is<DivergentValue>() || b.is<DivergentValue>())
    throw unsupported("{}", kind_name(a.is<DivergentValue>() ? a : b));
  if (const auto* x = a.get<ObjectPtr>()) {
    const auto* y = b.get<ObjectPtr>();
    const auto* m = dynamic_cast<const ModuleObject*>(x->get());
    const auto* n = y ? dynamic_cast<const ModuleObject*>(y->get()) : nullptr;
    if (m && n) return m->instance == n->instance;
  }
  return same_value(a, b);
}

const ScalarFunctions& comparison_functions() {
  static const ScalarFunctions all = {
      {"lt", lt},
      {"gt", gt},
      {"le", le},
      {"ge", ge},
      {"eq", eq},
      {"ne", ne},
      {"__is__", is},
      {"__isnot__", is_not},
      {"__not__", logical_not},
      {"__and__", bit_and},
      {"__or__", bit_or},
      {"__xor__", bit_xor},
      {"Bool", to_bool},
  };
  return all;
}

}  // namespace tenon::converter
