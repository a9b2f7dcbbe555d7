#include "compose/packed_bits.h"

#include "base/error.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"

namespace tenon {

Ref unpacked(const Ref& bytes, std::int64_t bits) {
  if (bytes.dtype() != DType::u8 || bytes.rank() == 0) throw error("packed codes {}", bytes.type().str());
  if (bits == 8) return bytes;
  Shape beside = bytes.shape(), whole = bytes.shape();
  beside.emplace_back(1);
  whole.back() = whole.back() * Dim(8 / bits);
  std::vector<Ref> parts;
  for (std::int64_t low = 0; low < 8; low += bits) {
    const Ref shifted = apply(ShiftRight{}, {bytes, bytes.literal(static_cast<double>(low))});
    const Ref code = apply(BitAnd{}, {shifted, bytes.literal(static_cast<double>((1 << bits) - 1))});
    parts.push_back(reshape(code, beside));
  }
  return reshape(concat(parts, static_cast<std::int64_t>(beside.size()) - 1), whole);
}

}  // namespace tenon
