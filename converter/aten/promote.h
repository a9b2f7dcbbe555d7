// PyTorch's type promotion.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "converter/aten/call.h"

namespace tenon::converter {

/// dtype that two dtypes have in common.
DType promote_types(DType, DType);
/// The dtype in which operands meet: tensors with dimensions come first, then rank-0 tensors, then Python
/// numbers; a later one decides only when it is of a higher kind (bool < int < float).
DType result_type(std::span<const AbstractValue> operands);
/// The operand as a value of a dtype: a tensor is cast, a number becomes a literal.
Ref operand(Builder&, const AbstractValue&, DType);
/// The operands in their common dtype; when `real`, integers and bools become f32.
std::vector<Ref> promoted(Builder&, std::span<const AbstractValue> operands, bool real = false);
/// The argument as floats: integers and bools become f32.
Ref real_operand(Call&, std::string_view argument = "self");
/// The same of a value.
Ref in_floats(const Ref& x);
/// True when a double holds the integer exactly.
constexpr bool fits_double(std::int64_t value) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  return -most <= value && value <= most;
}
/// The float, or the int that is known, as a double; nullopt for all else.
std::optional<double> known_real(const AbstractValue&);
/// True when the value is a Python number or stands for one.
bool is_python_number(const AbstractValue&);

}  // namespace tenon::converter
