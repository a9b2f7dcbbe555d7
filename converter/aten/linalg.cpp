// Linear algebra beyond products: systems of equations, inverses, determinants, factorisations.
#include "ir/ops/linalg.h"

#include <cmath>

#include "base/error.h"
#include "converter/aten/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

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

Ref identity(const Ref& like) {
  const Dim n = like.shape().back();
  const Ref i = iota(n, like.place());
  Shape shape = batch_of(like);
  shape.push_back(n);
  shape.push_back(n);
  return expand(cast(like.dtype(), equal(reshape(i, {n, Dim(1)}), i)), shape);
}

template <class Op>
Ref solved(const Op& op, const Ref& a, const Ref& b) {
  const Shape batch = broadcast(batch_of(a), batch_of(b));
  return apply(op, {with_batch(a, batch), with_batch(b, batch)});
}

/// Info of the `_ex` operators: 0, since what they would report is an Error here.
Ref no_complaint(const Ref& x) { return full(batch_of(x), 0, DType::i32, x.place()); }

Ref inverse_of(const Ref& a) { return apply(Solve{}, {a, identity(a)}); }
Results inverse(Call& call) { return inverse_of(matrix_of(call)); }
Results inverse_ex(Call& call) {
  call.ignore({"check_errors"});
  const Ref a = matrix_of(call);
  return std::vector{inverse_of(a), no_complaint(a)};
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
  return solved_by_factor(call, l, identity(l));
}

Results det(Call& call) { return apply_all(Determinant{}, std::array{matrix_of(call)})[0]; }
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
  if (mode == "r") qr[0] = full({Dim(0)}, 0, a.dtype(), a.place());
  return qr;
}
Results linalg_qr(Call& call) { return qr_of(call.tensor("A"), call.word("mode", "reduced")); }
Results qr(Call& call) {
  return qr_of(call.tensor("self"), call.flag("some", true) ? "reduced" : "complete");
}

Results matrix_power(Call& call) {
  Ref base = call.tensor("self");
  std::int64_t n = call.integer("n");
  if (n < 0) base = inverse_of(base);
  Ref y;
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2 == 1) y = y ? matmul(y, base) : base;
    if (n > 1) base = matmul(base, base);
  }
  return y ? y : identity(base);
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

/// Norms that need no singular values: Frobenius, and the largest or smallest sum of a row or column.
Results matrix_norm(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x = cast(call.dtype("dtype").value_or(given.dtype()), given);
  auto dims = call.integers("dim", {-2, -1});
  for (auto& d : dims) d = normalize_axis(d, x.rank());
  const bool keepdim = call.flag("keepdim", false);
  const Datum ord = call.find("ord") ? call.datum("ord") : Datum(std::string("fro"));
  if (const auto* word = ord.get<std::string>()) {
    if (*word == "fro") return p_norm(x, 2, dims, keepdim);
    throw unsupported("the matrix norm '{}', which needs singular values", *word);
  }
  const double p = call.number("ord");
  if (std::abs(p) == 2) throw unsupported("the matrix norm {}, which needs singular values", p);
  const bool rows = std::isinf(p);
  if (!rows && std::abs(p) != 1) throw error("there is no matrix norm {}", p);
  const std::int64_t summed = rows ? dims.at(1) : dims.at(0), other = rows ? dims.at(0) : dims.at(1);
  const Ref sums = sum(abs(x), {summed}, true);
  const Ref y = p > 0 ? amax(sums, {other}, true) : amin(sums, {other}, true);
  if (keepdim) return y;
  Shape shape;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (static_cast<std::int64_t>(i) != summed && static_cast<std::int64_t>(i) != other)
      shape.push_back(x.shape()[i]);
  return reshape(y, shape);
}

/// Powers 0, 1, ..., N - 1 of each element.
Results vander(Call& call) {
  const Ref given = call.tensor("x").rank() == 0 ? reshape(call.tensor("x"), {Dim(1)}) : call.tensor("x");
  const Ref x = is_float(given.dtype()) ? given : cast(DType::i64, given);
  const Dim count = call.size("N", x.shape().back());
  Shape column = x.shape(), shape = x.shape();
  column.push_back(Dim(1));
  shape.push_back(count);
  return pow(expand(reshape(x, column), shape), cast(x.dtype(), iota(count, x.place())));
}

constexpr Entry entries[] = {
    {"inverse", inverse},
    {"linalg_inv", inverse},
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
    {"linalg_matrix_norm", matrix_norm},
    {"linalg_vander", vander},
};

}  // namespace

std::span<const Entry> linalg_entries() { return entries; }

}  // namespace tenon::converter
