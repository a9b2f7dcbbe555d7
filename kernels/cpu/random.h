// Random integers by Philox 4x32-10: which ones says RandomBits of ir/ops/random.h.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Integers in [0, 2^bits): `count` of their stream from `first` on, a multiple of 4.
struct RandomRun {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0, step = 0;
  int bits = 32;  // 1 to 63
  long first = 0, count = 0;
  std::int64_t* out = nullptr;
};
void random_bits(const RandomRun& run, ThreadPool& pool);

/// The same on one thread.
using RandomPiece = void(const RandomRun& run);
TENON_PER_ISA(RandomPiece, random_piece, random_piece)

}  // namespace tenon::cpu
