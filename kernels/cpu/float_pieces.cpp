// Panels of floats in pieces of bfloat16. Built once per ISA.
#include "kernels/cpu/float_pieces.h"

#include "kernels/cpu/split_floats.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {

bool runs_float_pieces() { return has_matrix_unit(); }

void split_panel(const float* rows, long depth, float* to) {
  constexpr long piece_words = FloatPieces::step / 2 * panel_cols;
  for (long k = 0; k < FloatPieces::padded(depth); k += 2) {
    float* const pair = to + k / FloatPieces::step * FloatPieces::count * piece_words +
                        k % FloatPieces::step / 2 * panel_cols;
    for (long j = 0; j < panel_cols; j += VL) {
      const auto row = [&](long i) { return i < depth ? load(rows + i * panel_cols + j) : vf{}; };
      const SplitFloats even(row(k)), odd(row(k + 1));
      for (int p = 0; p < FloatPieces::count; p++)
        store(pair + p * piece_words + j, reinterpret_cast<vf>((even.piece[p] >> 16) | odd.piece[p]));
    }
  }
}

}  // namespace tenon::cpu::TENON_ISA
