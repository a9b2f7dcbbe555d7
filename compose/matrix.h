// Products, inverses and triangles of matrices.
#pragma once
#include "ir/build.h"

namespace tenon {

/// torch.matmul: a vector counts as a row before, as a column behind, and the result loses that axis again.
Ref product(const Ref& a, const Ref& b);
/// The same, by a product of matrices.
Ref product(const Ref& a, const Ref& b, Ref (*of_matrices)(const Ref&, const Ref&));

/// The identity of the shape and dtype of square matrices.
Ref identity_like(const Ref& x);
Ref inverse(const Ref& x);
Ref determinant(const Ref& x);

/// True where column - row is at most (lower), or at least, the diagonal: bool[rows, columns].
Ref triangle(const Dim& rows, const Dim& columns, bool lower, const Dim& diagonal, const InsertionPoint&);
/// The lower or upper triangles of matrices, with zeros elsewhere.
Ref kept_triangle(const Ref& x, bool lower, const Dim& diagonal);

}  // namespace tenon
