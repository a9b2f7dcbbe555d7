// What singular values and eigenvalues give: decompositions, pseudo-inverses, ranks, norms of matrices.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "compose/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"
#include "ir/ops/linalg.h"

namespace tenon::converter {

namespace {

Ref matrix_of(Call& call) {
  return call.tensor(call.find("A") ? "A" : call.find("input") ? "input" : "self");
}
Ref transposed(const Ref& x) { return transpose(x, -1, -2); }
Dim rows_of(const Ref& x) { return x.shape()[x.rank() - 2]; }
Dim columns_of(const Ref& x) { return x.shape().back(); }
Shape batch_of(const Ref& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }
Ref none_of(const Ref& like, DType dtype) { return full({Dim(0)}, 0, dtype, like.insertion_point()); }

/// x[..., k] as rows [..., 1, k].
Ref as_row(const Ref& x) { return reshape(x, with_axis(x.shape(), static_cast<std::int64_t>(x.rank()) - 1)); }
Ref without_last(const Ref& x) { return reshape(x, Shape(x.shape().begin(), x.shape().end() - 1)); }

std::vector<Ref> svd_of(const Ref& x, bool complete = false) {
  return apply_all(Svd{.complete = complete}, std::array{x});
}
Ref singular_values(const Ref& x) { return svd_of(x)[1]; }

Results linalg_svd(Call& call) {
  call.ignore({"driver"});
  const Ref x = matrix_of(call);
  if (!call.flag("compute_uv", true))
    return std::vector{none_of(x, x.dtype()), singular_values(x), none_of(x, x.dtype())};
  return svd_of(x, call.flag("full_matrices", call.name == "linalg_svd"));
}
Results svdvals(Call& call) {
  call.ignore({"driver"});
  return singular_values(matrix_of(call));
}
/// The older form: (U, S, V), with zeros for U and V when they are not wanted.
Results svd(Call& call) {
  const Ref x = call.tensor("self");
  const bool some = call.flag("some", true);
  if (call.flag("compute_uv", true)) {
    const auto parts = svd_of(x, !some);
    return std::vector{parts[0], parts[1], transposed(parts[2])};
  }
  const auto zeros = [&](const Dim& size) {
    Shape shape = batch_of(x);
    shape.push_back(size);
    shape.push_back(size);
    return full(shape, 0, x.dtype(), x.insertion_point());
  };
  return std::vector{zeros(rows_of(x)), singular_values(x), zeros(columns_of(x))};
}

std::vector<Ref> eigh_of(Call& call, const Ref& x) {
  const std::string triangle = call.word("UPLO", "L");
  return apply_all(Eigh{}, std::array{triangle == "U" || triangle == "u" ? transposed(x) : x});
}
Results eigh(Call& call) {
  const Ref x = matrix_of(call);
  auto results = eigh_of(call, x);
  if (!call.flag("compute_v", true)) results[1] = none_of(x, x.dtype());
  return results;
}
Results eigvalsh(Call& call) { return eigh_of(call, matrix_of(call))[0]; }

Results eig(Call& call) { return apply_all(Eig{}, std::array{matrix_of(call)}); }
Results eigvals(Call& call) { return apply_all(Eig{}, std::array{matrix_of(call)})[0]; }

/// A number argument or a tensor of them, one for each matrix; without either the fallback.
Ref threshold(Call& call, std::string_view argument, const Ref& like, double fallback) {
  if (!call.has(argument)) return like.literal(fallback);
  return operand(call.build, call.value(argument), like.dtype());
}

/// Singular values up to which count as 0, of each matrix: the larger of an absolute and a relative bound.
Ref cutoff(Call& call, const Ref& x, const Ref& largest) {
  if (call.find("tol")) return threshold(call, "tol", x, 0);
  if (call.find("rcond")) return threshold(call, "rcond", x, 0) * largest;
  const double epsilon = x.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
  const Ref relative = dim_value(max(rows_of(x), columns_of(x)), x) * epsilon;
  const Ref absolute = threshold(call, "atol", x, 0);
  if (call.has("rtol")) return maximum(absolute, threshold(call, "rtol", x, 0) * largest);
  if (!call.has("atol")) return relative * largest;
  return maximum(absolute, where(absolute > absolute.literal(0), relative.literal(0), relative) * largest);
}

Ref largest_of(const Ref& sizes) { return amax(sizes, {static_cast<std::int64_t>(sizes.rank()) - 1}); }

/// [...] as [..., 1]; a bound for all matrices stays one.
Ref as_column(const Ref& bound) {
  if (bound.rank() == 0) return bound;
  Shape shape = bound.shape();
  shape.push_back(Dim(1));
  return reshape(bound, shape);
}

bool is_empty(const Ref& x) { return numel(x.shape()) == Dim(0); }

Results matrix_rank(Call& call) {
  const Ref x = matrix_of(call);
  const bool hermitian = call.flag("hermitian", false);
  if (is_empty(x)) {
    call.ignore({"tol", "atol", "rtol"});
    return full(batch_of(x), 0, DType::i64, x.insertion_point());
  }
  const Ref sizes = hermitian ? abs(apply_all(Eigh{}, std::array{x})[0]) : singular_values(x);
  const Ref kept = sizes > as_column(cutoff(call, x, largest_of(sizes)));
  return sum(cast(DType::i64, kept), {static_cast<std::int64_t>(sizes.rank()) - 1});
}

/// 1 / values where they are larger than the bound, else 0.
Ref inverted(const Ref& values, const Ref& bound) {
  return where(abs(values) > as_column(bound), reciprocal(values), 0);
}

Ref pseudo_inverse(Call& call, const Ref& x, bool hermitian) {
  if (is_empty(x)) {
    call.ignore({"rcond", "atol", "rtol"});
    Shape shape = batch_of(x);
    shape.push_back(columns_of(x));
    shape.push_back(rows_of(x));
    return full(shape, 0, x.dtype(), x.insertion_point());
  }
  if (hermitian) {
    const auto parts = apply_all(Eigh{}, std::array{x});
    const Ref bound = cutoff(call, x, largest_of(abs(parts[0])));
    return matmul(parts[1] * as_row(inverted(parts[0], bound)), transposed(parts[1]));
  }
  const auto parts = svd_of(x);
  const Ref bound = cutoff(call, x, largest_of(parts[1]));
  return matmul(transposed(parts[2]) * as_row(inverted(parts[1], bound)), transposed(parts[0]));
}
Results pinv(Call& call) { return pseudo_inverse(call, matrix_of(call), call.flag("hermitian", false)); }
Results pinverse(Call& call) {
  const Ref x = call.tensor("self");
  if (call.find("rcond")) return pseudo_inverse(call, x, false);
  const auto parts = svd_of(x);
  const Ref bound = largest_of(parts[1]) * 1e-15;
  return matmul(transposed(parts[2]) * as_row(inverted(parts[1], bound)), transposed(parts[0]));
}

/// The shortest of the solutions that come nearest. The other results depend on the driver; residuals of a
/// matrix with more rows than columns are there when it has full rank, which only the driver "gels" assumes.
Results lstsq(Call& call) {
  const Ref a = call.tensor("self"), b = call.tensor("b");
  const std::string driver = call.word("driver", "gelsy");
  const bool vectors = b.rank() + 1 == a.rank();
  const Ref right = vectors ? transposed(as_row(b)) : b;
  const auto parts = svd_of(a);
  const double epsilon = a.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23, given = call.number("rcond", -1);
  const bool is_used = given >= 0 && driver != "gels";
  if (is_used && driver == "gelsy")
    throw unsupported("lstsq with rcond by the driver gelsy, which compares it with a triangle's diagonal")
        .hint("driver='gelsd' compares it with singular values");
  const Ref share =
      is_used ? parts[1].literal(given) : dim_value(max(rows_of(a), columns_of(a)), a) * epsilon;
  const Ref bound = largest_of(parts[1]) * share;
  const Ref inverse = matmul(transposed(parts[2]) * as_row(inverted(parts[1], bound)), transposed(parts[0]));
  const Ref x = matmul(inverse, right);
  const Ref rank =
      sum(cast(DType::i64, parts[1] > as_column(bound)), {static_cast<std::int64_t>(a.rank()) - 2});
  const auto fresh = [&](const Ref& r) { return AbstractValue(call.build.tensor(r)); };
  AbstractValue residuals = Uninitialized{};
  const auto tall = call.build.known_less(columns_of(a), rows_of(a));
  if (tall == false)
    residuals = fresh(none_of(a, a.dtype()));
  else if (tall == true && driver == "gels") {
    const Ref rest = matmul(a, x) - right;
    residuals = fresh(sum(rest * rest, {static_cast<std::int64_t>(rest.rank()) - 2}));
  }
  const bool values = driver == "gelsd" || driver == "gelss";
  return Results::many({fresh(vectors ? without_last(x) : x), residuals,
                        fresh(driver == "gels" ? none_of(a, DType::i64) : rank),
                        fresh(values ? parts[1] : none_of(a, a.dtype()))});
}

Ref with_dtype(Call& call) {
  const Ref x = call.tensor("self");
  return cast(call.dtype("dtype").value_or(x.dtype()), x);
}

/// Of the matrices in two axes: "fro", "nuc" (the sum of the singular values), 2 (the largest), 1 (the
/// largest sum of a column), infinity (of a row); negative ones take the smallest.
Ref matrix_norm_of(const Ref& x, const AbstractValue& order, std::vector<std::int64_t> dims, bool keepdim) {
  if (dims.size() != 2) throw error("a matrix norm over {} axes", dims.size());
  for (auto& d : dims) d = normalize_axis(d, x.rank());
  const auto with_axes_kept = [&](const Ref& y) {
    Shape shape;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      const auto axis = static_cast<std::int64_t>(i);
      const bool gone = axis == dims[0] || axis == dims[1];
      if (gone && keepdim) shape.emplace_back(1);
      if (!gone) shape.push_back(x.shape()[i]);
    }
    return reshape(y, shape);
  };
  const auto values = [&] {
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.rank()); ++i)
      if (i != dims[0] && i != dims[1]) axes.push_back(i);
    axes.insert(axes.end(), dims.begin(), dims.end());
    return singular_values(permute(x, axes));
  };
  const auto size = [&](std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; };
  if (size(dims[0]) == Dim(0) || size(dims[1]) == Dim(0)) return p_norm(x, 2, dims, keepdim);
  const auto last = static_cast<std::int64_t>(x.rank()) - 2;
  double p = 0;
  if (const auto* word = order.get<std::string>()) {
    if (*word == "fro") return p_norm(x, 2, dims, keepdim);
    if (*word == "nuc") return with_axes_kept(sum(values(), {last}));
    throw error("there is no matrix norm '{}'", *word);
  } else if (const auto* real = order.get<double>()) {
    p = *real;
  } else if (const auto* whole = order.get<Dim>(); whole && whole->is_known()) {
    p = static_cast<double>(whole->value());
  }
  if (std::abs(p) == 2) return with_axes_kept(p > 0 ? amax(values(), {last}) : amin(values(), {last}));
  const bool rows = std::isinf(p);
  if (!rows && std::abs(p) != 1) throw error("there is no matrix norm {}", p);
  const std::int64_t summed = rows ? dims[1] : dims[0], other = rows ? dims[0] : dims[1];
  const Ref sums = sum(abs(x), {summed}, true);
  return with_axes_kept(p > 0 ? amax(sums, {other}, true) : amin(sums, {other}, true));
}
Results matrix_norm(Call& call) {
  const AbstractValue order = call.find("ord") ? call.value("ord") : AbstractValue(std::string("fro"));
  return matrix_norm_of(with_dtype(call), order, call.integers("dim", {-2, -1}), call.flag("keepdim", false));
}

/// Of vectors or of matrices, by the number of axes.
Results norm(Call& call) {
  const Ref x = with_dtype(call);
  const bool keepdim = call.flag("keepdim", false);
  const auto axes = call.axes("dim", x.rank());
  if (!call.has("ord")) return p_norm(x, 2, axes, keepdim);
  const std::vector<std::int64_t> dims = call.has("dim") ? call.integers("dim") : axes;
  if (dims.size() == 2) return matrix_norm_of(x, call.value("ord"), dims, keepdim);
  return p_norm(x, call.number("ord"), axes, keepdim);
}

/// The quotient of the largest and the smallest singular value, or of norms of the matrix and its inverse.
Results cond(Call& call) {
  const Ref x = call.tensor("self");
  const AbstractValue p = call.has("p") ? call.value("p") : AbstractValue(2.0);
  if (is_empty(x)) return call.ignore({"p"}), full(batch_of(x), 0, x.dtype(), x.insertion_point());
  const bool word = p.is<std::string>();
  if (!word && std::abs(call.has("p") ? call.number("p") : 2) == 2) {
    const Ref values = singular_values(x);
    const auto last = static_cast<std::int64_t>(values.rank()) - 1;
    const Ref large = amax(values, {last}), small = amin(values, {last});
    return call.has("p") && call.number("p") < 0 ? small / large : large / small;
  }
  Shape square = x.shape();
  const Ref i = iota(columns_of(x), x.insertion_point());
  const Ref identity =
      expand(cast(x.dtype(), equal(reshape(i, {columns_of(x), Dim(1)}), i)), std::move(square));
  const Ref inverse = apply(Solve{}, {x, identity});
  return matrix_norm_of(x, p, {-2, -1}, false) * matrix_norm_of(inverse, p, {-2, -1}, false);
}

constexpr AtenEntry spectral_table[] = {
    {"linalg_svd", linalg_svd},
    {"_linalg_svd", linalg_svd},
    {"linalg_svdvals", svdvals},
    {"svd", svd},
    {"linalg_eigh", eigh},
    {"_linalg_eigh", eigh},
    {"linalg_eigvalsh", eigvalsh},
    {"linalg_eig", eig},
    {"linalg_eigvals", eigvals},
    {"_linalg_eigvals", eigvals},
    {"linalg_matrix_rank", matrix_rank},
    {"linalg_pinv", pinv},
    {"pinverse", pinverse},
    {"linalg_lstsq", lstsq},
    {"linalg_matrix_norm", matrix_norm},
    {"linalg_norm", norm, HalfPrecision::in_f32},
    {"linalg_cond", cond},
};

}  // namespace

std::span<const AtenEntry> spectral_entries() { return spectral_table; }

}  // namespace tenon::converter
