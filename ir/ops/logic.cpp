// The family of comparisons and choices: everything is in the header.
#include "ir/ops/logic.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref operator<(const Ref& a, const Ref& b) { return apply(Less{}, {a, b}); }
Ref operator<=(const Ref& a, const Ref& b) { return apply(LessEqual{}, {a, b}); }
Ref operator>(const Ref& a, const Ref& b) { return apply(Greater{}, {a, b}); }
Ref operator>=(const Ref& a, const Ref& b) { return apply(GreaterEqual{}, {a, b}); }
Ref equal(const Ref& a, const Ref& b) { return apply(Equal{}, {a, b}); }
Ref not_equal(const Ref& a, const Ref& b) { return apply(NotEqual{}, {a, b}); }
Ref logical_and(const Ref& a, const Ref& b) { return apply(LogicalAnd{}, {a, b}); }
Ref logical_or(const Ref& a, const Ref& b) { return apply(LogicalOr{}, {a, b}); }
Ref logical_not(const Ref& x) { return apply(LogicalNot{}, {x}); }
Ref where(const Ref& condition, const Ref& a, const Ref& b) { return apply(Where{}, {condition, a, b}); }

std::vector<const OpInfo*> logic_ops() { return family(Logic{}); }
}  // namespace tenon
