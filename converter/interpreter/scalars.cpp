#include "converter/interpreter/scalars.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/c10_dtype.h"
#include "converter/interpreter/functions.h"

namespace tenon::converter {

std::optional<Dim> integer(const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return *dim;
  if (const auto* flag = d.get<bool>()) return Dim(std::int64_t{*flag});
  return std::nullopt;
}
std::optional<double> real(const AbstractValue& d) {
  if (const auto* x = d.get<double>()) return *x;
  const auto dim = integer(d);
  if (dim && dim->is_known()) return static_cast<double>(dim->value());
  return std::nullopt;
}
std::int64_t known_integer(const AbstractValue& d) {
  if (const auto dim = integer(d); dim && dim->is_known()) return dim->value();
  throw unsupported("an int that is not known ({})", text_of(d))
      .hint("give the input size it depends on a number");
}

namespace {

template <class OnInts, class OnReals>
std::optional<AbstractValue> arithmetic(Arguments a, OnInts on_ints, OnReals on_reals) {
  const auto i = integer(a[0]);
  const auto j = integer(a[1]);
  if (i && j) return AbstractValue(on_ints(*i, *j));
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (x && y) return AbstractValue(on_reals(*x, *y));
  return std::nullopt;
}

template <class OnReals>
std::optional<AbstractValue> real_function(Arguments a, OnReals f) {
  const auto x = real(a[0]);
  if (!x) return std::nullopt;
  return AbstractValue(f(*x));
}

double python_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

std::optional<AbstractValue> add(Arguments a) {
  if (const auto* s = a[0].get<std::string>())
    if (const auto* t = a[1].get<std::string>()) return AbstractValue(*s + *t);
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x + y; }, [](double x, double y) { return x + y; });
}
std::optional<AbstractValue> sub(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x - y; }, [](double x, double y) { return x - y; });
}
std::optional<AbstractValue> mul(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return x * y; }, [](double x, double y) { return x * y; });
}
std::optional<AbstractValue> div(Arguments a) {
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (!x || !y) return std::nullopt;
  if (*y == 0) throw error("a division by zero");
  return AbstractValue(*x / *y);
}
std::optional<AbstractValue> floordiv(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return floor_div(x, y); },
      [](double x, double y) { return std::floor(x / y); });
}
std::optional<AbstractValue> remainder(Arguments a) {
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return mod(x, y); }, python_mod);
}
std::optional<AbstractValue> smaller(Arguments a) {
  if (a.size() != 2) return std::nullopt;
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return min(x, y); },
      [](double x, double y) { return std::min(x, y); });
}
std::optional<AbstractValue> larger(Arguments a) {
  if (a.size() != 2) return std::nullopt;
  return arithmetic(
      a, [](const Dim& x, const Dim& y) { return max(x, y); },
      [](double x, double y) { return std::max(x, y); });
}
std::optional<AbstractValue> power(Arguments a) {
  const auto x = real(a[0]);
  const auto y = real(a[1]);
  if (!x || !y) return std::nullopt;
  return AbstractValue(std::pow(*x, *y));
}
std::optional<AbstractValue> integer_power(Arguments a) {
  constexpr std::int64_t highest = 64;
  const auto base = integer(a[0]), exponent = integer(a[1]);
  if (!base || !exponent || !exponent->is_known()) return std::nullopt;
  const std::int64_t n = exponent->value();
  if (n < 0 || (n > highest && !(base->is_known() && base->value() >= -1 && base->value() <= 1)))
    throw unsupported("{} to the power of {} as an int", base->str(), n);
  Dim result(1);
  for (std::int64_t i = 0; i < std::min(n, highest + n % 2); ++i) result = result * *base;
  return AbstractValue(result);
}
std::optional<AbstractValue> negative(Arguments a) {
  if (const auto i = integer(a[0])) return AbstractValue(-*i);
  return real_function(a, [](double x) { return -x; });
}
std::optional<AbstractValue> absolute(Arguments a) {
  if (const auto i = integer(a[0])) return AbstractValue(max(*i, -*i));
  return real_function(a, [](double x) { return std::fabs(x); });
}
template <double (*f)(double)>
std::optional<AbstractValue> to_whole(Arguments a) {
  if (const auto i = integer(a[0])) return AbstractValue(*i);
  return real_function(a, [](double x) { return static_cast<std::int64_t>(f(x)); });
}
template <class Number>
Number parsed(const std::string& text, std::string_view what) {
  Number n{};
  const auto [end, e] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (e != std::errc() || end != text.data() + text.size() || text.empty())
    throw error("'{}' is not {}", text, what);
  return n;
}
std::optional<AbstractValue> to_int(Arguments a) {
  if (const auto* s = a[0].get<std::string>()) return AbstractValue(parsed<std::int64_t>(*s, "an int"));
  return to_whole<std::trunc>(a);
}
std::optional<AbstractValue> to_float(Arguments a) {
  if (const auto* s = a[0].get<std::string>()) return AbstractValue(parsed<double>(*s, "a float"));
  return real_function(a, [](double x) { return x; });
}
std::optional<AbstractValue> round(Arguments a) {
  return real_function(a, [](double x) { return std::nearbyint(x); });
}
std::optional<AbstractValue> itself(Arguments a) { return a[0]; }

/// How far to shift; PyTorch leaves the rest undefined.
std::optional<std::int64_t> places(const AbstractValue& d) {
  const std::int64_t n = known_integer(d);
  return n >= 0 && n < 63 ? std::optional(n) : std::nullopt;
}
std::optional<AbstractValue> shift_left(Arguments a) {
  const auto x = integer(a[0]);
  const auto n = x ? places(a[1]) : std::nullopt;
  return n ? std::optional(AbstractValue(*x * Dim(std::int64_t{1} << *n))) : std::nullopt;
}
std::optional<AbstractValue> shift_right(Arguments a) {
  const auto x = integer(a[0]);
  const auto n = x ? places(a[1]) : std::nullopt;
  return n ? std::optional(AbstractValue(floor_div(*x, Dim(std::int64_t{1} << *n)))) : std::nullopt;
}
/// C's division.
std::optional<AbstractValue> quotient(Arguments a) {
  const std::int64_t x = known_integer(a[0]), y = known_integer(a[1]);
  if (y == 0) throw error("a division by zero");
  return AbstractValue(y == -1 ? -Dim(x) : Dim(x / y));
}
std::optional<AbstractValue> quotient_and_remainder(Arguments a) {
  const auto q = floordiv(a), r = remainder(a);
  return q && r ? std::optional(tuple_of({*q, *r})) : std::nullopt;
}

/// range(low, high, step): how many steps, and the value at step i.
std::optional<AbstractValue> range_length(Arguments a) {
  const auto low = integer(a[0]), high = integer(a[1]), step = integer(a[2]);
  if (!low || !high || !step || !step->is_known()) return std::nullopt;
  if (step->value() == 0) throw error("range() with a step of 0");
  const Dim count = step->value() > 0 ? ceil_div(*high - *low, *step) : ceil_div(*low - *high, -*step);
  return AbstractValue(max(count, Dim(0)));
}
std::optional<AbstractValue> derive_index(Arguments a) {
  const auto i = integer(a[0]), start = integer(a[1]), step = integer(a[2]);
  if (!i || !start || !step) return std::nullopt;
  return AbstractValue(*start + *i * *step);
}

/// list(range(n))
std::optional<AbstractValue> range_list(Arguments a) {
  std::vector<AbstractValue> out;
  for (std::int64_t i = 0; i < known_integer(a[0]); ++i) out.emplace_back(i);
  return list_of(std::move(out));
}

/// "{} of {}".format(a, b)
std::optional<AbstractValue> format(Arguments a) {
  const auto* pattern = a[0].get<std::string>();
  if (!pattern) return std::nullopt;
  std::string out;
  std::size_t next = 1, from = 0;
  for (std::size_t at = pattern->find("{}"); at != std::string::npos; at = pattern->find("{}", from)) {
    out += pattern->substr(from, at - from);
    if (next < a.size()) out += text_of(a[next++]);
    from = at + 2;
  }
  return AbstractValue(out + pattern->substr(from));
}
std::optional<AbstractValue> str(Arguments a) { return AbstractValue(text_of(a[0])); }
template <int base>
std::optional<AbstractValue> digits(Arguments a) {
  const std::int64_t n = known_integer(a[0]);
  const auto size = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  const std::string text = base == 2   ? fmt::format("{:#b}", size)
                           : base == 8 ? fmt::format("0o{:o}", size)
                                       : fmt::format("{:#x}", size);
  return AbstractValue((n < 0 ? "-" : "") + text);
}
std::optional<AbstractValue> chr(Arguments a) {
  return AbstractValue(std::string(1, static_cast<char>(known_integer(a[0]))));
}
std::optional<AbstractValue> ord(Arguments a) {
  const auto* s = a[0].get<std::string>();
  if (!s) return std::nullopt;
  if (s->size() != 1) throw error("ord() of '{}', which is not one character", *s);
  return AbstractValue(static_cast<std::int64_t>(static_cast<unsigned char>((*s)[0])));
}
std::optional<AbstractValue> promoted_type(Arguments a) {
  const auto x = dtype_from_c10(known_integer(a[0])), y = dtype_from_c10(known_integer(a[1]));
  return x && y ? std::optional(AbstractValue(c10_code(promote_types(*x, *y)))) : std::nullopt;
}
std::optional<AbstractValue> device(Arguments a) {
  if (const auto* name = a[0].get<std::string>()) return AbstractValue(Device{*name});
  return a[0];
}
std::optional<AbstractValue> nothing(Arguments) { return AbstractValue(); }
std::optional<AbstractValue> no(Arguments) { return AbstractValue(false); }

const ScalarFunctions& number_functions() {
  static const ScalarFunctions all = {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"truediv", div},
      {"floordiv", floordiv},
      {"floor_divide", floordiv},
      {"remainder", remainder},
      {"mod", remainder},
      {"pow", power},
      {"pow.int_to_int", integer_power},
      {"neg", negative},
      {"abs", absolute},
      {"min", smaller},
      {"max", larger},
      {"__lshift__", shift_left},
      {"__rshift__", shift_right},
      {"__round_to_zero_floordiv", quotient},
      {"divmod", quotient_and_remainder},
      {"floor", to_whole<std::floor>},
      {"ceil", to_whole<std::ceil>},
      {"round", round},
      {"Int", to_int},
      {"IntImplicit", to_int},
      {"Float", to_float},
      {"FloatImplicit", to_float},
      {"ScalarImplicit", itself},
      {"_unwrap_optional", itself},
      {"__range_length", range_length},
      {"__derive_index", derive_index},
      {"rangelist", range_list},
      {"format", format},
      {"str", str},
      {"bin", digits<2>},
      {"oct", digits<8>},
      {"hex", digits<16>},
      {"chr", chr},
      {"ord", ord},
      {"promote_types", promoted_type},
      {"device", device},
      {"warn", nothing},
      {"_print", nothing},
      {"manual_seed", nothing},
      {"set_grad_enabled", nothing},
      {"is_grad_enabled", no},
      {"is_autocast_enabled", no},
      {"is_autocast_cpu_enabled", no},
      {"has_torch_function", no},
      {"is_vulkan_available", no},
      {"_get_tracing_state", no},
      {"_use_cudnn_rnn_flatten_weight", no},
      {"is_scripting", [](Arguments) { return std::optional(AbstractValue(true)); }},
  };
  return all;
}

/// As TorchScript prints it: "3.", "0.25".
std::string text_of_real(double x) {
  constexpr double largest_whole = 1e10;
  const bool is_whole = std::isfinite(x) && std::fabs(x) < largest_whole && std::trunc(x) == x;
  return is_whole ? fmt::format("{:.0f}.", x) : fmt::format("{:.17g}", x);
}

}  // namespace

std::string text_of(const AbstractValue& d) {
  if (d.is_none()) return "None";
  if (const auto* flag = d.get<bool>()) return *flag ? "True" : "False";
  if (const auto* dim = d.get<Dim>()) return dim->str();
  if (const auto* x = d.get<double>()) return text_of_real(*x);
  if (const auto* s = d.get<std::string>()) return *s;
  if (const auto* u = d.get<SymbolicBool>()) return u->why;
  if (const auto* dev = d.get<Device>()) return dev->name;
  if (const auto* items = items_of(d)) {
    std::string out;
    for (const AbstractValue& item : *items) out += (out.empty() ? "" : ", ") + text_of(item);
    return d.is<ListPtr>() ? "[" + out + "]" : "(" + out + ")";
  }
  return kind_name(d);
}

namespace {

ScalarFunction find_function(std::string_view name, std::string_view overload) {
  const std::string full = std::string(name) + "." + std::string(overload);
  for (const ScalarFunctions* all : {&number_functions(), &comparison_functions(), &math_functions()})
    for (const std::string_view key : {std::string_view(full), name})
      if (const auto it = all->find(key); it != all->end()) return it->second;
  return nullptr;
}

}  // namespace

bool is_scalar_function(std::string_view name, std::string_view overload) {
  return find_function(name, overload) != nullptr;
}

std::optional<AbstractValue> run_scalar(std::string_view name, std::string_view overload,
                                        std::span<const AbstractValue> arguments) {
  const ScalarFunction function = find_function(name, overload);
  return function ? function(arguments) : std::nullopt;
}

}  // namespace tenon::converter
