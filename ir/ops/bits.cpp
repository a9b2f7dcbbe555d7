#include "ir/ops/bits.h"

#include <cstring>

#include "base/error.h"
#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Type Bitcast::infer(const Type& x) const {
  if (is_string(to) || is_string(x.dtype))
    throw error("the bits of {} as {}", tenon::name(x.dtype), tenon::name(to));
  const std::size_t from_size = size_of(x.dtype), to_size = size_of(to);
  Type y{to, x.shape};
  if (from_size > to_size) {
    y.shape.emplace_back(static_cast<std::int64_t>(from_size / to_size));
  } else if (from_size < to_size) {
    const auto parts = static_cast<std::int64_t>(to_size / from_size);
    if (x.rank() == 0 || x.shape.back() != Dim(parts))
      throw error("the bits of {} as {}, which takes a last axis of {}", x.str(), tenon::name(to), parts);
    y.shape.pop_back();
  }
  return y;
}

void Bitcast::reference(InSpan in, OutSpan out) const {
  const DType plain = is_bool(to) ? DType::u8 : to;
  if (size_of(in[0].dtype()) == size_of(to)) return out[0].copy_from(in[0].bits_as(plain));
  const Tensor packed = in[0].contiguous();
  Tensor y = Tensor::empty(plain, out[0].shape());
  if (y.numel() > 0)
    std::memcpy(y.mutable_bytes(), packed.bytes(), static_cast<std::size_t>(y.numel()) * size_of(plain));
  out[0].copy_from(y);
}

Ref bitcast(DType to, const Ref& x) { return x.dtype() == to ? x : apply(Bitcast{.to = to}, {x}); }

std::vector<const OpInfo*> bits_ops() { return family(Bits{}); }

}  // namespace tenon
