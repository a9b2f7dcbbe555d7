// Channels in pieces of a number that the compiler knows. Per-ISA code.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

template <long N>
struct PieceOf {
  static constexpr long count = N;
};

/// Calls piece(PieceOf<N>{}, first channel) so that every channel is in a piece. The last of several pieces
/// may begin before the end of the one before it: what is written must not be read.
template <long Most, class Piece>
TENON_INLINE void in_channel_pieces(long channels, const Piece& piece) {
  constexpr long few = 4;
  long c = 0;
  for (; c + Most <= channels; c += Most) piece(PieceOf<Most>{}, c);
  if (channels >= VL) {
    for (; c + VL <= channels; c += VL) piece(PieceOf<VL>{}, c);
    if (c < channels) piece(PieceOf<VL>{}, channels - VL);
  } else if (channels >= few) {
    for (; c + few <= channels; c += few) piece(PieceOf<few>{}, c);
    if (c < channels) piece(PieceOf<few>{}, channels - few);
  } else {
    for (; c < channels; c++) piece(PieceOf<1>{}, c);
  }
}

}  // namespace tenon::cpu::TENON_ISA
