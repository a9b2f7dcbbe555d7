// Products and contractions of complex numbers: but for `dot`, each by one product of real matrices. Pairs of
// a right side are two columns side by side: [Re B Im B]. The parts of a left side are two matrices one below
// the other, whose products are added up behind; or, where the right side is small, A lies as it is, and i B
// stands below B.
#include <array>

#include "compose/einsum.h"
#include "compose/matrix.h"
#include "converter/aten/complex_arithmetic.h"
#include "converter/aten/promote.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

std::int64_t axis_from_end(const Ref& x, std::int64_t from_end) {
  return static_cast<std::int64_t>(x.rank()) - from_end;
}

/// The last axes of the shape, `gone` of them, replaced.
Shape with_last(const Shape& shape, std::size_t gone, std::initializer_list<Dim> last) {
  Shape out(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(gone));
  out.insert(out.end(), last);
  return out;
}

/// [.., rows, columns] of both, one below the other: [.., 2 * rows, columns].
Ref stacked(const Ref& above, const Ref& below) {
  const Dim &rows = above.shape()[above.rank() - 2], &columns = above.shape().back();
  return reshape(concat(std::array{above, below}, axis_from_end(above, 2)),
                 with_last(above.shape(), 2, {Dim(2) * rows, columns}));
}
/// Pairs as columns side by side: [.., rows, 2 * columns].
Ref as_columns(const Parts& z) {
  return reshape(pairs(z), with_last(z.real.shape(), 1, {Dim(2) * z.real.shape().back()}));
}
Parts of_columns(const Ref& x) {
  return of_pairs(reshape(x, with_last(x.shape(), 1, {floor_div(x.shape().back(), Dim(2)), Dim(2)})));
}
std::array<Ref, 2> halves(const Ref& x) {
  const std::int64_t axis = axis_from_end(x, 2);
  const Dim &both = x.shape()[x.rank() - 2], rows = floor_div(both, Dim(2));
  return {slice(x, axis, Dim(0), rows), slice(x, axis, rows, both)};
}

bool is_weight(const Ref& x) {
  const Value* v = x.value();
  while (v->node() && v->node()->inputs().size() == 1) v = v->node()->input(0);
  return v->is_constant();
}
/// Does it move less to write i B below B than to take A apart and to add up what is twice the result?
bool is_right_side_small(const Parts& a, const Parts& b) {
  const Dim &m = a.real.shape()[a.real.rank() - 2], &k = a.real.shape().back(), &n = b.real.shape().back();
  return !is_weight(b.real) && known_less(Dim(24) * n * k, m * (Dim(8) * n + Dim(6) * k)).value_or(false);
}

Parts product_of_matrices(const Parts& a, const Parts& b) {
  if (is_right_side_small(a, b)) {
    const Parts turned{-b.imag, b.real};
    const Shape shape = with_last(b.real.shape(), 1, {Dim(1), Dim(2) * b.real.shape().back()});
    const Ref both = concat(std::array{reshape(as_columns(b), shape), reshape(as_columns(turned), shape)},
                            static_cast<std::int64_t>(shape.size()) - 2);
    const Shape wide = with_last(shape, 3, {Dim(2) * shape[shape.size() - 3], shape.back()});
    return of_columns(matmul(as_columns(a), reshape(both, wide)));
  }
  const auto [real, imag] = halves(matmul(stacked(a.real, a.imag), as_columns(b)));
  const Parts by_real = of_columns(real), by_imag = of_columns(imag);
  return {by_real.real - by_imag.imag, by_real.imag + by_imag.real};
}

/// The same of matrices one of which may be real.
Ref product_of(const Ref& a, const Ref& b) {
  if (!is_complex(a.dtype())) return complex(of_columns(matmul(a, as_columns(parts_of(b)))));
  const Parts x = parts_of(a);
  if (is_complex(b.dtype())) return complex(product_of_matrices(x, parts_of(b)));
  const auto [real, imag] = halves(matmul(stacked(x.real, x.imag), b));
  return complex({real, imag});
}
Ref times(const Ref& a, const Ref& b) {
  if (!is_complex(a.dtype())) return complex(parts_of(b) * a);
  return complex(is_complex(b.dtype()) ? parts_of(a) * parts_of(b) : parts_of(a) * b);
}
Ref sum_of(const Ref& x, const Axes& axes) {
  if (!is_complex(x.dtype())) return sum(x, axes);
  const Parts z = parts_of(x);
  return complex({sum(z.real, axes), sum(z.imag, axes)});
}
constexpr Contraction contraction{product_of, times, sum_of};

/// The tensors of a call, real or complex numbers of the dtype that they have together.
std::vector<Ref> operands(Call& call) {
  std::vector<Argument> given = taken_arguments(call);
  const DType part = part_dtype(given);
  std::vector<Ref> out;
  for_each_tensor(given, [&](const AbstractValue& d) {
    const Ref x = call.build.read(*d.get<TensorPtr>());
    out.push_back(is_complex(x.dtype()) ? complex(parts_in(x, part)) : cast(part, x));
  });
  return out;
}

Results matmul_op(Call& call) {
  const std::vector<Ref> x = operands(call);
  return product(x.at(0), x.at(1), product_of);
}
Results dot(Call& call) {
  const std::vector<Ref> x = operands(call);
  return sum_of(times(x.at(0), x.at(1)), {0});
}
Results einsum_op(Call& call) { return einsum(call.word("equation", ""), operands(call), contraction); }
Results tensordot(Call& call) {
  const auto of_a = call.integers("dims_self"), of_b = call.integers("dims_other");
  const std::vector<Ref> x = operands(call);
  return einsum(tensordot_equation(x.at(0).rank(), x.at(1).rank(), of_a, of_b), x, contraction);
}

constexpr AtenEntry product_table[] = {
    {"matmul", matmul_op}, {"mm", matmul_op},     {"bmm", matmul_op},       {"mv", matmul_op},
    {"dot", dot},          {"einsum", einsum_op}, {"tensordot", tensordot},
};

}  // namespace

ComplexEntries complex_products() { return product_table; }

}  // namespace tenon::converter
