// Operators as functions of values: what a computation is written with, x * rsqrt(mean(x * x, axes) + eps).
// Each is defined beside its operator, so that those who compute with values are not compiled again when an
// operator changes.
#pragma once
#include <span>
#include <vector>

#include "ir/build.h"
#include "ir/ops/rules.h"

namespace tenon {

Ref operator+(const Ref& a, const Ref& b);
Ref operator-(const Ref& a, const Ref& b);
Ref operator*(const Ref& a, const Ref& b);
Ref operator/(const Ref& a, const Ref& b);
Ref operator-(const Ref& x);
inline Ref operator+(const Ref& a, double b) { return a + a.literal(b); }
inline Ref operator-(const Ref& a, double b) { return a - a.literal(b); }
inline Ref operator*(const Ref& a, double b) { return a * a.literal(b); }
inline Ref operator/(const Ref& a, double b) { return a / a.literal(b); }
inline Ref operator-(double a, const Ref& b) { return b.literal(a) - b; }
Ref pow(const Ref& a, const Ref& b);
Ref abs(const Ref& x);
Ref sign(const Ref& x);
Ref minimum(const Ref& a, const Ref& b);
Ref maximum(const Ref& a, const Ref& b);

Ref exp(const Ref& x);
Ref exp2(const Ref& x);
Ref expm1(const Ref& x);
Ref log(const Ref& x);
Ref log2(const Ref& x);
Ref log10(const Ref& x);
Ref log1p(const Ref& x);
Ref sqrt(const Ref& x);
Ref rsqrt(const Ref& x);
Ref reciprocal(const Ref& x);
Ref sin(const Ref& x);
Ref cos(const Ref& x);
Ref tan(const Ref& x);
Ref asin(const Ref& x);
Ref acos(const Ref& x);
Ref atan(const Ref& x);
Ref sinh(const Ref& x);
Ref cosh(const Ref& x);
Ref tanh(const Ref& x);
Ref asinh(const Ref& x);
Ref acosh(const Ref& x);
Ref atanh(const Ref& x);
Ref erf(const Ref& x);
Ref erfc(const Ref& x);
Ref erfinv(const Ref& x);
Ref lgamma(const Ref& x);
Ref digamma(const Ref& x);
Ref floor(const Ref& x);
Ref ceil(const Ref& x);
Ref trunc(const Ref& x);
Ref round(const Ref& x);
Ref atan2(const Ref& a, const Ref& b);

Ref relu(const Ref& x);
Ref sigmoid(const Ref& x);
Ref silu(const Ref& x);

Ref operator<(const Ref& a, const Ref& b);
Ref operator<=(const Ref& a, const Ref& b);
Ref operator>(const Ref& a, const Ref& b);
Ref operator>=(const Ref& a, const Ref& b);
Ref equal(const Ref& a, const Ref& b);
Ref not_equal(const Ref& a, const Ref& b);
Ref logical_and(const Ref& a, const Ref& b);
Ref logical_or(const Ref& a, const Ref& b);
Ref logical_not(const Ref& x);
Ref where(const Ref& condition, const Ref& a, const Ref& b);
inline Ref where(const Ref& condition, const Ref& a, double b) { return where(condition, a, a.literal(b)); }

/// x itself when it has the dtype.
Ref cast(DType to, const Ref& x);

/// x itself when it has the type.
Ref bitcast(DType to, const Ref& x);

Ref full(Shape shape, double value, DType dtype, const InsertionPoint& point);
/// Zeros of x's type.
inline Ref zeros_like(const Ref& x) { return full(x.shape(), 0, x.dtype(), x.insertion_point()); }
Ref iota(Dim size, const InsertionPoint& point, DType dtype = DType::i64);
/// A size as a number of x's dtype: a literal when it is known.
Ref dim_value(const Dim& size, const Ref& like);

Ref reshape(const Ref& x, Shape shape);
Ref permute(const Ref& x, Axes axes);
Ref expand(const Ref& x, Shape shape);
Ref flip(const Ref& x, Axes axes);
Ref slice(const Ref& x, std::int64_t axis, Dim start, Dim end, std::int64_t step = 1);
Ref concat(std::span<const Ref> parts, std::int64_t axis);
Ref pad(const Ref& x, Shape pads, double value = 0);
/// Swaps two axes; negative ones count from the end.
Ref transpose(const Ref& x, std::int64_t a, std::int64_t b);

Ref index_select(const Ref& x, std::int64_t axis, const Ref& indices);
Ref gather(const Ref& x, std::int64_t axis, const Ref& indices);
Ref index_add(const Ref& x, std::int64_t axis, const Ref& indices, const Ref& src);
Ref scatter_sum(const Ref& x, std::int64_t axis, const Ref& indices, const Ref& src);

Ref sum(const Ref& x, Axes axes, bool keepdim = false);
Ref mean(const Ref& x, Axes axes, bool keepdim = false);
Ref prod(const Ref& x, Axes axes, bool keepdim = false);
Ref amax(const Ref& x, Axes axes, bool keepdim = false);
Ref amin(const Ref& x, Axes axes, bool keepdim = false);
Ref any(const Ref& x, Axes axes, bool keepdim = false);
Ref all(const Ref& x, Axes axes, bool keepdim = false);
Ref cumsum(const Ref& x, std::int64_t axis);
Ref cumprod(const Ref& x, std::int64_t axis);
/// Undoes broadcasting: sums x over the axes that were stretched from `shape`.
Ref sum_to(const Ref& x, const Shape& shape);

Ref matmul(const Ref& a, const Ref& b);
Ref linear(const Ref& x, const Ref& weight);
Ref linear(const Ref& x, const Ref& weight, const Ref& bias);

Ref softmax(const Ref& x, std::int64_t axis);

Ref find(const Ref& x, const Ref& keys);

}  // namespace tenon
