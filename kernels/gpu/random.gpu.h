// Random integers: which ones says RandomBits of ir/ops/random.h. A thread draws those of one block of words.
#pragma once
#include "base/philox_rounds.h"
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

struct RandomShape {
  Int count, bits, seed, stream;
};

/// `Each` integers take the words of a block.
template <int Each>
GPU_INLINE void draw(Int* out, const RandomShape& s, unsigned step, Int block) {
  const Int first = block * Each;
  if (first >= s.count) return;
  unsigned words[4] = {unsigned(block), unsigned(raw(block) >> 32), unsigned(s.stream), step};
  philox_rounds(words, unsigned(s.seed), unsigned(raw(s.seed) >> 32));
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    if (first + i >= s.count) break;
    const Bits number = Each == 4 ? words[i] : Bits(words[i * 4 / Each]) << 32 | words[i * 4 / Each + 1];
    out[first + i] = wrap(number >> (128 / Each - s.bits));
  }
}

}  // namespace tenon::gpu
