// Spectra of dense row-major matrices of f64, by Eigen. All numbers are to be finite.
#pragma once

namespace tenon::cpu {

/// Eigenvalues, ascending, and eigenvectors, the columns of `vectors`, of the symmetric x[n, n]. Where
/// `vectors` is null, they are not computed.
void find_eigh(const double* x, long n, double* values, double* vectors);

/// The singular values of x[rows, columns], descending.
void find_singular_values(const double* x, long rows, long columns, double* s);
/// The same of numbers that were float32: what is small is as exact as in products of float32.
void find_singular_values_of_floats(const double* x, long rows, long columns, double* s);

/// x = U diag(s) V^T: u[rows, k] and v[k, columns] for k = min(rows, columns), or with `complete` both
/// square.
void find_svd(const double* x, long rows, long columns, bool complete, double* u, double* s, double* v);

}  // namespace tenon::cpu
