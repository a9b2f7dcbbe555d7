// The family of arithmetic: everything is in the header.
#include "ir/ops/arithmetic.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref operator+(const Ref& a, const Ref& b) { return apply(Add{}, {a, b}); }
Ref operator-(const Ref& a, const Ref& b) { return apply(Sub{}, {a, b}); }
Ref operator*(const Ref& a, const Ref& b) { return apply(Mul{}, {a, b}); }
Ref operator/(const Ref& a, const Ref& b) { return apply(Div{}, {a, b}); }
Ref operator-(const Ref& x) { return apply(Neg{}, {x}); }
Ref pow(const Ref& a, const Ref& b) { return apply(Pow{}, {a, b}); }
Ref abs(const Ref& x) { return apply(Abs{}, {x}); }
Ref sign(const Ref& x) { return apply(Sign{}, {x}); }
Ref minimum(const Ref& a, const Ref& b) { return apply(Minimum{}, {a, b}); }
Ref maximum(const Ref& a, const Ref& b) { return apply(Maximum{}, {a, b}); }

std::vector<const OpInfo*> arithmetic_ops() { return family(Arithmetic{}); }
}  // namespace tenon
