#include "converter/aten/table.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/aten/mapping.h"
#include "converter/aten/vision.h"
#include "converter/aten/names.h"
#include "converter/aten/promote.h"
#include "ir/ops/cast.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

constexpr std::array families = {
    arithmetic_entries, attention_entries, convolution_entries, creation_entries,  ctc_entries,
    data_size_entries,  diagonal_entries,  distance_entries,    fourier_entries,   gradient_entries,
    histogram_entries,  index_entries,     linalg_entries,      loss_entries,      matrix_entries,
    norm_entries,       packed_entries,    pool_entries,        reduction_entries, resize_entries,
    rnn_entries,        sampling_entries,  shape_entries,       special_entries,   spectral_entries,
    statistics_entries, tensor_entries,    view_entries,        vision_entries,
};

/// "relu_" → "relu"; empty when the name is not that of an in-place operator.
std::string_view pure_name(std::string_view name) {
  if (name.size() < 2 || name.back() != '_' || name.ends_with("__")) return {};
  return name.substr(0, name.size() - 1);
}

/// "permute_copy" → "permute": a view's copy; empty when the name is not of that kind.
std::string_view view_name(std::string_view name) {
  constexpr std::string_view suffix = "_copy";
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

/// The same values in memory of their own.
Datum copied(Builder& build, const Datum& d) {
  if (const auto* t = d.get<TensorPtr>()) return build.tensor(build.read(*t));
  const auto* items = items_of(d);
  if (!items) return d;
  std::vector<Datum> out;
  for (const Datum& item : *items) out.push_back(copied(build, item));
  return list_of(std::move(out));
}

/// "__iadd__" and its like: Python's in-place operators on tensors.
std::string_view python_in_place(std::string_view name) {
  if (name == "__iand__") return "__and__";
  if (name == "__ior__") return "__or__";
  if (name == "__ixor__") return "__xor__";
  if (name == "__ilshift__") return "__lshift__";
  if (name == "__irshift__") return "__rshift__";
  return {};
}

bool serves(std::string_view name, std::string_view overload) {
  return find_entry(name, overload) || find_mapping(name, overload);
}

/// The operator of the tables that a name is a form of.
struct Form {
  std::string_view pure;
  enum Kind { itself, copy, in_place } kind;
};

std::optional<Form> form_of(std::string_view name, std::string_view overload) {
  if (serves(name, overload)) return Form{name, Form::itself};
  if (const auto view = view_name(name); !view.empty() && serves(view, overload))
    return Form{view, Form::copy};
  for (const std::string_view pure : {pure_name(name), python_in_place(name)})
    if (!pure.empty() && serves(pure, overload)) return Form{pure, Form::in_place};
  return std::nullopt;
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

/// The datum with 16-bit floats in it as f32; `found` gathers their dtypes and those of other tensors.
Datum widened(Builder& build, const Datum& d, std::vector<Datum>& found) {
  if (const auto* t = d.get<TensorPtr>()) {
    found.push_back(d);
    return is_half((*t)->dtype()) ? Datum(build.tensor(cast(DType::f32, build.read(*t)))) : d;
  }
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<Datum> items;
  for (const Datum& item : (*list)->items) items.push_back(widened(build, item, found));
  return list_of(std::move(items));
}

Results run_in_f32(Handler handler, Call& call) {
  std::vector<Datum> found;
  std::vector<Argument> arguments = call.arguments();
  for (Argument& a : arguments) a.value = widened(call.build, a.value, found);
  std::erase_if(found, [](const Datum& d) { return !is_float((*d.get<TensorPtr>())->dtype()); });
  if (found.empty() || call.has("dtype") || !is_half(result_type(found))) return handler(call);
  const DType half = result_type(found);
  Call wide(call.build, call.name, call.overload, std::move(arguments));
  Results results = handler(wide);
  wide.check_all_used();
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  for (Ref& r : results.fresh)
    if (r.dtype() == DType::f32) r = cast(half, r);
  TENON_CHECK(!results.fresh.empty());
  return results;
}

Results run_pure(Call& call) {
  const Entry* complex = has_complex_operand(call) ? find_complex_entry(call) : nullptr;
  const Entry* entry = complex ? complex : find_entry(call.name, call.overload);
  if (!entry) return run_mapping(*find_mapping(call.name, call.overload), call);
  return entry->halves == Halves::in_f32 ? run_in_f32(entry->handler, call) : entry->handler(call);
}

bool operands_are_dense(const Call& call) {
  for (const Argument& a : call.arguments()) {
    if (const auto* t = a.value.get<TensorPtr>(); t && !(*t)->dense) return false;
    if (const auto* items = items_of(a.value))
      for (const Datum& item : *items)
        if (const auto* t = item.get<TensorPtr>(); t && !(*t)->dense) return false;
  }
  return true;
}

bool operands_are_scalars(const Call& call) {
  bool any = false;
  for (const Argument& a : call.arguments()) {
    if (a.value.is_tensor() && !is_python_number(a.value)) return false;
    any |= a.value.is_tensor();
  }
  return any;
}

std::vector<Datum> to_datums(Call& call, Results results) {
  if (results.fresh.empty()) return std::move(results.values);
  const bool dense = operands_are_dense(call);
  const bool scalar = operands_are_scalars(call);
  std::vector<Datum> out;
  for (const Ref& r : results.fresh) {
    TensorPtr t = call.build.tensor(r, dense || r.rank() < 2);
    t->is_scalar = scalar && r.rank() == 0;
    out.emplace_back(std::move(t));
  }
  return out;
}

void store(Builder& build, const TensorPtr& target, const Datum& result) {
  const auto* t = result.get<TensorPtr>();
  if (!t) throw unsupported("an in-place write of {}", kind_name(result));
  if (*t == target) return;
  const auto& number = (*t)->buffer->number;
  if (number && (*t)->steps.empty() && target->buffer->number && target->steps.empty()) {
    build.write_number(target, *number);
    return;
  }
  const Ref value = build.read(*t);
  if (is_float(value.dtype()) && !is_float(target->dtype())) {
    throw error("a {} result does not fit into the {} tensor it is written to", name(value.dtype()),
                name(target->dtype()));
  }
  build.write(target, cast(target->dtype(), value));
}

}  // namespace

Results run_with_axes(Handler handler, Call& call) {
  if (call.tensor("self").rank() > 0) return handler(call);
  std::vector<Argument> arguments = call.arguments();
  for (Argument& a : arguments)
    if (const auto* t = a.value.get<TensorPtr>(); t && (*t)->rank() == 0)
      a.value = call.build.tensor(reshape(call.build.read(*t), {Dim(1)}));
  Call vectors(call.build, call.name, call.overload, std::move(arguments));
  Results results = handler(vectors);
  vectors.check_all_used();
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  for (Ref& r : results.fresh) r = reshape(r, {});
  return results;
}

const Entry* find_entry(std::string_view name, std::string_view overload) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const Entry*> all;
    for (const auto& family : families)
      for (const Entry& entry : family()) TENON_CHECK(all.emplace(entry.name, &entry).second);
    return all;
  }();
  auto it = index.find(std::string(name) + "." + std::string(overload));
  if (it == index.end()) it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::span<const std::string_view> implemented_operators() {
  static const auto names = [] {
    std::vector<std::string_view> all = mapped_names();
    for (const auto& family : families)
      for (const Entry& entry : family()) all.push_back(entry.name);
    for (std::string_view& name : all) name = name.substr(0, name.find('.'));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return names;
}

bool is_aten_implemented(std::string_view name, std::string_view overload) {
  return form_of(name, overload).has_value();
}

std::vector<Datum> run_aten(Builder& build, std::string_view name, std::string_view overload,
                            std::vector<Argument> arguments) {
  const auto form = form_of(name, overload);
  if (!form) throw unsupported("the operator is not implemented");
  Datum target;
  if (form->kind == Form::in_place && !arguments.empty()) target = arguments[0].value;
  Call call(build, std::string(form->pure), std::string(overload), std::move(arguments));
  if (const Datum* out = call.find("out"); out && out->is_tensor()) target = *out;
  std::vector<Datum> results = to_datums(call, run_pure(call));
  call.check_all_used();
  if (form->kind == Form::copy)
    for (Datum& d : results) d = copied(build, d);
  if (!target.is_tensor()) return results;
  if (results.size() != 1) throw unsupported("an in-place operator with several results");
  store(build, *target.get<TensorPtr>(), results[0]);
  return {target};
}

}  // namespace tenon::converter
