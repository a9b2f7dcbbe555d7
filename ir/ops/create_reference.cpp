// References of the operators without operands.
#include "ir/ops/create.h"
#include "ir/ops/reference.h"

namespace tenon {

void Full::reference(InSpan, OutSpan out) const { fill(out[0], value); }

void Iota::reference(InSpan, OutSpan out) const {
  for (std::int64_t i = 0; i < out[0].numel(); ++i) out[0].set_int(Axes{i}, i);
}

void DimValue::reference(InSpan, OutSpan out) const { out[0].set_int({}, value.value()); }

}  // namespace tenon
