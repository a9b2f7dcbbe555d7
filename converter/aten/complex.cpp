// Arithmetic of complex tensors, on their parts.
#include "ir/ops/complex.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "converter/aten/complex_arithmetic.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "ir/axis.h"
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

// Each write to a part of a tensor makes a concat of what it was: beyond so many of them its parts are taken
// as they are.
constexpr int most_nodes_back = 8;
Parts parts_back(const Ref& z, int nodes_back);

Parts parts_of_concat(const Ref& z, const Node& concat, int nodes_back) {
  std::vector<Ref> real, imag;
  for (Value* input : concat.inputs()) {
    const Parts p = parts_back(Ref(input, z.insertion_point()), nodes_back + 1);
    real.push_back(p.real);
    imag.push_back(p.imag);
  }
  return {tenon::apply(concat.op(), real), tenon::apply(concat.op(), imag)};
}

Parts parts_back(const Ref& z, int nodes_back) {
  const Node* node = z.value()->node();
  if (node && node->is<Complex>())
    return {Ref(node->input(0), z.insertion_point()), Ref(node->input(1), z.insertion_point())};
  if (node && nodes_back < most_nodes_back) {
    if (node->is<Concat>()) return parts_of_concat(z, *node, nodes_back);
    if (moves_its_operand(node->op())) {
      const Parts before = parts_back(Ref(node->input(0), z.insertion_point()), nodes_back + 1);
      const auto moved = [&](const Ref& part) {
        std::vector<Ref> operands = {part};
        for (std::size_t i = 1; i < node->inputs().size(); ++i)
          operands.emplace_back(node->input(i), z.insertion_point());
        return tenon::apply(node->op(), operands);
      };
      return {moved(before.real), moved(before.imag)};
    }
  }
  return {apply(Real{}, {z}), apply(Imag{}, {z})};
}

/// What PyTorch gives as a view and IR computes: a write to one of the two makes the other unreadable.
Results maybe_view(Call& call, const Ref& value) {
  return call.build.maybe_view(call.tensor_ptr("self"), value, std::nullopt);
}

Results real(Call& call) { return call.build.view(call.tensor_ptr("self"), Real{}); }
Results imag(Call& call) { return call.build.view(call.tensor_ptr("self"), Imag{}); }
Results abs_op(Call& call) { return modulus(self_of(call)); }
Results conj(Call& call) { return maybe_view(call, complex(conjugate(self_of(call)))); }
Results conj_physical(Call& call) { return complex(conjugate(self_of(call))); }
/// Conjugated, and the two last axes swapped.
Results adjoint(Call& call) {
  const Parts z = conjugate(self_of(call));
  return maybe_view(call, complex({transpose(z.real, -1, -2), transpose(z.imag, -1, -2)}));
}
Results same(Call& call) { return call.tensor_ptr("self"); }
Results view_as_real(Call& call) {
  const Parts z = self_of(call);
  Shape shape = z.real.shape();
  shape.emplace_back(1);
  const std::array parts = {reshape(z.real, shape), reshape(z.imag, shape)};
  return maybe_view(call, concat(parts, static_cast<std::int64_t>(shape.size()) - 1));
}

Parts times_alpha(Call& call, const Parts& z) {
  const double alpha = call.number("alpha", 1);
  return alpha == 1 ? z : z * z.real.literal(alpha);
}
Results add(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[0] + times_alpha(call, x.parts[1]));
}
Results sub(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[0] - times_alpha(call, x.parts[1]));
}
Results rsub(Call& call) {
  const Operands x(call, {"self", "other"});
  return complex(x.parts[1] - times_alpha(call, x.parts[0]));
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

/// An operator that is linear in each of its complex operands: the sum over all choices of a part of each.
Results multilinear(Call& call) {
  const auto dtype_of_result = call.dtype("dtype");
  if (dtype_of_result && !is_complex(*dtype_of_result))
    throw unsupported("{} of complex numbers with a real dtype", call.name);
  std::vector<Argument> arguments = taken_arguments(call);
  std::erase_if(arguments, [](const Argument& a) { return a.name == "dtype"; });
  const DType dtype = dtype_of_result ? real_dtype(*dtype_of_result) : part_dtype(arguments);
  std::vector<Parts> parts;
  for_each_tensor(arguments, [&](const AbstractValue& d) {
    const Ref x = call.build.read(*d.get<TensorPtr>());
    if (is_complex(x.dtype())) parts.push_back(parts_in(x, dtype));
  });
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
    const Ref y = first_of(call, run_again(call, std::move(own)));
    Ref& sum = sums[imaginary % 4];
    sum = sum ? sum + y : y;
  }
  const auto less = [](const Ref& a, const Ref& b) { return b ? a - b : a; };
  return complex({less(sums[0], sums[2]), less(sums[1], sums[3])});
}

/// An operator on the sizes of the numbers.
Results on_sizes(Call& call) {
  const auto dtype = call.dtype("dtype");
  std::vector<Argument> own = taken_arguments(call);
  if (dtype && is_complex(*dtype)) std::erase_if(own, [](const Argument& a) { return a.name == "dtype"; });
  const DType part = dtype && is_complex(*dtype) ? real_dtype(*dtype) : part_dtype(own);
  for_each_tensor(own, [&](AbstractValue& d) {
    d = call.build.tensor(modulus(parts_in(call.build.read(*d.get<TensorPtr>()), part)));
  });
  return Results::many(run_again(call, std::move(own)));
}

/// Of vectors, or a norm of matrices that sizes decide.
Results linalg_norm(Call& call) {
  const bool has_order = call.has("ord"),
             is_matrix = call.has("dim") ? call.integers("dim").size() == 2 : call.tensor("self").rank() == 2;
  const AbstractValue order = has_order ? call.value("ord") : AbstractValue();
  const auto number = known_real(order);
  const bool is_spectral = number ? std::abs(*number) == 2 : has_order && call.word("ord", "") != "fro";
  if (is_matrix && is_spectral) throw unsupported("a spectral norm of complex numbers");
  return on_sizes(call);
}

Results eq(Call& call) {
  const Operands x(call, {"self", "other"});
  return logical_and(equal(x.parts[0].real, x.parts[1].real), equal(x.parts[0].imag, x.parts[1].imag));
}
Results ne(Call& call) { return logical_not(eq(call).fresh.at(0)); }
Ref is_nan(const Parts& z) { return logical_or(apply(IsNan{}, {z.real}), apply(IsNan{}, {z.imag})); }
Results isclose_op(Call& call) {
  const Operands x(call, {"self", "other"});
  const Ref away = modulus(x.parts[0] - x.parts[1]);
  const Ref allowed = modulus(x.parts[1]) * call.number("rtol", 1e-5) + call.number("atol", 1e-8);
  Ref close = logical_or(eq(call).fresh.at(0), logical_and(apply(IsFinite{}, {away}), away <= allowed));
  if (call.flag("equal_nan", false))
    close = logical_or(close, logical_and(is_nan(x.parts[0]), is_nan(x.parts[1])));
  return close;
}
Results masked_fill(Call& call) {
  const Ref mask = call.tensor("mask");
  const Operands x(call, {"value", "self"});
  const auto chosen = [&](const Ref& a, const Ref& b) { return where(mask, a, b); };
  const Ref result =
      complex({chosen(x.parts[0].real, x.parts[1].real), chosen(x.parts[0].imag, x.parts[1].imag)});
  return in_dtype(call.tensor("self").dtype(), result);
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
    {"conj", conj},
    {"_conj", conj},
    {"conj_physical", conj_physical},
    {"_conj_physical", conj_physical},
    {"resolve_conj", same},
    {"resolve_neg", same},
    {"view_as_real", view_as_real},
    {"add", add},
    {"sub", sub},
    {"rsub", rsub},
    {"mul", mul},
    {"div", div},
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
    {"outer", multilinear},
    {"ger", multilinear},
    {"inner", multilinear},
    {"kron", multilinear},
    {"trapz", multilinear},
    {"trapezoid", multilinear},
    {"cumulative_trapezoid", multilinear},
    {"cross", multilinear},
    {"linalg_cross", multilinear},
    {"linalg_multi_dot", multilinear},
    {"chain_matmul", multilinear},
    {"tril", multilinear},
    {"triu", multilinear},
    {"diag_embed", multilinear},
    {"repeat", multilinear},
    {"tile", multilinear},
    {"norm", on_sizes},
    {"linalg_vector_norm", on_sizes},
    {"linalg_norm", linalg_norm},
};

}  // namespace

DType real_dtype(DType d) { return d == DType::c128 || d == DType::f64 ? DType::f64 : DType::f32; }

Parts parts_of(const Ref& z) { return parts_back(z, 0); }

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
  if (is_bool(dtype) && is_complex(x.dtype())) {
    const Parts z = parts_of(x);
    return logical_or(cast(dtype, z.real), cast(dtype, z.imag));
  }
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
  for (const ComplexEntries table : {ComplexEntries(complex_table), complex_functions(), complex_movements(),
                                     complex_matrices(), complex_products()})
    for (const AtenEntry& entry : table)
      if (entry.name == call.name) return &entry;
  if (moves_elements(call.name)) return nullptr;
  throw unsupported("{} of complex numbers", call.name);
}

}  // namespace tenon::converter
