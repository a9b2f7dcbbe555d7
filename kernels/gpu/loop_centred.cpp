#include "kernels/gpu/loop_centred.h"

#include <algorithm>
#include <limits>

namespace tenon::gpu {

std::optional<CentredSum> centred_sum(const LoopCode& code, const std::vector<LoopValue>& values, Reg fold) {
  const auto at = [&](Reg r) -> const Instruction& { return code.instructions[static_cast<std::size_t>(r)]; };
  const auto is = [&](Reg r, Prim prim) { return at(r).op == LoopOp::prim && at(r).prim == prim; };
  if (at(fold).reduce != Reduce::sum || !is_float(at(fold).type)) return std::nullopt;
  CentredSum sum;
  Reg distance = at(fold).args[0];
  if (is(distance, Prim::exp)) {
    sum.of = CentredSum::Of::exponentials;
    distance = at(distance).args[0];
  } else if (is(distance, Prim::mul) && at(distance).args[0] == at(distance).args[1]) {
    sum.of = CentredSum::Of::squares;
    distance = at(distance).args[0];
  }
  if (!is(distance, Prim::sub)) return std::nullopt;
  sum.x = at(distance).args[0];
  sum.center = at(distance).args[1];
  const bool is_one_of_row = values[static_cast<std::size_t>(sum.center)].of_row;
  return is_one_of_row && !values[static_cast<std::size_t>(sum.x)].of_row ? std::optional(sum) : std::nullopt;
}

namespace {

// An infinite maximum is no center: what is infinite lies beyond a finite one.
Reg finite(LoopProgram& p, Reg x) {
  const DType type = p.type_of(x);
  const double highest = type == DType::f64 ? std::numeric_limits<double>::max()
                                            : static_cast<double>(std::numeric_limits<float>::max());
  return p.prim(Prim::min, p.prim(Prim::max, x, p.constant(-highest, type)), p.constant(highest, type));
}

// The fold, which the program may have already.
Reg folded(LoopProgram& p, Reduce kind, Reg x) {
  const std::vector<Instruction>& list = p.code.instructions;
  const auto found = std::find_if(list.begin(), list.end(), [&](const Instruction& i) {
    return i.op == LoopOp::reduce && i.reduce == kind && i.args[0] == x;
  });
  return found == list.end() ? p.reduce(kind, x) : static_cast<Reg>(found - list.begin());
}

}  // namespace

std::vector<Reg> fold_part(LoopProgram& parts, CentredSum::Of of, Reg x, std::int64_t count) {
  if (of == CentredSum::Of::exponentials) {
    const Reg highest = finite(parts, folded(parts, Reduce::max, x));
    const Reg weights = parts.prim(Prim::exp, parts.prim(Prim::sub, x, highest));
    return {highest, parts.reduce(Reduce::sum, weights)};
  }
  const Reg share = parts.constant(1 / static_cast<double>(count), parts.type_of(x));
  const Reg mean = parts.prim(Prim::mul, folded(parts, Reduce::sum, x), share);
  const Reg distance = parts.prim(Prim::sub, x, mean);
  std::vector<Reg> kept{mean, folded(parts, Reduce::sum, distance)};
  if (of == CentredSum::Of::squares)
    kept.push_back(parts.reduce(Reduce::sum, parts.prim(Prim::mul, distance, distance)));
  return kept;
}

Reg join_parts(LoopProgram& whole, CentredSum::Of of, const std::vector<Reg>& kept, Reg center,
               std::int64_t count) {
  const auto add = [&](Reg a, Reg b) { return whole.prim(Prim::add, a, b); };
  const auto mul = [&](Reg a, Reg b) { return whole.prim(Prim::mul, a, b); };
  const Reg moved = whole.prim(Prim::sub, kept[0], center);
  if (of == CentredSum::Of::exponentials)
    return whole.reduce(Reduce::sum, mul(kept[1], whole.prim(Prim::exp, moved)));
  const Reg all_moved = mul(moved, whole.constant(static_cast<double>(count), whole.type_of(center)));
  if (of == CentredSum::Of::distances) return whole.reduce(Reduce::sum, add(kept[1], all_moved));
  // (d + m)^2 = d^2 + m (2 d + m)
  return whole.reduce(Reduce::sum, add(kept[2], mul(moved, add(add(kept[1], kept[1]), all_moved))));
}

}  // namespace tenon::gpu
