#include "converter/interpreter/scalars.h"

#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "converter/interpreter/objects.h"

namespace tenon::converter {

namespace {

using Arguments = std::span<const Datum>;
using Function = std::optional<Datum> (*)(Arguments);

/// The int behind an int or a bool.
std::optional<Dim> integer(const Datum& d) {
  if (const auto* dim = d.get<Dim>()) return *dim;
  if (const auto* flag = d.get<bool>()) return Dim(std::int64_t{*flag});
  return std::nullopt;
}
std::optional<double> real(const Datum& d) {
  if (const auto* x = d.get<double>()) return *x;
  const auto dim = integer(d);
  if (dim && dim->is_known()) return static_cast<double>(dim->value());
  return std::nullopt;
}

template <class OnInts, class OnReals>
std::optional<Datum> arithmetic(Arguments a, OnInts on_ints, OnReals on_reals) {
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j) return Datum(on_ints(*i, *j));
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (x && y) return Datum(on_reals(*x, *y));
  return std::nullopt;
}

template <class OnReals>
std::optional<Datum> real_function(Arguments a, OnReals f) {
  const auto x = real(a[0]);
  if (!x) return std::nullopt;
  return Datum(f(*x));
}
template <double (*f)(double)>
std::optional<Datum> math(Arguments a) {
  return real_function(a, f);
}

/// How a comparison is written, and what it is called.
struct Sign {
  const char *text, *name;
};

Datum decided(std::optional<bool> known, const Datum& a, Sign sign, const Datum& b) {
  if (known) return Datum(*known);
  return Datum(undecided(text_of(a) + " " + sign.text + " " + text_of(b), sign.name, {a, b}));
}

std::optional<Datum> compare(Arguments a, Sign sign, std::optional<bool> (*on_ints)(const Dim&, const Dim&),
                             bool (*on_reals)(double, double)) {
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j) return decided(on_ints(*i, *j), a[0], sign, a[1]);
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (x && y) return Datum(on_reals(*x, *y));
  if (const auto* s = a[0].get<std::string>())
    if (const auto* t = a[1].get<std::string>()) return Datum(on_reals(s->compare(*t), 0));
  return std::nullopt;
}

std::optional<bool> negated(std::optional<bool> b) { return b ? std::optional(!*b) : std::nullopt; }

std::optional<Datum> lt(Arguments a) {
  return compare(a, {"<", "lt"}, known_less, [](double x, double y) { return x < y; });
}
std::optional<Datum> gt(Arguments a) {
  return compare(
      a, {">", "gt"}, [](const Dim& x, const Dim& y) { return known_less(y, x); },
      [](double x, double y) { return x > y; });
}
std::optional<Datum> le(Arguments a) {
  return compare(
      a, {"<=", "le"}, [](const Dim& x, const Dim& y) { return negated(known_less(y, x)); },
      [](double x, double y) { return x <= y; });
}
std::optional<Datum> ge(Arguments a) {
  return compare(
      a, {">=", "ge"}, [](const Dim& x, const Dim& y) { return negated(known_less(x, y)); },
      [](double x, double y) { return x >= y; });
}

std::optional<Datum> truth(const Datum& d) {
  if (d.is<bool>() || d.is<Undecided>()) return d;
  if (const auto* x = d.get<double>()) return Datum(*x != 0);
  if (const auto* dim = d.get<Dim>()) {
    if (const auto zero = known_equal(*dim, Dim(0))) return Datum(!*zero);
    return Datum(undecided(dim->str() + " != 0", "truth", {d}));
  }
  if (const auto* s = d.get<std::string>()) return Datum(!s->empty());
  return std::nullopt;
}

std::optional<Datum> logical_not(Arguments a) {
  const auto t = truth(a[0]);
  if (!t) return std::nullopt;
  if (const auto* u = t->get<Undecided>()) return Datum(undecided("not " + u->why, "not", {*t}));
  return Datum(!*t->get<bool>());
}

std::optional<Datum> bitwise(Arguments a, bool (*on_bools)(bool, bool),
                             std::int64_t (*on_ints)(std::int64_t, std::int64_t),
                             std::optional<bool> absorbing, const char* word) {
  const auto* p = a[0].get<bool>();
  const auto* q = a[1].get<bool>();
  if (p && q) return Datum(on_bools(*p, *q));
  if (a[0].is<Undecided>() || a[1].is<Undecided>()) {
    if (absorbing && ((p && *p == *absorbing) || (q && *q == *absorbing))) return Datum(*absorbing);
    if (!word) return Datum(Undecided{"a bool that is not known", nullptr});
    if (p || q) return p ? a[1] : a[0];
    const auto& why = a[0].get<Undecided>()->why;
    return Datum(
        undecided(fmt::format("{} {} {}", why, word, a[1].get<Undecided>()->why), word, {a[0], a[1]}));
  }
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j && i->is_known() && j->is_known()) return Datum(on_ints(i->value(), j->value()));
  return std::nullopt;
}

double python_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

std::optional<Datum> add(Arguments a) {
  if (const auto* s = a[0].get<std::string>())
    if (const auto* t = a[1].get<std::string>()) return Datum(*s + *t);
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x + y; }, [](double x, double y) { return x + y; });
}
std::optional<Datum> sub(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x - y; }, [](double x, double y) { return x - y; });
}
std::optional<Datum> mul(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x * y; }, [](double x, double y) { return x * y; });
}
std::optional<Datum> div(Arguments a) {
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (!x || !y) return std::nullopt;
  if (*y == 0) throw error("a division by zero");
  return Datum(*x / *y);
}
std::optional<Datum> floordiv(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return floor_div(x, y); },
      [](double x, double y) { return std::floor(x / y); });
}
std::optional<Datum> remainder(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return mod(x, y); }, python_mod);
}
std::optional<Datum> smaller(Arguments a) {
  if (a.size() != 2) return std::nullopt;
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return min(x, y); },
      [](double x, double y) { return std::min(x, y); });
}
std::optional<Datum> larger(Arguments a) {
  if (a.size() != 2) return std::nullopt;
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return max(x, y); },
      [](double x, double y) { return std::max(x, y); });
}
std::optional<Datum> power(Arguments a) {
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (!x || !y) return std::nullopt;
  return Datum(std::pow(*x, *y));
}
std::optional<Datum> integer_power(Arguments a) {
  const auto value = power(a);
  if (!value || !a[0].is<Dim>() || !a[1].is<Dim>()) return value;
  return Datum(static_cast<std::int64_t>(*value->get<double>()));
}
std::optional<Datum> negative(Arguments a) {
  if (const auto i = integer(a[0])) return Datum(-*i);
  return real_function(a, [](double x) { return -x; });
}
std::optional<Datum> absolute(Arguments a) {
  if (const auto i = integer(a[0])) return Datum(max(*i, -*i));
  return math<std::fabs>(a);
}
template <double (*f)(double)>
std::optional<Datum> to_whole(Arguments a) {
  if (const auto i = integer(a[0])) return Datum(*i);
  return real_function(a, [](double x) { return static_cast<std::int64_t>(f(x)); });
}
std::optional<Datum> to_int(Arguments a) {
  if (const auto* s = a[0].get<std::string>()) return Datum(std::stoll(*s));
  return to_whole<std::trunc>(a);
}
std::optional<Datum> to_float(Arguments a) {
  if (const auto* s = a[0].get<std::string>()) return Datum(std::stod(*s));
  return real_function(a, [](double x) { return x; });
}
std::optional<Datum> to_bool(Arguments a) { return truth(a[0]); }
std::optional<Datum> itself(Arguments a) { return a[0]; }

std::optional<Datum> eq(Arguments a) { return equal(a[0], a[1]); }
std::optional<Datum> ne(Arguments a) {
  const Datum same = equal(a[0], a[1]);
  return logical_not(std::span(&same, 1));
}
std::optional<Datum> is(Arguments a) { return Datum(identical(a[0], a[1])); }
std::optional<Datum> is_not(Arguments a) { return Datum(!identical(a[0], a[1])); }

std::optional<Datum> bit_and(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p && q; }, [](std::int64_t x, std::int64_t y) { return x & y; }, false,
      "and");
}
std::optional<Datum> bit_or(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p || q; }, [](std::int64_t x, std::int64_t y) { return x | y; }, true,
      "or");
}
std::optional<Datum> bit_xor(Arguments a) {
  return bitwise(
      a, [](bool p, bool q) { return p != q; }, [](std::int64_t x, std::int64_t y) { return x ^ y; },
      std::nullopt, nullptr);
}

/// range(low, high, step): how many steps, and the value at step i.
std::optional<Datum> range_length(Arguments a) {
  const auto low = integer(a[0]), high = integer(a[1]), step = integer(a[2]);
  if (!low || !high || !step || !step->is_known()) return std::nullopt;
  if (step->value() == 0) throw error("range() with a step of 0");
  const Dim count = step->value() > 0 ? ceil_div(*high - *low, *step) : ceil_div(*low - *high, -*step);
  return Datum(max(count, Dim(0)));
}
std::optional<Datum> derive_index(Arguments a) {
  const auto i = integer(a[0]), start = integer(a[1]), step = integer(a[2]);
  if (!i || !start || !step) return std::nullopt;
  return Datum(*start + *i * *step);
}

/// "{} of {}".format(a, b)
std::optional<Datum> format(Arguments a) {
  const auto* pattern = a[0].get<std::string>();
  if (!pattern) return std::nullopt;
  std::string out;
  std::size_t next = 1, from = 0;
  for (std::size_t at = pattern->find("{}"); at != std::string::npos; at = pattern->find("{}", from)) {
    out += pattern->substr(from, at - from);
    if (next < a.size()) out += text_of(a[next++]);
    from = at + 2;
  }
  return Datum(out + pattern->substr(from));
}
std::optional<Datum> str(Arguments a) { return Datum(text_of(a[0])); }
std::optional<Datum> device(Arguments a) {
  if (const auto* name = a[0].get<std::string>()) return Datum(Device{*name});
  return a[0];
}
std::optional<Datum> nothing(Arguments) { return Datum(); }
std::optional<Datum> no(Arguments) { return Datum(false); }

const std::unordered_map<std::string_view, Function>& functions() {
  static const std::unordered_map<std::string_view, Function> all = {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"truediv", div},
      {"floordiv", floordiv},
      {"floor_divide", floordiv},
      {"remainder", remainder},
      {"mod", remainder},
      {"fmod",
       [](Arguments a) {
         return arithmetic(
             a, [](const Dim& x, const Dim& y) { return mod(x, y); },
             [](double x, double y) { return std::fmod(x, y); });
       }},
      {"pow", power},
      {"pow.int_to_int", integer_power},
      {"neg", negative},
      {"abs", absolute},
      {"min", smaller},
      {"max", larger},
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
      {"floor", to_whole<std::floor>},
      {"ceil", to_whole<std::ceil>},
      {"round", math<std::nearbyint>},
      {"sqrt", math<std::sqrt>},
      {"exp", math<std::exp>},
      {"log", math<std::log>},
      {"log2", math<std::log2>},
      {"log10", math<std::log10>},
      {"log1p", math<std::log1p>},
      {"sin", math<std::sin>},
      {"cos", math<std::cos>},
      {"tan", math<std::tan>},
      {"tanh", math<std::tanh>},
      {"isnan", [](Arguments a) { return real_function(a, [](double x) { return std::isnan(x); }); }},
      {"isinf", [](Arguments a) { return real_function(a, [](double x) { return std::isinf(x); }); }},
      {"isfinite", [](Arguments a) { return real_function(a, [](double x) { return std::isfinite(x); }); }},
      {"Int", to_int},
      {"IntImplicit", to_int},
      {"Float", to_float},
      {"FloatImplicit", to_float},
      {"Bool", to_bool},
      {"ScalarImplicit", itself},
      {"_unwrap_optional", itself},
      {"__range_length", range_length},
      {"__derive_index", derive_index},
      {"format", format},
      {"str", str},
      {"device", device},
      {"warn", nothing},
      {"manual_seed", nothing},
      {"set_grad_enabled", nothing},
      {"is_grad_enabled", no},
      {"is_autocast_enabled", no},
      {"is_autocast_cpu_enabled", no},
      {"is_scripting", [](Arguments) { return std::optional(Datum(true)); }},
  };
  return all;
}

}  // namespace

Datum equal(const Datum& a, const Datum& b) {
  const auto* x = items_of(a);
  const auto* y = items_of(b);
  if (x && y) {
    if (x->size() != y->size()) return Datum(false);
    for (std::size_t i = 0; i < x->size(); ++i) {
      const Datum same = equal((*x)[i], (*y)[i]);
      if (!same.is<bool>() || !*same.get<bool>()) return same;
    }
    return Datum(true);
  }
  const auto i = integer(a);
  const auto j = integer(b);
  if (i && j) return decided(known_equal(*i, *j), a, {"==", "eq"}, b);
  const auto u = real(a);
  const auto v = real(b);
  if (u && v) return Datum(*u == *v);
  if (a.is<Mixed>() || b.is<Mixed>()) throw unsupported("{}", kind_name(a.is<Mixed>() ? a : b));
  if (a.is<Undecided>() || b.is<Undecided>())
    return Datum(undecided("a bool that is not known", "eq", {a, b}));
  if (holds_tensor(a) && holds_tensor(b) && !same_value(a, b))
    return Datum(Undecided{"whether two tensors are equal", nullptr});
  if (holds_tensor(a) != holds_tensor(b) && !a.is_none() && !b.is_none())
    return Datum(Undecided{"whether a number that depends on data is equal to another", nullptr});
  if (const auto* d = a.get<Device>())
    if (const auto* e = b.get<Device>()) return Datum(d->name == e->name);
  return Datum(same_value(a, b));
}

bool identical(const Datum& a, const Datum& b) {
  if (a.is<Mixed>() || b.is<Mixed>()) throw unsupported("{}", kind_name(a.is<Mixed>() ? a : b));
  if (const auto* x = a.get<ObjectPtr>()) {
    const auto* y = b.get<ObjectPtr>();
    const auto* m = dynamic_cast<const ModuleObject*>(x->get());
    const auto* n = y ? dynamic_cast<const ModuleObject*>(y->get()) : nullptr;
    if (m && n) return m->instance == n->instance;
  }
  return same_value(a, b);
}

std::string text_of(const Datum& d) {
  if (d.is_none()) return "None";
  if (const auto* flag = d.get<bool>()) return *flag ? "True" : "False";
  if (const auto* dim = d.get<Dim>()) return dim->str();
  if (const auto* x = d.get<double>()) return fmt::format("{}", *x);
  if (const auto* s = d.get<std::string>()) return *s;
  if (const auto* dev = d.get<Device>()) return dev->name;
  if (const auto* items = items_of(d)) {
    std::string out;
    for (const Datum& item : *items) out += (out.empty() ? "" : ", ") + text_of(item);
    return d.is<ListPtr>() ? "[" + out + "]" : "(" + out + ")";
  }
  return kind_name(d);
}

namespace {

Function find_function(std::string_view name, std::string_view overload) {
  const auto& all = functions();
  auto it = all.find(std::string(name) + "." + std::string(overload));
  if (it == all.end()) it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

}  // namespace

bool is_scalar_function(std::string_view name, std::string_view overload) {
  return find_function(name, overload) != nullptr;
}

std::optional<Datum> run_scalar(std::string_view name, std::string_view overload,
                                std::span<const Datum> arguments) {
  const Function function = find_function(name, overload);
  return function ? function(arguments) : std::nullopt;
}

}  // namespace tenon::converter
