#include "ir/ops/bits.h"

#include "base/error.h"
#include "ir/read_definition.h"

namespace tenon {

Type Bitcast::infer(const Type& x) const {
  if (is_string(to) || size_of(x.dtype) != size_of(to))
    throw error("the bits of {} as {}, which has another size", tenon::name(x.dtype), tenon::name(to));
  return {to, x.shape};
}

void Bitcast::reference(InSpan in, OutSpan out) const {
  out[0].copy_from(is_bool(to) ? in[0].bits_as(DType::u8) : in[0].bits_as(to));
}

std::vector<const OpInfo*> bits_ops() { return family(Bits{}); }

}  // namespace tenon
