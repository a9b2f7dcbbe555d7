// The type rule of the special functions.
#include "ir/ops/special.h"

#include "ir/ops/rules.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

constexpr std::size_t arities[] = {
#define SPECIAL(name, arity, ...) arity,
#include "base/specials.def"
};

}  // namespace

std::vector<Type> Special::infer(TypeSpan in) const {
  const std::size_t wanted = arities[static_cast<std::size_t>(function)];
  if (in.size() != wanted)
    throw error("{} takes {} operand(s), not {}",
                EnumNames<SpecialFunction>::names[static_cast<std::size_t>(function)], wanted, in.size());
  check_float("the operand", in[0]);
  if (wanted == 1) return {in[0]};
  check_same_dtype("the first operand", in[0], "the second", in[1]);
  return {{in[0].dtype, broadcast(in[0].shape, in[1].shape)}};
}

Type Gcd::infer(const Type& a, const Type& b) const {
  check_integer("the operand", a);
  check_same_dtype("the first operand", a, "the second", b);
  return {a.dtype, broadcast(a.shape, b.shape)};
}

std::vector<const OpInfo*> special_ops() { return family(SpecialOps{}); }

}  // namespace tenon
