// The type rules of operators that carry regions.
#include "ir/ops/control.h"

#include "base/error.h"
#include "ir/ops/families.h"

namespace tenon {

std::vector<Type> Fused::infer(std::span<const Type>) const {
  throw InternalError("a fused node takes its types from its body");
}
void Fused::reference(std::span<const Tensor>, std::span<Tensor>) const {
  throw InternalError("a fused node is evaluated through its body");
}

std::vector<const OpInfo*> control_ops() { return family(Control{}); }

}  // namespace tenon
