// Sums of what lies around a center: of a row they are made of such sums of its parts, each around a center
// of its own, which one walk finds.
#pragma once
#include <optional>
#include <vector>

#include "kernels/gpu/loop_stages.h"
#include "kernels/loop_program.h"

namespace tenon::gpu {

/// A sum over a row of what is computed of x - center, where the center is one number for the row.
struct CentredSum {
  enum class Of : std::uint8_t { distances, squares, exponentials } of = Of::distances;
  Reg x = -1, center = -1;
};
/// Of a fold of a code; nullopt where it is none.
std::optional<CentredSum> centred_sum(const LoopCode& code, const std::vector<LoopValue>& values, Reg fold);

/// In a program whose rows are parts of `count` elements: what to keep of each.
std::vector<Reg> fold_part(LoopProgram& parts, CentredSum::Of of, Reg x, std::int64_t count);
/// In a program whose rows are what was kept of parts: the sum around a center of the whole row.
Reg join_parts(LoopProgram& whole, CentredSum::Of of, const std::vector<Reg>& kept, Reg center,
               std::int64_t count);

}  // namespace tenon::gpu
