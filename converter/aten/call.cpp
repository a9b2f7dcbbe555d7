#include "converter/aten/call.h"

#include <algorithm>

#include "base/error.h"
#include "converter/c10_dtype.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

Error Call::wrong(std::string_view argument, std::string_view wanted, const AbstractValue& got) const {
  const std::string found = got.is<SymbolicBool>() ? got.get<SymbolicBool>()->why : kind_name(got);
  return unsupported("argument {} is {}, not {}", argument, found, wanted);
}

const AbstractValue* Call::find(std::string_view argument) {
  for (const Argument& a : arguments_) {
    if (a.name != argument) continue;
    used_.emplace_back(argument);
    return &a.value;
  }
  return nullptr;
}

bool Call::has(std::string_view argument) {
  const AbstractValue* d = find(argument);
  return d && !d->is_none();
}

const AbstractValue& Call::value(std::string_view argument) {
  if (const AbstractValue* d = find(argument)) return *d;
  throw unsupported("argument {} is missing", argument);
}

TensorPtr Call::tensor_ptr(std::string_view argument) {
  const AbstractValue& d = value(argument);
  if (const auto* t = d.get<TensorPtr>()) return *t;
  throw wrong(argument, "a tensor", d);
}

Ref Call::tensor(std::string_view argument) { return build.read(tensor_ptr(argument)); }

Ref Call::optional_tensor(std::string_view argument) { return has(argument) ? tensor(argument) : Ref(); }

std::vector<TensorPtr> Call::tensors(std::string_view argument) {
  const AbstractValue& d = value(argument);
  const auto* items = items_of(d);
  if (!items) throw wrong(argument, "a list of tensors", d);
  std::vector<TensorPtr> out;
  for (const AbstractValue& item : *items) {
    const auto* t = item.get<TensorPtr>();
    if (!t) throw wrong(argument, "a list of tensors", item);
    out.push_back(*t);
  }
  return out;
}

Dim Call::to_size(std::string_view argument, const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return *dim;
  if (const auto* flag = d.get<bool>()) return Dim(*flag);
  if (const auto* t = d.get<TensorPtr>()) {
    const auto number = build.known_number(*t);
    if (number && number->is<Dim>()) return *number->get<Dim>();
    const Ref value = build.read(*t);
    if (is_integral(value.dtype()) && numel(value.shape()) == Dim(1))
      return build.data_size(reshape(value, {}));
    throw unsupported("argument {} depends on the data of a tensor", argument);
  }
  throw wrong(argument, "an int", d);
}

std::int64_t Call::known(std::string_view argument, const Dim& dim) const {
  if (dim.is_known()) return dim.value();
  if (has_data_size(dim)) throw unsupported("argument {} depends on the data of a tensor", argument);
  throw unsupported("argument {} depends on an input size ({}), which must be known here", argument,
                    dim.str())
      .hint("give that dimension of the input a number instead of a symbol");
}

Dim Call::size(std::string_view argument) { return to_size(argument, value(argument)); }
Dim Call::size(std::string_view argument, Dim fallback) { return has(argument) ? size(argument) : fallback; }

std::vector<Dim> Call::sizes(std::string_view argument) {
  const AbstractValue& d = value(argument);
  const auto* items = items_of(d);
  if (!items) return {to_size(argument, d)};
  std::vector<Dim> out;
  for (const AbstractValue& item : *items) out.push_back(to_size(argument, item));
  return out;
}

std::int64_t Call::integer(std::string_view argument) { return known(argument, size(argument)); }
std::int64_t Call::integer(std::string_view argument, std::int64_t fallback) {
  return has(argument) ? integer(argument) : fallback;
}

std::vector<std::int64_t> Call::integers(std::string_view argument) {
  std::vector<std::int64_t> out;
  for (const Dim& d : sizes(argument)) out.push_back(known(argument, d));
  return out;
}
std::vector<std::int64_t> Call::integers(std::string_view argument, std::vector<std::int64_t> fallback) {
  return has(argument) ? integers(argument) : fallback;
}

double Call::number(std::string_view argument) {
  AbstractValue d = value(argument);
  if (const auto* t = d.get<TensorPtr>()) {
    const auto value = build.known_number(*t);
    if (!value) throw unsupported("argument {} depends on the data of a tensor", argument);
    d = *value;
  }
  if (const auto* real = d.get<double>()) return *real;
  if (const auto* flag = d.get<bool>()) return *flag;
  if (const auto* dim = d.get<Dim>()) return static_cast<double>(known(argument, *dim));
  throw wrong(argument, "a number", d);
}
double Call::number(std::string_view argument, double fallback) {
  return has(argument) ? number(argument) : fallback;
}

bool Call::flag(std::string_view argument, bool fallback) {
  if (!has(argument)) return fallback;
  const AbstractValue& d = value(argument);
  if (const auto* b = d.get<bool>()) return *b;
  if (const auto* dim = d.get<Dim>(); dim && dim->is_known()) return dim->value() != 0;
  throw wrong(argument, "a known bool", d);
}

std::string Call::word(std::string_view argument, std::string_view fallback) {
  if (!has(argument)) return std::string(fallback);
  const AbstractValue& d = value(argument);
  if (const auto* s = d.get<std::string>()) return *s;
  throw wrong(argument, "a string", d);
}

std::optional<DType> Call::dtype(std::string_view argument) {
  if (!has(argument)) return std::nullopt;
  const std::int64_t code = integer(argument);
  const auto found = dtype_from_c10(code);
  if (!found) throw unsupported("{} is c10's dtype number {}, which has no form here", argument, code);
  return found;
}

std::int64_t Call::axis(std::string_view argument, std::size_t rank) {
  if (rank == 0) throw unsupported("an axis of a rank-0 tensor");
  return normalize_axis(integer(argument), rank);
}
std::int64_t Call::axis(std::string_view argument, std::size_t rank, std::int64_t fallback) {
  return has(argument) ? axis(argument, rank) : normalize_axis(fallback, std::max<std::size_t>(rank, 1));
}

std::vector<std::int64_t> Call::axes(std::string_view argument, std::size_t rank) {
  std::vector<std::int64_t> out = integers(argument, {});
  for (std::int64_t& a : out) a = normalize_axis(a, std::max<std::size_t>(rank, 1));
  if (rank == 0) out.clear();
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    throw error("argument {} names an axis twice", argument);
  if (out.empty())
    for (std::size_t a = 0; a < rank; ++a) out.push_back(static_cast<std::int64_t>(a));
  return out;
}

void Call::ignore(std::initializer_list<std::string_view> arguments) {
  for (std::string_view a : arguments) used_.emplace_back(a);
}

void Call::check_all_used() const {
  for (const Argument& a : arguments_) {
    if (a.is_default || std::find(used_.begin(), used_.end(), a.name) != used_.end()) continue;
    throw unsupported("argument {} has a value that is not supported ({})", a.name, kind_name(a.value));
  }
}

}  // namespace tenon::converter
