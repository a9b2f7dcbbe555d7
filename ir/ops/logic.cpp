// The family of comparisons and choices: everything is in the header.
#include "ir/ops/logic.h"

#include "ir/read_definition.h"

namespace tenon {
std::vector<const OpInfo*> logic_ops() { return family(Logic{}); }
}  // namespace tenon
