// Arithmetic of complex numbers in parts, and what the handlers of complex operators share.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "converter/aten/complex.h"

namespace tenon::converter {

Parts operator+(const Parts&, const Parts&);
Parts operator-(const Parts&, const Parts&);
Parts operator*(const Parts&, const Parts&);
Parts operator*(const Parts&, const Ref& real);
Parts operator/(const Parts&, const Parts&);
Parts operator/(const Parts&, const Ref& real);
Parts conjugate(const Parts&);
/// The absolute value.
Ref modulus(const Parts&);
/// Both parts of each number beside each other, along a last axis, and back.
Ref pairs(const Parts&);
Parts of_pairs(const Ref&);

/// The operands of a call as parts of one dtype; which of them are real.
struct Operands {
  Operands(Call&, std::initializer_list<std::string_view> names);

  std::vector<Parts> parts;
  std::vector<bool> real;
  DType dtype;
};

Parts self_of(Call&);

/// f for each tensor among the arguments, in lists too, which it may replace.
template <class F>
void for_each_tensor(std::vector<Argument>& arguments, F&& f) {
  for (Argument& a : arguments) {
    if (a.value.is_tensor()) f(a.value);
    const auto* items = items_of(a.value);
    if (!items ||
        std::none_of(items->begin(), items->end(), [](const AbstractValue& d) { return d.is_tensor(); }))
      continue;
    std::vector<AbstractValue> own = *items;
    for (AbstractValue& d : own)
      if (d.is_tensor()) f(d);
    a.value = list_of(std::move(own));
  }
}

/// The arguments of a call, which count as used.
std::vector<Argument> taken_arguments(Call&);
/// The dtype of the parts that the tensors of a call have together.
DType part_dtype(const std::vector<Argument>&);
/// The operator of a call on other arguments.
std::vector<AbstractValue> run_again(Call&, std::vector<Argument>);
/// The first result, a tensor.
Ref first_of(Call&, const std::vector<AbstractValue>& results);

/// Handlers of complex operands alone: no table of those of all operands.
using ComplexEntries = std::span<const AtenEntry>;
ComplexEntries complex_functions();
ComplexEntries complex_movements();
ComplexEntries complex_matrices();
ComplexEntries complex_products();

}  // namespace tenon::converter
