#include "converter/aten/complex_arithmetic.h"

#include "converter/aten/promote.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"

namespace tenon::converter {

Parts operator+(const Parts& a, const Parts& b) { return {a.real + b.real, a.imag + b.imag}; }
Parts operator-(const Parts& a, const Parts& b) { return {a.real - b.real, a.imag - b.imag}; }
Parts operator*(const Parts& a, const Parts& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
Parts operator*(const Parts& a, const Ref& b) { return {a.real * b, a.imag * b}; }
Parts operator/(const Parts& a, const Ref& b) { return {a.real / b, a.imag / b}; }
Parts operator/(const Parts& a, const Parts& b) {
  const Ref size = modulus(b);
  const Parts direction = conjugate(b) / size;
  return a * direction / size;
}
Parts conjugate(const Parts& z) { return {z.real, -z.imag}; }
Ref modulus(const Parts& z) { return apply(Hypot{}, {z.real, z.imag}); }

Ref pairs(const Parts& z) {
  Shape shape = z.real.shape();
  shape.emplace_back(1);
  return concat(std::array{reshape(z.real, shape), reshape(z.imag, shape)},
                static_cast<std::int64_t>(shape.size()) - 1);
}
Parts of_pairs(const Ref& y) {
  const auto axis = static_cast<std::int64_t>(y.rank()) - 1;
  const Shape shape(y.shape().begin(), y.shape().end() - 1);
  const auto part = [&](std::int64_t k) { return reshape(slice(y, axis, Dim(k), Dim(k + 1)), shape); };
  return {part(0), part(1)};
}

Operands::Operands(Call& call, std::initializer_list<std::string_view> names) {
  std::vector<AbstractValue> given;
  for (const auto name : names) {
    const AbstractValue& d = call.value(name);
    const auto* t = d.get<TensorPtr>();
    const bool is_number = t && is_complex((*t)->dtype()) && (*t)->constant;
    given.push_back(is_number ? *(*t)->constant : d);
  }
  dtype = real_dtype(result_type(given));
  for (const AbstractValue& d : given) {
    const auto* t = d.get<TensorPtr>();
    const Ref value = t ? call.build.read(*t) : call.build.literal(d, dtype);
    parts.push_back(parts_in(value, dtype));
    real.push_back(!is_complex(value.dtype()));
  }
}

Parts self_of(Call& call) { return parts_of(call.tensor("self")); }

std::vector<Argument> taken_arguments(Call& call) {
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  return call.arguments();
}

DType part_dtype(const std::vector<Argument>& arguments) {
  std::vector<AbstractValue> tensors;
  std::vector<Argument> own = arguments;
  for_each_tensor(own, [&](const AbstractValue& d) {
    const DType dtype = (*d.get<TensorPtr>())->dtype();
    if (is_float(dtype) || is_complex(dtype)) tensors.push_back(d);
  });
  return real_dtype(result_type(tensors));
}

std::vector<AbstractValue> run_again(Call& call, std::vector<Argument> arguments) {
  return run_aten(call.build, call.name, call.overload, std::move(arguments));
}

Ref first_of(Call& call, const std::vector<AbstractValue>& results) {
  return call.build.read(*results.at(0).get<TensorPtr>());
}

}  // namespace tenon::converter
