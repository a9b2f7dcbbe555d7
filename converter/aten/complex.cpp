// Arithmetic of complex tensors, on their parts.
#include "converter/aten/complex.h"

#include <algorithm>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "ir/axis.h"
#include "ir/ops/complex.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

/// An operator whose operand 0 is moved about, by attributes or by places in the other operands.
bool moves_its_operand(const Op& op) {
  return op.is<Reshape>() || op.is<Permute>() || op.is<Expand>() || op.is<Slice>() || op.is<Flip>() ||
         op.is<IndexSelect>() || op.is<Gather>();
}

Parts joined(const InsertionPoint& point, const Node& concat, const Op& op) {
  std::vector<Ref> real, imag;
  for (Value* input : concat.inputs()) {
    const Parts p = parts_of(Ref(input, point));
    real.push_back(p.real);
    imag.push_back(p.imag);
  }
  return {tenon::apply(op, real), tenon::apply(op, imag)};
}

Parts operator+(const Parts& a, const Parts& b) { return {a.real + b.real, a.imag + b.imag}; }
Parts operator-(const Parts& a, const Parts& b) { return {a.real - b.real, a.imag - b.imag}; }
Parts operator*(const Parts& a, const Parts& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
Parts operator*(const Parts& a, const Ref& b) { return {a.real * b, a.imag * b}; }
Parts operator/(const Parts& a, const Ref& b) { return {a.real / b, a.imag / b}; }
Parts conjugate(const Parts& z) { return {z.real, -z.imag}; }
Ref size_of(const Parts& z) { return apply(Hypot{}, {z.real, z.imag}); }
Parts operator/(const Parts& a, const Parts& b) {
  const Ref size = size_of(b);
  const Parts direction = conjugate(b) / size;
  return a * direction / size;
}

/// The operands of a call as parts of one dtype; which of them are real.
struct Operands {
  std::vector<Parts> parts;
  std::vector<bool> real;
  DType dtype;

  Operands(Call& call, std::initializer_list<std::string_view> names) {
    std::vector<AbstractValue> given;
    for (const auto name : names) given.push_back(call.value(name));
    dtype = real_dtype(result_type(given));
    for (const AbstractValue& d : given) {
      const auto* t = d.get<TensorPtr>();
      const Ref value = t ? call.build.read(*t) : call.build.literal(d, dtype);
      parts.push_back(parts_in(value, dtype));
      real.push_back(!is_complex(value.dtype()));
    }
  }
};

Parts self_of(Call& call) { return parts_of(call.tensor("self")); }

/// What PyTorch gives as a view and IR computes: a write to one of the two makes the other unreadable.
Results maybe_view(Call& call, const Ref& value) {
  return call.build.maybe_view(call.tensor_ptr("self"), value, std::nullopt);
}

Results real(Call& call) { return call.build.view(call.tensor_ptr("self"), Real{}); }
Results imag(Call& call) { return call.build.view(call.tensor_ptr("self"), Imag{}); }
Results abs_op(Call& call) { return size_of(self_of(call)); }
Results conj(Call& call) { return maybe_view(call, complex(conjugate(self_of(call)))); }
Results conj_physical(Call& call) { return complex(conjugate(self_of(call))); }
/// Conjugated, and the two last axes swapped.
Results adjoint(Call& call) {
  const Parts z = conjugate(self_of(call));
  return maybe_view(call, complex({transpose(z.real, -1, -2), transpose(z.imag, -1, -2)}));
}
Results same(Call& call) { return call.tensor_ptr("self"); }
Results neg(Call& call) {
  const Parts z = self_of(call);
  return complex({-z.real, -z.imag});
}
Results view_as_real(Call& call) {
  const Parts z = self_of(call);
  Shape shape = z.real.shape();
  shape.emplace_back(1);
  const std::array parts = {reshape(z.real, shape), reshape(z.imag, shape)};
  return maybe_view(call, concat(parts, static_cast<std::int64_t>(shape.size()) - 1));
}

Parts scaled(Call& call, const Parts& z) {
  const double alpha = call.number("alpha", 1);
  return alpha == 1 ? z : z * z.real.literal(alpha);
}
Results add(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[0] + scaled(call, x.parts[1]));
}
Results sub(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[0] - scaled(call, x.parts[1]));
}
Results rsub(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[1] - scaled(call, x.parts[0]));
}
Results mul(Call& call) {
  const Operands x(call, {"self", "other"});
  if (x.real[0]) return complex(x.parts[1] * x.parts[0].real);
  return complex(x.real[1] ? x.parts[0] * x.parts[1].real : x.parts[0] * x.parts[1]);
}
Results div(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.real[1] ? x.parts[0] / x.parts[1].real : x.parts[0] / x.parts[1]);
}
Results square(Call& call) {
  const Parts z = self_of(call);
  return complex(z * z);
}
Parts of_angle(const Ref& size, const Ref& angle) { return {size * cos(angle), size * sin(angle)}; }
Ref angle_of(const Parts& z) { return atan2(z.imag, z.real); }
Results sqrt_op(Call& call) {
  const Parts z = self_of(call);
  return complex(of_angle(sqrt(size_of(z)), angle_of(z) * 0.5));
}
Results log_op(Call& call) {
  const Parts z = self_of(call);
  return complex({log(size_of(z)), angle_of(z)});
}
Results sin_op(Call& call) {
  const Parts z = self_of(call);
  return complex({sin(z.real) * apply(Cosh{}, {z.imag}), cos(z.real) * apply(Sinh{}, {z.imag})});
}
Results cos_op(Call& call) {
  const Parts z = self_of(call);
  return complex({cos(z.real) * apply(Cosh{}, {z.imag}), -(sin(z.real) * apply(Sinh{}, {z.imag}))});
}
Results angle(Call& call) { return angle_of(self_of(call)); }
Results pow_op(Call& call) {
  if (call.value("exponent").is_tensor()) throw unsupported("a power of complex numbers that is a tensor");
  const double exponent = call.number("exponent");
  if (exponent == 2) return square(call);
  if (exponent == 0.5) return sqrt_op(call);
  const Parts z = self_of(call);
  return complex(of_angle(pow(size_of(z), z.real.literal(exponent)), angle_of(z) * exponent));
}
Parts one(const Parts& z) {
  return {full(z.real.shape(), 1, z.real.dtype(), z.real.insertion_point()), zeros_like(z.real)};
}
Results reciprocal_op(Call& call) {
  const Parts z = self_of(call);
  return complex(one(z) / z);
}
Results exp_op(Call& call) {
  const Parts z = self_of(call);
  const Ref size = exp(z.real);
  return complex({size * cos(z.imag), size * sin(z.imag)});
}
/// (T + i t) / (1 + i T t) with T = tanh(a) and t = tan(b), of a + i b.
Results tanh_op(Call& call) {
  const Parts z = self_of(call);
  const Ref along = apply(Tanh{}, {z.real}), across = apply(Tan{}, {z.imag});
  const Ref beside = across * across, size = along * along * beside + 1.0;
  const Ref narrowing = reciprocal(apply(Cosh{}, {z.real}));
  return complex({along * (beside + 1.0) / size, across * narrowing * narrowing / size});
}
/// 1 / (1 + exp(-z)), or exp(z) / (1 + exp(z)) where z.real < 0: neither power overflows.
Results sigmoid_op(Call& call) {
  const Parts z = self_of(call), unit = one(z);
  const Ref is_negative = z.real < z.real.literal(0.0), size = exp(-abs(z.real)), across = size * sin(z.imag);
  const Parts power{size * cos(z.imag), where(is_negative, across, -across)};
  const Parts above{where(is_negative, power.real, unit.real), where(is_negative, power.imag, unit.imag)};
  return complex(above / (unit + power));
}

/// The products along an axis: of its two halves, until one element is left.
Parts product_along(Parts z, std::int64_t axis) {
  const Dim given = z.real.shape()[static_cast<std::size_t>(axis)];
  if (!given.is_known())
    throw unsupported("the product of complex numbers along an axis of unknown size ({})", given.str())
        .hint("give that dimension of the input a number");
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return Parts{slice(z.real, axis, from, to), slice(z.imag, axis, from, to)};
  };
  for (std::int64_t size = given.value(); size > 1; size -= size / 2) {
    const std::int64_t half = size / 2;
    Parts both = part(0, half) * part(half, 2 * half);
    if (size % 2 == 1) {
      const Parts last = part(size - 1, size);
      both = {concat(std::array{both.real, last.real}, axis), concat(std::array{both.imag, last.imag}, axis)};
    }
    z = both;
  }
  if (given != Dim(0)) return z;
  Shape shape = z.real.shape();
  shape[static_cast<std::size_t>(axis)] = Dim(1);
  return {full(shape, 1, z.real.dtype(), z.real.insertion_point()),
          full(shape, 0, z.real.dtype(), z.real.insertion_point())};
}
Results prod_op(Call& call) {
  if (call.has("dtype")) throw unsupported("prod of complex numbers with a dtype");
  Parts z = self_of(call);
  const Shape shape = z.real.shape();
  const auto reshaped = [](const Parts& p, const Shape& to) {
    return complex({reshape(p.real, to), reshape(p.imag, to)});
  };
  if (!call.has("dim"))
    return reshaped(product_along({reshape(z.real, {numel(shape)}), reshape(z.imag, {numel(shape)})}, 0), {});
  if (shape.empty()) return call.ignore({"dim", "keepdim"}), Results(complex(z));
  const std::int64_t axis = call.axis("dim", shape.size());
  const Shape without = without_axis(shape, axis);
  return reshaped(product_along(z, axis), call.flag("keepdim", false) ? with_axis(without, axis) : without);
}

/// Calls f with each tensor among the arguments, in lists too.
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

/// An operator that is linear in each of its complex operands: the sum over all choices of a part of each.
Results multilinear(Call& call) {
  if (call.has("dtype")) throw unsupported("{} of complex numbers with a dtype", call.name);
  std::vector<AbstractValue> tensors;
  std::vector<Argument> arguments = call.arguments();
  for_each_tensor(arguments, [&](AbstractValue& d) { tensors.push_back(d); });
  const DType dtype = real_dtype(result_type(tensors));
  std::vector<Parts> parts;
  for (const AbstractValue& d : tensors) {
    const Ref x = call.build.read(*d.get<TensorPtr>());
    if (is_complex(x.dtype())) parts.push_back(parts_in(x, dtype));
  }
  std::array<Ref, 4> sums;  // of what counts once, i times, -1 times and -i times
  for (std::size_t choice = 0; choice < std::size_t{1} << parts.size(); ++choice) {
    std::vector<Argument> own = arguments;
    std::size_t next = 0, imaginary = 0;
    for_each_tensor(own, [&](AbstractValue& d) {
      const Ref x = call.build.read(*d.get<TensorPtr>());
      if (is_complex(x.dtype())) {
        const bool second = choice >> next & 1;
        imaginary += second;
        d = call.build.tensor(second ? parts[next].imag : parts[next].real);
        ++next;
      } else if (is_float(x.dtype())) {
        d = call.build.tensor(cast(dtype, x));
      }
    });
    const auto results = run_aten(call.build, call.name, call.overload, std::move(own));
    const Ref y = call.build.read(*results.at(0).get<TensorPtr>());
    Ref& sum = sums[imaginary % 4];
    sum = sum ? sum + y : y;
  }
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  const auto less = [](const Ref& a, const Ref& b) { return b ? a - b : a; };
  return complex({less(sums[0], sums[2]), less(sums[1], sums[3])});
}

/// An operator on the sizes of the numbers.
Results on_sizes(Call& call) {
  std::vector<Argument> own = call.arguments();
  for_each_tensor(own, [&](AbstractValue& d) {
    d = call.build.tensor(size_of(parts_of(call.build.read(*d.get<TensorPtr>()))));
  });
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  return Results::many(run_aten(call.build, call.name, call.overload, std::move(own)));
}

Results eq(Call& call) {
  const Operands x(call, {"self", "other"});
  return logical_and(equal(x.parts[0].real, x.parts[1].real), equal(x.parts[0].imag, x.parts[1].imag));
}
Results ne(Call& call) { return logical_not(eq(call).fresh.at(0)); }
Ref is_nan(const Parts& z) { return logical_or(apply(IsNan{}, {z.real}), apply(IsNan{}, {z.imag})); }
Results isclose_op(Call& call) {
  const Operands x(call, {"self", "other"});
  const Ref away = size_of(x.parts[0] - x.parts[1]);
  const Ref allowed = size_of(x.parts[1]) * call.number("rtol", 1e-5) + call.number("atol", 1e-8);
  Ref close = logical_or(eq(call).fresh.at(0), logical_and(apply(IsFinite{}, {away}), away <= allowed));
  if (call.flag("equal_nan", false))
    close = logical_or(close, logical_and(is_nan(x.parts[0]), is_nan(x.parts[1])));
  return close;
}
Results masked_fill(Call& call) {
  const Ref mask = call.tensor("mask");
  const Operands x(call, {"value", "self"});
  const auto chosen = [&](const Ref& a, const Ref& b) { return where(mask, a, b); };
  return complex({chosen(x.parts[0].real, x.parts[1].real), chosen(x.parts[0].imag, x.parts[1].imag)});
}
Results where_op(Call& call) {
  const Ref condition = call.tensor("condition");
  const Operands x(call, {"self", "other"});
  const auto chosen = [&](const Ref& a, const Ref& b) { return where(condition, a, b); };
  return complex({chosen(x.parts[0].real, x.parts[1].real), chosen(x.parts[0].imag, x.parts[1].imag)});
}

/// Tensors put together along an axis, or with `stacks` along a new one.
template <bool stacks>
Results cat_op(Call& call) {
  const auto tensors = call.tensors("tensors");
  std::vector<AbstractValue> given(tensors.begin(), tensors.end());
  const DType dtype = real_dtype(result_type(given));
  const std::size_t rank = tensors.at(0)->rank() + (stacks ? 1 : 0);
  const std::int64_t axis = call.axis("dim", rank, 0);
  std::vector<Ref> real, imag;
  for (const TensorPtr& t : tensors) {
    const Parts p = parts_in(call.build.read(t), dtype);
    const Shape shape = stacks ? with_axis(p.real.shape(), axis) : Shape(p.real.shape());
    real.push_back(reshape(p.real, shape));
    imag.push_back(reshape(p.imag, shape));
  }
  return complex({concat(real, axis), concat(imag, axis)});
}

constexpr AtenEntry complex_table[] = {
    {"cat", cat_op<false>},
    {"concat", cat_op<false>},
    {"concatenate", cat_op<false>},
    {"stack", cat_op<true>},
    {"real", real},
    {"imag", imag},
    {"abs", abs_op},
    {"angle", angle},
    {"conj", conj},
    {"_conj", conj},
    {"conj_physical", conj_physical},
    {"_conj_physical", conj_physical},
    {"resolve_conj", same},
    {"resolve_neg", same},
    {"neg", neg},
    {"view_as_real", view_as_real},
    {"add", add},
    {"sub", sub},
    {"rsub", rsub},
    {"mul", mul},
    {"div", div},
    {"square", square},
    {"pow", pow_op},
    {"reciprocal", reciprocal_op},
    {"exp", exp_op},
    {"sqrt", sqrt_op},
    {"log", log_op},
    {"sin", sin_op},
    {"cos", cos_op},
    {"tanh", tanh_op},
    {"sigmoid", sigmoid_op},
    {"prod", prod_op},
    {"isclose", isclose_op},
    {"eq", eq},
    {"ne", ne},
    {"where", where_op},
    {"masked_fill", masked_fill},
    {"adjoint", adjoint},
    {"mH", adjoint},
    {"H", adjoint},
    {"matrix_H", adjoint},
    {"sum", multilinear},
    {"mean", multilinear},
    {"cumsum", multilinear},
    {"matmul", multilinear},
    {"mm", multilinear},
    {"bmm", multilinear},
    {"mv", multilinear},
    {"dot", multilinear},
    {"outer", multilinear},
    {"ger", multilinear},
    {"inner", multilinear},
    {"einsum", multilinear},
    {"tensordot", multilinear},
    {"tril", multilinear},
    {"triu", multilinear},
    {"diagonal", multilinear},
    {"diag_embed", multilinear},
    {"repeat", multilinear},
    {"tile", multilinear},
    {"norm", on_sizes},
    {"linalg_vector_norm", on_sizes},
};

}  // namespace

DType real_dtype(DType d) { return d == DType::c128 || d == DType::f64 ? DType::f64 : DType::f32; }

Parts parts_of(const Ref& z) {
  const Node* node = z.value()->node();
  if (node && node->is<Complex>())
    return {Ref(node->input(0), z.insertion_point()), Ref(node->input(1), z.insertion_point())};
  if (node && node->is<Concat>()) return joined(z.insertion_point(), *node, node->op());
  if (node && moves_its_operand(node->op())) {
    const Parts before = parts_of(Ref(node->input(0), z.insertion_point()));
    const auto moved = [&](const Ref& part) {
      std::vector<Ref> operands = {part};
      for (std::size_t i = 1; i < node->inputs().size(); ++i)
        operands.emplace_back(node->input(i), z.insertion_point());
      return tenon::apply(node->op(), operands);
    };
    return {moved(before.real), moved(before.imag)};
  }
  return {apply(Real{}, {z}), apply(Imag{}, {z})};
}

Parts parts_in(const Ref& x, DType real) {
  if (!is_complex(x.dtype())) {
    const Ref r = cast(real, x);
    return {r, r.rank() == 0 ? r.literal(0) : zeros_like(r)};
  }
  const Parts p = parts_of(x);
  return {cast(real, p.real), cast(real, p.imag)};
}

Ref in_dtype(DType dtype, const Ref& x) {
  if (x.dtype() == dtype) return x;
  if (is_complex(dtype)) return complex(parts_in(x, real_dtype(dtype)));
  return cast(dtype, is_complex(x.dtype()) ? parts_of(x).real : x);
}

Ref complex(const Parts& p) {
  const Shape shape = broadcast(p.real.shape(), p.imag.shape());
  const auto spread = [&](const Ref& r) { return r.shape() == shape ? r : expand(r, shape); };
  return apply(Complex{}, {spread(p.real), spread(p.imag)});
}

bool has_complex_operand(const Call& call) {
  const auto is_complex_tensor = [](const AbstractValue& d) {
    const auto* t = d.get<TensorPtr>();
    return t && is_complex((*t)->dtype());
  };
  for (const Argument& a : call.arguments()) {
    if (is_complex_tensor(a.value)) return true;
    const auto* items = items_of(a.value);
    if (items && std::any_of(items->begin(), items->end(), is_complex_tensor)) return true;
  }
  return false;
}

const AtenEntry* find_complex_entry(const Call& call) {
  for (const AtenEntry& entry : complex_table)
    if (entry.name == call.name) return &entry;
  if (moves_elements(call.name)) return nullptr;
  throw unsupported("{} of complex numbers", call.name);
}

}  // namespace tenon::converter
