// Operators that take the two parts of complex numbers apart: what moves numbers about by the other operands,
// what asks whether they are zero, and what fills with them.
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "converter/aten/complex_arithmetic.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"

namespace tenon::converter {

namespace {

/// Tensors of complex numbers, in lists too, of those of their parts.
AbstractValue of_both(Builder& build, const AbstractValue& real, const AbstractValue& imag) {
  if (const auto* t = real.get<TensorPtr>())
    return build.tensor(complex({build.read(*t), build.read(*imag.get<TensorPtr>())}));
  const auto *reals = items_of(real), *imags = items_of(imag);
  if (!reals) return real;
  std::vector<AbstractValue> items;
  for (std::size_t i = 0; i < reals->size(); ++i) items.push_back(of_both(build, (*reals)[i], (*imags)[i]));
  return list_of(std::move(items));
}

/// A number that elements become: its imaginary part is 0.
bool is_element(std::string_view argument) {
  return argument == "value" || argument == "fill" || argument == "fill_value";
}

/// Says which elements are meant: the same for both parts.
bool is_selection(std::string_view argument) {
  return argument == "index" || argument == "indices" || argument == "mask" || argument == "repeats";
}

/// The operator on the real parts, and on the imaginary ones. Those of real numbers are 0.
Results apart(Call& call) {
  if (call.has("reduce") && call.word("reduce", "") != "add")
    throw unsupported("{} of complex numbers by another reduction than add", call.name);
  const std::vector<Argument> given = taken_arguments(call);
  const DType dtype = part_dtype(given);
  std::array<std::vector<AbstractValue>, 2> results;
  for (const bool is_imag : {false, true}) {
    std::vector<Argument> own, selection;
    for (const Argument& a : given) (is_selection(a.name) ? selection : own).push_back(a);
    for_each_tensor(own, [&](AbstractValue& d) {
      const Parts parts = parts_in(call.build.read(*d.get<TensorPtr>()), dtype);
      d = call.build.tensor(is_imag ? parts.imag : parts.real);
    });
    for (Argument& a : own)
      if (is_imag && is_element(a.name) && a.value.is_number()) a.value = AbstractValue(0.0);
    own.insert(own.end(), selection.begin(), selection.end());
    results[is_imag] = run_again(call, std::move(own));
  }
  for (std::size_t i = 0; i < results[0].size(); ++i)
    results[0][i] = of_both(call.build, results[0][i], results[1][i]);
  return Results::many(std::move(results[0]));
}

Results gradient(Call& call) {
  if (call.has("spacing") && (items_of(call.value("spacing")) || call.value("spacing").is_tensor()))
    throw unsupported("gradient of complex numbers at given places");
  return apart(call);
}
Results lerp(Call& call) {
  const Operands x(call, {"self", "end", "weight"});
  return complex(x.parts[0] + (x.parts[1] - x.parts[0]) * x.parts[2]);
}

Ref is_not_zero(const Parts& z) {
  const auto differs = [](const Ref& part) { return logical_not(equal(part, part.literal(0.0))); };
  return logical_or(differs(z.real), differs(z.imag));
}

/// The operator on bools: whether the numbers are other than 0.
Results of_truth(Call& call) {
  std::vector<Argument> own = taken_arguments(call);
  for_each_tensor(own, [&](AbstractValue& d) {
    const Ref x = call.build.read(*d.get<TensorPtr>());
    if (is_complex(x.dtype())) d = call.build.tensor(is_not_zero(parts_of(x)));
  });
  return Results::many(run_again(call, std::move(own)));
}

/// The operator on both parts; whether it holds for both, or for one of them.
template <bool both>
Results of_parts(Call& call) {
  const Parts z = self_of(call);
  const auto holds = [&](const Ref& part) {
    return first_of(call, run_aten(call.build, call.name, call.overload,
                                   {{"self", AbstractValue(call.build.tensor(part))}}));
  };
  return both ? logical_and(holds(z.real), holds(z.imag)) : logical_or(holds(z.real), holds(z.imag));
}
Results isreal(Call& call) {
  const Ref imag = self_of(call).imag;
  return equal(imag, imag.literal(0.0));
}

/// Filled with a real number, in the sizes and, without another one, in the dtype of a complex tensor.
Results filled(Call& call) {
  const auto dtype = call.dtype("dtype");
  std::vector<Argument> own = taken_arguments(call);
  const bool is_complex_result = !dtype || is_complex(*dtype);
  if (is_complex_result) std::erase_if(own, [](const Argument& a) { return a.name == "dtype"; });
  for (Argument& a : own)
    if (a.name == "self")
      a.value = call.build.tensor(
          parts_in(call.tensor("self"), real_dtype(dtype.value_or(call.tensor("self").dtype()))).real);
  std::optional<Parts> number;
  for (Argument& a : own)
    if (const auto* t = a.value.get<TensorPtr>(); t && a.name == "fill_value" && is_complex((*t)->dtype())) {
      number = parts_of(call.build.read(*t));
      a.value = AbstractValue(0.0);
    }
  const Ref real = first_of(call, run_again(call, std::move(own)));
  if (!is_complex_result) return real;
  if (!number) return complex({real, zeros_like(real)});
  const auto everywhere = [&](const Ref& x) { return expand(cast(real.dtype(), x), real.shape()); };
  return complex({everywhere(number->real), everywhere(number->imag)});
}

/// Variances of both parts add up.
Results variance(Call& call) {
  const bool is_root = call.name.starts_with("std"), has_mean = call.name.ends_with("_mean");
  const Parts z = self_of(call);
  const std::vector<Argument> given = taken_arguments(call);
  const auto run = [&](std::string_view name, const std::string& overload, const Ref& part,
                       bool with_correction) {
    std::vector<Argument> own = given;
    if (!with_correction)
      std::erase_if(own, [](const Argument& a) { return a.name == "correction" || a.name == "unbiased"; });
    for (Argument& a : own)
      if (a.name == "self") a.value = call.build.tensor(part);
    return first_of(call, run_aten(call.build, name, overload, std::move(own)));
  };
  Ref both = run("var", call.overload, z.real, true) + run("var", call.overload, z.imag, true);
  if (is_root) both = sqrt(both);
  if (!has_mean) return both;
  const std::string overload = call.has("dim") ? "dim" : "";
  return std::vector<Ref>{
      both, complex({run("mean", overload, z.real, false), run("mean", overload, z.imag, false)})};
}

Results masked_select(Call& call) {
  const Ref z = pairs(self_of(call)), mask = call.tensor("mask");
  const Shape numbers(z.shape().begin(), z.shape().end() - 1), shape = broadcast(numbers, mask.shape());
  Shape wide = shape;
  wide.emplace_back(2);
  const Dim count = numel(shape);
  const Ref places = true_places(call.build, reshape(expand(mask, shape), {count}))[0];
  return complex(of_pairs(index_select(reshape(expand(z, wide), {count, Dim(2)}), 0, places)));
}

/// The ordinary operator on pairs.
Results masked_scatter(Call& call) {
  std::vector<Argument> given = taken_arguments(call);
  const DType dtype = part_dtype(given);
  for (Argument& a : given) {
    const Ref x = call.build.read(*a.value.get<TensorPtr>());
    Shape shape = x.shape();
    shape.emplace_back(1);
    a.value = call.build.tensor(is_selection(a.name) ? reshape(x, shape) : pairs(parts_in(x, dtype)));
  }
  return complex(of_pairs(first_of(call, run_again(call, std::move(given)))));
}

constexpr AtenEntry movement_table[] = {
    {"pad", apart},
    {"constant_pad_nd", apart},
    {"index", apart},
    {"_unsafe_index", apart},
    {"_unsafe_masked_index", apart},
    {"_unsafe_masked_index_put_accumulate", apart},
    {"index_put", apart},
    {"_unsafe_index_put", apart},
    {"index_add", apart},
    {"index_copy", apart},
    {"index_fill", apart},
    {"masked_select", masked_select},
    {"masked_scatter", masked_scatter},
    {"take", apart},
    {"take_along_dim", apart},
    {"put", apart},
    {"scatter", apart},
    {"scatter_add", apart},
    {"select_scatter", apart},
    {"slice_scatter", apart},
    {"diagonal_scatter", apart},
    {"as_strided_scatter", apart},
    {"alias_copy", apart},
    {"_chunk_cat", apart},
    {"block_diag", apart},
    {"cartesian_prod", apart},
    {"combinations", apart},
    {"hstack", apart},
    {"vstack", apart},
    {"row_stack", apart},
    {"dstack", apart},
    {"column_stack", apart},
    {"rot90", apart},
    {"fliplr", apart},
    {"flipud", apart},
    {"diag", apart},
    {"diagflat", apart},
    {"trace", apart},
    {"diff", apart},
    {"gradient", gradient},
    {"lerp", lerp},
    {"repeat_interleave", apart},
    {"sum_to_size", apart},
    {"im2col", apart},
    {"col2im", apart},
    {"pixel_shuffle", apart},
    {"pixel_unshuffle", apart},
    {"channel_shuffle", apart},
    {"all", of_truth},
    {"any", of_truth},
    {"logical_not", of_truth},
    {"logical_and", of_truth},
    {"logical_or", of_truth},
    {"logical_xor", of_truth},
    {"nonzero", of_truth},
    {"nonzero_numpy", of_truth},
    {"nonzero_static", of_truth},
    {"argwhere", of_truth},
    {"count_nonzero", of_truth},
    {"isfinite", of_parts<true>},
    {"isnan", of_parts<false>},
    {"isinf", of_parts<false>},
    {"isreal", isreal},
    {"zeros_like", filled},
    {"ones_like", filled},
    {"full_like", filled},
    {"new_zeros", filled},
    {"new_ones", filled},
    {"new_full", filled},
    {"var", variance},
    {"std", variance},
    {"var_mean", variance},
    {"std_mean", variance},
};

}  // namespace

ComplexEntries complex_movements() { return movement_table; }

}  // namespace tenon::converter
