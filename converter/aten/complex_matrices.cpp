// Products of complex matrices that are added to something, and what a real matrix says of a complex one:
// A + i B as [[A, -B], [B, A]] has products, inverses and powers of the same form, and each singular value
// twice.
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "converter/aten/complex_arithmetic.h"
#include "converter/aten/promote.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

AbstractValue tensor(Call& call, const Ref& x) { return AbstractValue(call.build.tensor(x)); }

/// beta * added + alpha * product; factors that the call does not have are 1.
Results sum_with(Call& call, const AbstractValue& added, const Ref& product, std::string_view beta,
                 std::string_view alpha) {
  const auto multiplied = [&](const AbstractValue& x, std::string_view factor) {
    if (factor.empty() || !call.has(factor)) return x;
    const AbstractValue& by = call.value(factor);
    const auto number = known_real(by);
    if (number == 1) return x;
    if (number == 0) return run_aten(call.build, "zeros_like", "", {{"self", x}}).at(0);
    return run_aten(call.build, "mul", by.is_tensor() ? "Tensor" : "Scalar", {{"self", x}, {"other", by}})
        .at(0);
  };
  return first_of(call, run_aten(call.build, "add", "Tensor",
                                 {{"self", multiplied(added, beta)},
                                  {"other", multiplied(tensor(call, product), alpha)}}));
}

struct Product {
  std::string_view name, a, b;     // the operator, and how addmm and its kin call its operands
  std::string_view first, second;  // how the operator calls them
};
Ref product_of(Call& call, const Product& p) {
  return first_of(
      call, run_aten(call.build, p.name, "",
                     {{std::string(p.first), call.value(p.a)}, {std::string(p.second), call.value(p.b)}}));
}
Results addmm(Call& call) {
  return sum_with(call, call.value("self"), product_of(call, {"mm", "mat1", "mat2", "self", "mat2"}), "beta",
                  "alpha");
}
Results addmv(Call& call) {
  return sum_with(call, call.value("self"), product_of(call, {"mv", "mat", "vec", "self", "vec"}), "beta",
                  "alpha");
}
Results addr(Call& call) {
  return sum_with(call, call.value("self"), product_of(call, {"outer", "vec1", "vec2", "self", "vec2"}),
                  "beta", "alpha");
}
Results baddbmm(Call& call) {
  return sum_with(call, call.value("self"), product_of(call, {"bmm", "batch1", "batch2", "self", "mat2"}),
                  "beta", "alpha");
}
Results addbmm(Call& call) {
  const Ref each = product_of(call, {"bmm", "batch1", "batch2", "self", "mat2"});
  const Parts z = parts_of(each);
  return sum_with(call, call.value("self"), complex({sum(z.real, {0}), sum(z.imag, {0})}), "beta", "alpha");
}
template <bool divides>
Results addc(Call& call) {
  const auto product = run_aten(call.build, divides ? "div" : "mul", "Tensor",
                                {{"self", call.value("tensor1")}, {"other", call.value("tensor2")}});
  return sum_with(call, call.value("self"), first_of(call, product), "", "value");
}
Results linear(Call& call) {
  const AbstractValue weight = run_aten(call.build, "mT", "", {{"self", call.value("weight")}}).at(0);
  const Ref product =
      first_of(call, run_aten(call.build, "matmul", "", {{"self", call.value("input")}, {"other", weight}}));
  return call.has("bias") ? sum_with(call, call.value("bias"), product, "", "") : Results(product);
}

/// The conjugate of the first operand by the second one, along an axis.
Results vdot(Call& call) {
  const Parts x = conjugate(parts_of(call.tensor(call.find("x") ? "x" : "self")));
  const Operands y(call, {call.find("x") ? "y" : "other"});
  const Parts product = x * y.parts[0];
  const std::int64_t axis = call.axis("dim", product.real.rank(), -1);
  return complex({sum(product.real, {axis}), sum(product.imag, {axis})});
}

Ref embedded(const Parts& z) {
  const auto rank = static_cast<std::int64_t>(z.real.rank());
  const auto row = [&](const Ref& a, const Ref& b) { return concat(std::array{a, b}, rank - 1); };
  return concat(std::array{row(z.real, -z.imag), row(z.imag, z.real)}, rank - 2);
}
/// The left half, upper and lower, of an embedded matrix.
Parts parts_of_embedded(const Ref& m) {
  const auto rank = static_cast<std::int64_t>(m.rank());
  const Dim rows = floor_div(m.shape()[m.rank() - 2], Dim(2)), columns = floor_div(m.shape().back(), Dim(2));
  const Ref left = slice(m, rank - 1, Dim(0), columns);
  return {slice(left, rank - 2, Dim(0), rows), slice(left, rank - 2, rows, m.shape()[m.rank() - 2])};
}
std::string_view matrix_argument(Call& call) {
  for (const std::string_view name : {"A", "input"})
    if (call.find(name)) return name;
  return "self";
}
/// The Hermitian matrix that a triangle stands for.
Parts hermitian(Call& call, const Parts& z, bool is_upper) {
  const auto triangle = [&](const Ref& x, bool with_diagonal) {
    const Dim from(with_diagonal ? 0 : is_upper ? 1 : -1);
    return first_of(call, run_aten(call.build, is_upper ? "triu" : "tril", "",
                                   {{"self", tensor(call, x)}, {"diagonal", AbstractValue(from)}}));
  };
  const Ref above = triangle(z.real, false), beside = triangle(z.imag, false);
  return {triangle(z.real, true) + transpose(above, -1, -2), beside - transpose(beside, -1, -2)};
}
/// The tolerance that PyTorch takes of the size of a matrix, where the call gives none: the embedded one is
/// twice as large.
std::optional<double> tolerance_of_size(Call& call, const Ref& matrix) {
  if (call.name != "linalg_pinv" && call.name != "linalg_matrix_rank") return std::nullopt;
  for (const std::string_view given : {"atol", "rtol", "tol", "rcond"})
    if (call.has(given)) return std::nullopt;
  const Dim &rows = matrix.shape()[matrix.rank() - 2], &columns = matrix.shape().back();
  if (!rows.is_known() || !columns.is_known())
    throw unsupported("{} of complex matrices of open sizes without a tolerance", call.name);
  const double unit = matrix.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
  return unit * static_cast<double>(std::max(rows.value(), columns.value()));
}
/// The operator on the embedded matrix.
std::vector<AbstractValue> run_embedded(Call& call) {
  const std::string_view name = matrix_argument(call);
  Parts parts = parts_of(call.tensor(name));
  if (call.name == "linalg_eigvalsh" || call.flag("hermitian", false)) {
    const std::string triangle = call.word("UPLO", "L");
    parts = hermitian(call, parts, triangle == "U" || triangle == "u");
  }
  const AbstractValue matrix = tensor(call, embedded(parts));
  const auto tolerance = tolerance_of_size(call, parts.real);
  const bool is_hermitian = call.flag("hermitian", false);
  std::vector<Argument> own = taken_arguments(call);
  if (tolerance)
    return run_aten(
        call.build, call.name, "atol_rtol_float",
        {{"self", matrix}, {"rtol", AbstractValue(*tolerance)}, {"hermitian", AbstractValue(is_hermitian)}});
  for (Argument& a : own)
    if (a.name == name) a.value = matrix;
  return run_again(call, std::move(own));
}

Results of_matrix(Call& call) {
  std::vector<AbstractValue> results = run_embedded(call);
  results[0] = tensor(call, complex(parts_of_embedded(first_of(call, results))));
  return Results::many(std::move(results));
}
/// Values in order, each of which comes twice.
Results every_second(Call& call) {
  const Ref twice = first_of(call, run_embedded(call));
  return slice(twice, static_cast<std::int64_t>(twice.rank()) - 1, Dim(0), twice.shape().back(), 2);
}
Results rank_op(Call& call) {
  const Ref twice = first_of(call, run_embedded(call));
  return apply(FloorDiv{}, {twice, twice.literal(2)});
}
/// [[A, -B], [B, A]] [x; y] = [b; c] for (A + i B) (x + i y) = b + i c.
Results solve(Call& call) {
  if (!call.flag("left", true)) throw unsupported("{} of complex numbers from the right", call.name);
  const std::string_view name = matrix_argument(call), other = call.find("B") ? "B" : "other";
  const Ref a = call.tensor(name), b = call.tensor(other);
  const bool is_vector = b.rank() == 1 || (b.rank() + 1 == a.rank() &&
                                           std::equal(b.shape().begin(), b.shape().end(), a.shape().begin()));
  const Operands x(call, {name, other});
  const auto axis = static_cast<std::int64_t>(b.rank()) - (is_vector ? 1 : 2);
  std::vector<Argument> own = taken_arguments(call);
  for (Argument& argument : own) {
    if (argument.name == name) argument.value = tensor(call, embedded(x.parts[0]));
    if (argument.name == other)
      argument.value = tensor(call, concat(std::array{x.parts[1].real, x.parts[1].imag}, axis));
  }
  std::vector<AbstractValue> results = run_again(call, std::move(own));
  const Ref both = first_of(call, results);
  const auto along = static_cast<std::int64_t>(both.rank()) - (is_vector ? 1 : 2);
  const Dim rows = a.shape().back(), all = both.shape()[static_cast<std::size_t>(along)];
  results[0] = tensor(call, complex({slice(both, along, Dim(0), rows), slice(both, along, rows, all)}));
  return Results::many(std::move(results));
}

constexpr AtenEntry matrix_table[] = {
    {"addmm", addmm},
    {"addmv", addmv},
    {"addr", addr},
    {"addbmm", addbmm},
    {"baddbmm", baddbmm},
    {"addcmul", addc<false>},
    {"addcdiv", addc<true>},
    {"linear", linear},
    {"vdot", vdot},
    {"linalg_vecdot", vdot},
    {"inverse", of_matrix},
    {"linalg_inv", of_matrix},
    {"linalg_inv_ex", of_matrix},
    {"linalg_pinv", of_matrix},
    {"pinverse", of_matrix},
    {"matrix_exp", of_matrix},
    {"linalg_matrix_exp", of_matrix},
    {"matrix_power", of_matrix},
    {"linalg_matrix_power", of_matrix},
    {"linalg_svdvals", every_second},
    {"linalg_eigvalsh", every_second},
    {"linalg_matrix_rank", rank_op},
    {"linalg_solve", solve},
    {"linalg_solve_ex", solve},
};

}  // namespace

ComplexEntries complex_matrices() { return matrix_table; }

}  // namespace tenon::converter
