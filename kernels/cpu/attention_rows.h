// The part of attention that is built per ISA. Internal.
#pragma once
#include "kernels/cpu/attention.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Some query rows of one head.
struct AttentionRows {
  long batch;
  long head;
  long begin;
  long end;
};
/// Room for all tiles of every ISA: columns are padded to this.
inline constexpr long attention_padding = 32;
inline constexpr long attention_tile_rows = 32;

constexpr long attention_padded(long n) {
  return (n + attention_padding - 1) / attention_padding * attention_padding;
}

/// Floats of scratch for one worker: packed K and V, scores, scaled queries, and a tile of the result.
constexpr long attention_floats(const Attention& a) {
  const long keys = attention_padded(a.keys);
  const long size = attention_padded(a.size), value_size = attention_padded(a.value_size);
  return keys * (size + value_size) + attention_tile_rows * (keys + 16 + size + value_size) + 64;
}

using AttentionRowsRun = void(const Attention&, const AttentionRows&, float* scratch);
TENON_PER_ISA(AttentionRowsRun, attention_rows, attention_rows)

}  // namespace tenon::cpu
