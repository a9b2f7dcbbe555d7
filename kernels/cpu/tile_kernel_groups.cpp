// The register tile whose columns read A in groups, as narrow groups of a convolution do: a vector of columns
// is several groups. Built once per ISA.
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <int Group>
struct Groups : PlainForm {
  static constexpr int group = Group;
  static constexpr int depth = Group;
};

}  // namespace

TileKernel groups_tile(TileForm form, const TileCall& call);
TileKernel groups_tile(TileForm form, const TileCall& call) {
  if (form == TileForm::groups4) return pick_tile<Groups<4>>(call);
  if constexpr (VL == 8) return pick_tile<Groups<8>>(call);
  return nullptr;
}

}  // namespace tenon::cpu::TENON_ISA
