// Rounds rows of sums that are still in the L1 cache to 16 bits.
#pragma once
#include <cstdint>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Rows of sums, the residual's and the result's: each row begins so many elements behind the pointer.
struct RoundedTile {
  float* sums = nullptr;
  const long* sums_rows = nullptr;
  const void* residual = nullptr;  // of RoundedRows::adds
  const long* residual_rows = nullptr;
  std::uint16_t* halves = nullptr;  // the result in 16 bits; null: as float32 in place of the sums
  const long* halves_rows = nullptr;
  long rows = 0;
  long cols = 0;

  /// To rows so many further on, whose sums lie where these do.
  void move(long by) {
    if (residual) residual_rows += by;
    if (halves) halves_rows += by;
  }
};
using FinishRounded = void(const RoundedRows& how, const RoundedTile& tile);
TENON_PER_ISA(FinishRounded, finish_rounded, finish_rounded)

}  // namespace tenon::cpu
