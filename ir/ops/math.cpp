// The family of functions of real numbers: everything is in the header.
#include "ir/ops/math.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref exp(const Ref& x) { return apply(Exp{}, {x}); }
Ref exp2(const Ref& x) { return apply(Exp2{}, {x}); }
Ref expm1(const Ref& x) { return apply(Expm1{}, {x}); }
Ref log(const Ref& x) { return apply(Log{}, {x}); }
Ref log2(const Ref& x) { return apply(Log2{}, {x}); }
Ref log10(const Ref& x) { return apply(Log10{}, {x}); }
Ref log1p(const Ref& x) { return apply(Log1p{}, {x}); }
Ref sqrt(const Ref& x) { return apply(Sqrt{}, {x}); }
Ref rsqrt(const Ref& x) { return apply(Rsqrt{}, {x}); }
Ref reciprocal(const Ref& x) { return apply(Reciprocal{}, {x}); }
Ref sin(const Ref& x) { return apply(Sin{}, {x}); }
Ref cos(const Ref& x) { return apply(Cos{}, {x}); }
Ref tan(const Ref& x) { return apply(Tan{}, {x}); }
Ref asin(const Ref& x) { return apply(Asin{}, {x}); }
Ref acos(const Ref& x) { return apply(Acos{}, {x}); }
Ref atan(const Ref& x) { return apply(Atan{}, {x}); }
Ref sinh(const Ref& x) { return apply(Sinh{}, {x}); }
Ref cosh(const Ref& x) { return apply(Cosh{}, {x}); }
Ref tanh(const Ref& x) { return apply(Tanh{}, {x}); }
Ref asinh(const Ref& x) { return apply(Asinh{}, {x}); }
Ref acosh(const Ref& x) { return apply(Acosh{}, {x}); }
Ref atanh(const Ref& x) { return apply(Atanh{}, {x}); }
Ref erf(const Ref& x) { return apply(Erf{}, {x}); }
Ref erfc(const Ref& x) { return apply(Erfc{}, {x}); }
Ref erfinv(const Ref& x) { return apply(Erfinv{}, {x}); }
Ref lgamma(const Ref& x) { return apply(Lgamma{}, {x}); }
Ref digamma(const Ref& x) { return apply(Digamma{}, {x}); }
Ref floor(const Ref& x) { return apply(Floor{}, {x}); }
Ref ceil(const Ref& x) { return apply(Ceil{}, {x}); }
Ref trunc(const Ref& x) { return apply(Trunc{}, {x}); }
Ref round(const Ref& x) { return apply(Round{}, {x}); }
Ref atan2(const Ref& a, const Ref& b) { return apply(Atan2{}, {a, b}); }

std::vector<const OpInfo*> math_ops() { return family(Math{}); }
}  // namespace tenon
