#include "converter/aten/results.h"

#include <algorithm>

#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/aten/promote.h"

namespace tenon::converter {

namespace {

bool holds(std::span<const AtenEntry> family, const AtenEntry* entry) {
  return !family.empty() && entry >= family.data() && entry < family.data() + family.size();
}

/// Contiguous operands do not give contiguous results: these come out transposed.
bool has_own_strides(const AtenEntry* entry) {
  constexpr std::array<std::string_view, 6> names = {"nonzero",     "argwhere", "quantile",
                                                     "nanquantile", "rot90",    "einsum"};
  for (const auto& family :
       {linalg_entries(), fourier_entries(), spectral_entries(), attention_entries(), rnn_entries()})
    if (holds(family, entry)) return true;
  return entry && std::find(names.begin(), names.end(), entry->name) != names.end();
}

/// Of the arithmetic family, what PyTorch does not run as one pointwise operator.
bool is_pointwise_entry(const AtenEntry* entry) {
  constexpr std::array<std::string_view, 6> others = {"glu",  "masked_fill", "prelu",
                                                      "isin", "frexp",       "isclose"};
  if (!entry) return false;
  if (entry->name.ends_with("_like")) return true;
  return holds(arithmetic_entries(), entry) &&
         std::find(others.begin(), others.end(), entry->name) == others.end();
}

std::vector<TensorPtr> operands_of(const Call& call) {
  std::vector<TensorPtr> out;
  for (const Argument& a : call.arguments()) {
    if (const auto* t = a.value.get<TensorPtr>()) out.push_back(*t);
    if (const auto* items = items_of(a.value))
      for (const AbstractValue& item : *items)
        if (const auto* t = item.get<TensorPtr>()) out.push_back(*t);
  }
  return out;
}

std::optional<MemoryFormat> asked_format(const Call& call) {
  for (const Argument& a : call.arguments())
    if (const auto* code = a.value.get<Dim>(); code && a.name == "memory_format" && *code != Dim(1))
      return static_cast<MemoryFormat>(code->value());
  return std::nullopt;
}

std::optional<Layout> layout_of(const Call& call, const AtenEntry* entry, bool is_pointwise,
                                const Shape& shape) {
  if (const auto format = asked_format(call)) return dense_layout(shape, *format);
  if (shape.size() < 2) return dense_layout(shape);
  if (has_own_strides(entry)) return std::nullopt;
  bool contiguous = true;
  std::vector<Placed> placed;
  for (const TensorPtr& t : operands_of(call)) {
    if (!t->layout) return std::nullopt;
    contiguous &= t->contiguous() == true;
    placed.push_back({t->shape(), *t->layout});
  }
  if (contiguous) return dense_layout(shape);
  return is_pointwise || is_pointwise_entry(entry) ? pointwise_layout(shape, placed) : std::nullopt;
}

bool operands_are_scalars(const Call& call) {
  bool any = false;
  for (const Argument& a : call.arguments()) {
    if (a.value.is_tensor() && !is_python_number(a.value)) return false;
    any |= a.value.is_tensor();
  }
  return any;
}

void store_tensor(Builder& build, const TensorPtr& target, const TensorPtr& t) {
  if (t == target) return;
  const auto& number = t->buffer->number;
  if (number && t->steps.empty() && target->buffer->number && target->steps.empty()) {
    build.write_number(target, *number);
    return;
  }
  const Ref value = build.read(t);
  if (is_float(value.dtype()) && !is_float(target->dtype()) && !is_complex(target->dtype())) {
    throw error("a {} result does not fit into the {} tensor it is written to", name(value.dtype()),
                name(target->dtype()));
  }
  build.write(target, in_dtype(target->dtype(), value));
}

}  // namespace

std::vector<AbstractValue> to_values(Call& call, const AtenEntry* entry, bool is_pointwise, Results results) {
  if (results.fresh.empty()) return std::move(results.values);
  const bool scalar = operands_are_scalars(call);
  std::vector<AbstractValue> out;
  for (const Ref& r : results.fresh) {
    TensorPtr t = call.build.tensor(r, layout_of(call, entry, is_pointwise, r.shape()));
    t->is_scalar = scalar && r.rank() == 0;
    out.emplace_back(std::move(t));
  }
  return out;
}

void store(Builder& build, const AbstractValue& target, const AbstractValue& result) {
  const auto *to = target.get<TensorPtr>(), *from = result.get<TensorPtr>();
  if (to && from) return store_tensor(build, *to, *from);
  const auto *targets = items_of(target), *results = items_of(result);
  if (!targets || !results || targets->size() != results->size())
    throw unsupported("an in-place write of {}", kind_name(result));
  for (std::size_t i = 0; i < targets->size(); ++i) store(build, (*targets)[i], (*results)[i]);
}

AbstractValue copied(Builder& build, const AbstractValue& d) {
  if (const auto* t = d.get<TensorPtr>()) return build.tensor(build.read(*t));
  const auto* items = items_of(d);
  if (!items) return d;
  std::vector<AbstractValue> out;
  for (const AbstractValue& item : *items) out.push_back(copied(build, item));
  return list_of(std::move(out));
}

bool is_view(const AtenEntry* entry) { return holds(view_entries(), entry) || holds(split_entries(), entry); }

}  // namespace tenon::converter
