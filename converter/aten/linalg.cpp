// Linear algebra beyond products: systems of equations, inverses, determinants, factorisations.
#include "ir/ops/linalg.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compose/matrix.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/sort.h"

namespace tenon::converter {

namespace {

Ref matrix_of(Call& call) { return call.tensor(call.find("A") ? "A" : "self"); }
Ref transposed(const Ref& x) { return transpose(x, -1, -2); }
Shape batch_of(const Ref& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }

Ref with_batch(const Ref& x, const Shape& batch) {
  Shape shape = batch;
  shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
  return expand(x, shape);
}

template <class Op>
Ref solved(const Op& op, const Ref& a, const Ref& b) {
  const Shape batch = broadcast(batch_of(a), batch_of(b));
  return apply(op, {with_batch(a, batch), with_batch(b, batch)});
}

/// Info of the `_ex` operators: 0, since what they would report is an Error here.
Ref no_complaint(const Ref& x) { return full(batch_of(x), 0, DType::i32, x.insertion_point()); }

Results inverse_op(Call& call) { return inverse(matrix_of(call)); }
Results inverse_ex(Call& call) {
  call.ignore({"check_errors"});
  const Ref a = matrix_of(call);
  return std::vector{inverse(a), no_complaint(a)};
}

/// A X = B, or X A = B when not `left`. B may be a vector, or a batch of them with A's leading axes.
Ref solve_of(Call& call) {
  const Ref a = call.tensor("A"), b = call.tensor("B");
  const bool left = call.flag("left", true);
  const bool vectors = b.rank() == 1 || (a.rank() == b.rank() + 1 &&
                                         b.shape() == Shape(a.shape().begin(), a.shape().end() - 1));
  if (vectors) {
    Shape column = b.shape();
    column.push_back(Dim(1));
    const Ref x = solved(Solve{}, a, reshape(b, column));
    return reshape(x, Shape(x.shape().begin(), x.shape().end() - 1));
  }
  return left ? solved(Solve{}, a, b) : transposed(solved(Solve{}, transposed(a), transposed(b)));
}
Results solve(Call& call) { return solve_of(call); }
Results solve_ex(Call& call) {
  call.ignore({"check_errors"});
  return std::vector{solve_of(call), no_complaint(call.tensor("A"))};
}

Results solve_triangular(Call& call) {
  const Ref a = call.tensor("self"), b = call.tensor("B");
  const bool upper = call.flag("upper", false);
  TriangularSolve op{.upper = upper, .unit = call.flag("unitriangular", false)};
  if (call.flag("left", true)) return solved(op, a, b);
  op.upper = !upper;
  return transposed(solved(op, transposed(a), transposed(b)));
}

/// The older form: (X, A).
Results triangular_solve(Call& call) {
  const Ref b = call.tensor("self"), a = call.tensor("A");
  const bool flips = call.flag("transpose", false);
  const TriangularSolve op{.upper = call.flag("upper", true) != flips,
                           .unit = call.flag("unitriangular", false)};
  const Shape batch = broadcast(batch_of(a), batch_of(b));
  return std::vector{solved(op, flips ? transposed(a) : a, b), with_batch(a, batch)};
}

Ref factor_of(Call& call, const Ref& a) {
  const bool upper = call.flag("upper", false);
  const Ref l = apply(Cholesky{}, {upper ? transposed(a) : a});
  return upper ? transposed(l) : l;
}
Results cholesky(Call& call) { return factor_of(call, matrix_of(call)); }
Results cholesky_ex(Call& call) {
  call.ignore({"check_errors"});
  const Ref a = matrix_of(call);
  return std::vector{factor_of(call, a), no_complaint(a)};
}

/// A X = B from the factor of A.
Ref solved_by_factor(Call& call, const Ref& factor, const Ref& b) {
  const Ref l = call.flag("upper", false) ? transposed(factor) : factor;
  const Ref y = solved(TriangularSolve{}, l, b);
  return solved(TriangularSolve{.upper = true}, transposed(l), y);
}
Results cholesky_solve(Call& call) {
  return solved_by_factor(call, call.tensor("input2"), call.tensor("self"));
}
Results cholesky_inverse(Call& call) {
  const Ref l = call.tensor("self");
  return solved_by_factor(call, l, identity_like(l));
}

Results det(Call& call) { return determinant(matrix_of(call)); }
Results slogdet(Call& call) {
  const auto all = apply_all(Determinant{}, std::array{matrix_of(call)});
  return std::vector{all[1], all[2]};
}
Results logdet(Call& call) {
  const auto all = apply_all(Determinant{}, std::array{matrix_of(call)});
  return where(all[1] < all[1].literal(0), all[1].literal(std::numeric_limits<double>::quiet_NaN()), all[2]);
}

Results qr_of(const Ref& a, const std::string& mode) {
  auto qr = apply_all(Qr{.complete = mode == "complete"}, std::array{a});
  if (mode == "r") qr[0] = full({Dim(0)}, 0, a.dtype(), a.insertion_point());
  return qr;
}
Results linalg_qr(Call& call) { return qr_of(call.tensor("A"), call.word("mode", "reduced")); }
Results qr(Call& call) {
  return qr_of(call.tensor("self"), call.flag("some", true) ? "reduced" : "complete");
}

Results matrix_power(Call& call) {
  Ref base = call.tensor("self");
  std::int64_t n = call.integer("n");
  if (n < 0) base = inverse(base);
  Ref y;
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2 == 1) y = y ? matmul(y, base) : base;
    if (n > 1) base = matmul(base, base);
  }
  return y ? y : identity_like(base);
}

/// The product of matrices; vectors may stand at the ends.
Results multi_dot(Call& call) {
  std::vector<Ref> x;
  for (const TensorPtr& t : call.tensors("tensors")) x.push_back(call.build.read(t));
  if (x.size() < 2) throw error("multi_dot of {} tensors", x.size());
  const bool row = x.front().rank() == 1, column = x.back().rank() == 1;
  if (row) x.front() = reshape(x.front(), {Dim(1), x.front().shape()[0]});
  if (column) x.back() = reshape(x.back(), {x.back().shape()[0], Dim(1)});
  Ref y = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) y = matmul(y, x[i]);
  Shape shape;
  if (!row) shape.push_back(y.shape()[0]);
  if (!column) shape.push_back(y.shape()[1]);
  return reshape(y, shape);
}

Ref rows_along(const Ref& b, const Ref& rows) {
  Shape column = rows.shape();
  column.push_back(Dim(1));
  return gather(b, static_cast<std::int64_t>(b.rank()) - 2, expand(reshape(rows, column), b.shape()));
}

Ref row_numbers(const Dim& rows, const Ref& like) {
  return reshape(iota(rows, like.insertion_point()), {rows, Dim(1)});
}

void check_pivoted(Call& call) {
  if (!call.flag("pivot", true)) throw unsupported("LU without pivoting");
}
std::vector<Ref> factored(Call& call, const Ref& a) {
  check_pivoted(call);
  call.ignore({"check_errors"});
  return apply_all(Lu{}, std::array{a});
}
Results lu_factor(Call& call) { return factored(call, call.tensor("A")); }
Results lu_factor_ex(Call& call) {
  const Ref a = matrix_of(call);
  auto results = factored(call, a);
  results.push_back(no_complaint(a));
  return results;
}

Ref permutation_of(const Ref& packed, const Ref& pivots) {
  const Dim rows = packed.shape()[packed.rank() - 2];
  const Ref places = apply(PivotRows{.rows = rows}, {pivots});
  Shape row = batch_of(packed);
  row.push_back(Dim(1));
  row.push_back(rows);
  return cast(packed.dtype(), equal(reshape(places, row), row_numbers(rows, packed)));
}
std::vector<Ref> unpacked(const Ref& packed) {
  const Dim rows = packed.shape()[packed.rank() - 2], columns = packed.shape().back();
  const Dim inner = min(rows, columns);
  const auto row_axis = static_cast<std::int64_t>(packed.rank()) - 2;
  const Ref left = slice(packed, row_axis + 1, Dim(0), inner), right = slice(packed, row_axis, Dim(0), inner);
  const Ref i = row_numbers(rows, packed), j = iota(inner, packed.insertion_point());
  const Ref unit = cast(packed.dtype(), equal(i, j));
  return {where(j < i, left, unit),
          where(row_numbers(inner, packed) <= iota(columns, packed.insertion_point()), right, 0)};
}
Results lu(Call& call) {
  const auto packed = factored(call, call.tensor("A"));
  const auto parts = unpacked(packed[0]);
  return std::vector{permutation_of(packed[0], packed[1]), parts[0], parts[1]};
}
Results lu_unpack(Call& call) {
  const Ref packed = call.tensor("LU_data"),
            none = full({Dim(0)}, 0, packed.dtype(), packed.insertion_point());
  std::vector<Ref> results = {none, none, none};
  const Ref pivots = call.tensor("LU_pivots");
  if (call.flag("unpack_pivots", true)) results[0] = permutation_of(packed, pivots);
  if (!call.flag("unpack_data", true)) return results;
  const auto parts = unpacked(packed);
  return std::vector{results[0], parts[0], parts[1]};
}

/// A X = B from the factors of A = P L U, or A^T X = B when `transposes`.
Ref solved_by_lu(const Ref& lu, const Ref& pivots, const Ref& b, bool transposes) {
  const Shape batch = broadcast(batch_of(lu), batch_of(b));
  const Ref packed = with_batch(lu, batch), right = with_batch(b, batch);
  Shape lists = batch;
  lists.push_back(pivots.shape().back());
  const Ref rows = apply(PivotRows{.rows = lu.shape().back()}, {expand(pivots, lists)});
  const TriangularSolve lower{.unit = true}, upper{.upper = true};
  if (!transposes) return apply(upper, {packed, apply(lower, {packed, rows_along(right, rows)})});
  const TriangularSolve first{.upper = false}, second{.upper = true, .unit = true};
  const Ref y = apply(second, {transposed(packed), apply(first, {transposed(packed), right})});
  const auto last = static_cast<std::int64_t>(rows.rank()) - 1;
  return rows_along(y, apply_all(Sort{.axis = last}, std::array{rows})[1]);
}
Results linalg_lu_solve(Call& call) {
  const Ref lu = call.tensor("LU"), pivots = call.tensor("pivots"), b = call.tensor("B");
  const bool adjoint = call.flag("adjoint", false);
  if (call.flag("left", true)) return solved_by_lu(lu, pivots, b, adjoint);
  return transposed(solved_by_lu(lu, pivots, transposed(b), !adjoint));
}
Results lu_solve(Call& call) {
  return solved_by_lu(call.tensor("LU_data"), call.tensor("LU_pivots"), call.tensor("self"), false);
}

/// Of real matrices, hermitian ones are the symmetric ones.
Results ldl_factor(Call& call) {
  call.ignore({"hermitian"});
  return apply_all(LdlFactor{}, std::array{call.tensor("self")});
}
Results ldl_factor_ex(Call& call) {
  call.ignore({"check_errors"});
  auto results = ldl_factor(call).fresh;
  results.push_back(no_complaint(results[0]));
  return results;
}
Results ldl_solve(Call& call) {
  call.ignore({"hermitian"});
  const Ref factor = call.tensor("LD"), pivots = call.tensor("pivots"), b = call.tensor("B");
  const Shape batch = broadcast(batch_of(factor), batch_of(b));
  Shape lists = batch;
  lists.push_back(pivots.shape().back());
  return apply(LdlSolve{}, {with_batch(factor, batch), expand(pivots, lists), with_batch(b, batch)});
}

Results geqrf(Call& call) { return apply_all(Reflections{}, std::array{call.tensor("self")}); }
Results householder_product(Call& call) {
  return apply(ReflectionProduct{}, {call.tensor("input"), call.tensor("tau")});
}
/// The product of reflections times a matrix, or the other way round.
Results ormqr(Call& call) {
  Ref q = apply(ReflectionProduct{.complete = true}, {call.tensor("self"), call.tensor("input2")});
  if (call.flag("transpose", false)) q = transposed(q);
  const Ref other = call.tensor("input3");
  return call.flag("left", true) ? matmul(q, other) : matmul(other, q);
}

Results tensorinv(Call& call) {
  const Ref a = call.tensor("self");
  const auto split = static_cast<std::ptrdiff_t>(call.integer("ind", 2));
  if (split < 1 || split >= static_cast<std::ptrdiff_t>(a.rank()))
    throw error("tensorinv with ind={}", split);
  const Shape front(a.shape().begin(), a.shape().begin() + split),
      back(a.shape().begin() + split, a.shape().end());
  Shape shape = back;
  shape.insert(shape.end(), front.begin(), front.end());
  return reshape(inverse(reshape(a, {numel(front), numel(back)})), shape);
}
Results tensorsolve(Call& call) {
  Ref a = call.tensor("self");
  const Ref b = call.tensor("other");
  if (call.has("dims")) {
    auto moved = call.integers("dims");
    for (auto& d : moved) d = normalize_axis(d, a.rank());
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.rank()); ++i)
      if (std::find(moved.begin(), moved.end(), i) == moved.end()) order.push_back(i);
    order.insert(order.end(), moved.begin(), moved.end());
    a = permute(a, order);
  }
  if (b.rank() > a.rank()) throw error("tensorsolve of {} and {}", a.type().str(), b.type().str());
  const Shape shape(a.shape().begin() + static_cast<std::ptrdiff_t>(b.rank()), a.shape().end());
  const Dim size = numel(b.shape());
  return reshape(apply(Solve{}, {reshape(a, {size, numel(shape)}), reshape(b, {size, Dim(1)})}), shape);
}

Results matrix_exp(Call& call) { return apply(MatrixExp{}, {call.tensor("self")}); }

Results vecdot(Call& call) {
  const std::array given = {call.value("x"), call.value("y")};
  const auto x = promoted(call.build, given);
  const Ref product = x[0] * x[1];
  return sum(product, {call.axis("dim", product.rank(), -1)});
}

/// Powers 0, 1, ..., N - 1 of each element.
Results vander(Call& call) {
  const Ref given = call.tensor("x").rank() == 0 ? reshape(call.tensor("x"), {Dim(1)}) : call.tensor("x");
  const Ref x = is_float(given.dtype()) ? given : cast(DType::i64, given);
  const Dim count = call.size("N", x.shape().back());
  Shape column = x.shape(), shape = x.shape();
  column.push_back(Dim(1));
  shape.push_back(count);
  return pow(expand(reshape(x, column), shape), cast(x.dtype(), iota(count, x.insertion_point())));
}

/// torch.vander: the highest power first, unless `increasing`.
Results vander_of_vector(Call& call) {
  const bool increasing = call.flag("increasing", false);
  const Ref powers = vander(call).fresh.at(0);
  return increasing ? powers : flip(powers, {1});
}

constexpr AtenEntry linalg_table[] = {
    {"inverse", inverse_op},
    {"linalg_inv", inverse_op},
    {"linalg_inv_ex", inverse_ex},
    {"linalg_solve", solve},
    {"linalg_solve_ex", solve_ex},
    {"linalg_solve_triangular", solve_triangular},
    {"triangular_solve", triangular_solve},
    {"cholesky", cholesky},
    {"linalg_cholesky", cholesky},
    {"linalg_cholesky_ex", cholesky_ex},
    {"cholesky_solve", cholesky_solve},
    {"cholesky_inverse", cholesky_inverse},
    {"det", det},
    {"linalg_det", det},
    {"slogdet", slogdet},
    {"linalg_slogdet", slogdet},
    {"logdet", logdet},
    {"linalg_qr", linalg_qr},
    {"qr", qr},
    {"matrix_power", matrix_power},
    {"linalg_matrix_power", matrix_power},
    {"linalg_multi_dot", multi_dot},
    {"linalg_vander", vander},
    {"vander", vander_of_vector},
    {"linalg_lu_factor", lu_factor},
    {"linalg_lu_factor_ex", lu_factor_ex},
    {"_lu_with_info", lu_factor_ex},
    {"linalg_lu", lu},
    {"lu_unpack", lu_unpack},
    {"linalg_lu_solve", linalg_lu_solve},
    {"lu_solve", lu_solve},
    {"linalg_ldl_factor", ldl_factor},
    {"linalg_ldl_factor_ex", ldl_factor_ex},
    {"linalg_ldl_solve", ldl_solve},
    {"geqrf", geqrf},
    {"linalg_householder_product", householder_product},
    {"ormqr", ormqr},
    {"linalg_tensorinv", tensorinv},
    {"linalg_tensorsolve", tensorsolve},
    {"matrix_exp", matrix_exp},
    {"linalg_matrix_exp", matrix_exp},
    {"linalg_vecdot", vecdot, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> linalg_entries() { return linalg_table; }

}  // namespace tenon::converter
