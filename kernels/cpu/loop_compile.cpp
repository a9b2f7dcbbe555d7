// From a loop program to its plan: which values exist once per item and which per block, and in how many
// walks over the row.
#include <algorithm>

#include "base/alignment.h"
#include "kernels/cpu/loop_steps.h"

namespace tenon::cpu {
namespace {

constexpr long whole_row_budget = 256 << 10;  // bytes of a worker's scratch for values kept from walk to walk

bool is_heavy(Prim p) {
  switch (p) {
    case Prim::div:
    case Prim::sqrt:
    case Prim::neg:
    case Prim::abs:
    case Prim::sign: return false;
    default:
      return info(p).kind == PrimKind::real || p == Prim::pow || p == Prim::fmod || p == Prim::remainder;
  }
}

class Compiler : LoopSteps {
 public:
  using LoopSteps::LoopSteps;

  LoopPlan compile() {
    last_walk_ = last_walk(nodes_, values_);
    plan_.walks.resize(static_cast<std::size_t>(last_walk_) + 1);
    if (single_pass()) {
      compile_single_pass();
    } else {
      compile_stages();
    }
    estimate_cost();
    plan_.scratch_bytes = aligned_up(plan_.scratch_bytes, stream_skew);  // for the next worker's
    return std::move(plan_);
  }

 private:
  // ---- one walk: program order, stores last ----

  void compile_single_pass() {
    plan_.walks.resize(1);
    std::vector<Reg> of_rows, of_blocks, of_columns, order;
    const auto list_of = [&](Reg r) -> std::vector<Reg>& {
      if (fills_tile(r)) return order;
      return value(r).repeats ? of_blocks : value(r).has_q ? of_columns : of_rows;
    };
    for (Reg r = 0; r < end(); ++r)
      if (value(r).needed && at(r).op != LoopOp::store) list_of(r).push_back(r);
    for (Reg r = 0; r < end(); ++r)
      if (at(r).op == LoopOp::store) order.push_back(r);
    bring_pairs_together(order);
    emit_list(of_rows, plan_.of_rows, nullptr);
    emit_list(of_blocks, plan_.of_blocks, nullptr);
    emit_list(of_columns, plan_.of_columns, nullptr);
    emit_list(order, plan_.walks[0].block, &plan_.walks[0].block);
  }

  /// Loads of both parts of pairs, and stores, one behind the other.
  void bring_pairs_together(std::vector<Reg>& order) {
    for (auto first = order.begin(); first != order.end(); ++first) {
      const auto second = std::find_if(first + 1, order.end(), [&](Reg r) { return are_pair(*first, r); });
      if (second != order.end()) std::rotate(first + 1, second, second + 1);
    }
  }

  // ---- several walks over the row ----

  void compile_stages() {
    emit_row_values(0, plan_.before);
    for (int s = 0; s <= last_walk_; ++s) {
      LoopWalk& walk = plan_.walks[static_cast<std::size_t>(s)];
      emit_list(block_order(s), walk.block, &walk.after);
      walk.crosses_stretches =
          space().in_stretches && std::all_of(walk.block.begin(), walk.block.end(),
                                              [&](const TileStep& step) { return crosses_stretches(step); });
      emit_row_values(s + 1, walk.after);
    }
    std::vector<Reg> stores;
    for (Reg r = 0; r < end(); ++r)
      if (at(r).op == LoopOp::store && !value(r).in_block) stores.push_back(r);
    emit_list(stores, plan_.walks.back().after, nullptr);
  }

  /// Does it read the whole row as it lies, and keep what it makes of it?
  bool crosses_stretches(const TileStep& step) const {
    using Where = ValueLocation::Where;
    const auto is_even = [&](long operand) {
      return space().operands[static_cast<std::size_t>(operand)].q.size() == 1;
    };
    if (step.kind == TileStep::Kind::load)
      return !step.patch && step.out.where == Where::whole_row && is_even(step.access);
    const auto crosses = [&](const ValueLocation& from) {
      return from.where == Where::whole_row || (from.where == Where::memory && is_even(from.offset));
    };
    const ValueLocation& second = step.in[1];
    return step.kind == TileStep::Kind::fold && crosses(step.in[0]) &&
           (second.where == Where::none || !second.has_q || crosses(second));
  }

  /// The values of one per row that become known after `walk` reductions (the reductions themselves are
  /// finished already).
  void emit_row_values(int walk, TileSteps& steps) {
    std::vector<Reg> order;
    for (Reg r = 0; r < end(); ++r) {
      const LoopOp op = at(r).op;
      if (op == LoopOp::reduce || op == LoopOp::store || value(r).in_block || value(r).walk != walk) continue;
      if (value(r).needed) order.push_back(r);
    }
    emit_list(order, steps, nullptr);
  }

  /// What walk s computes block by block: its reductions, in the last walk the stores, and all they need that
  /// is not kept from an earlier walk.
  std::vector<Reg> block_order(int s) {
    std::vector<bool> wanted(nodes_.size(), false);
    std::vector<Reg> result;
    for (Reg r = end(); r-- > 0;) {
      const LoopOp op = at(r).op;
      const bool folds = op == LoopOp::reduce && value(r).walk == s + 1 && value(r).needed;
      const bool stores = op == LoopOp::store && value(r).in_block && s == last_walk_;
      if (!folds && !stores && !wanted[static_cast<std::size_t>(r)]) continue;
      if (!folds && !stores && (!value(r).in_block || is_kept(r))) continue;
      result.push_back(r);
      for (int a = 0; a < arg_count(r); ++a) wanted[static_cast<std::size_t>(arg(r, a))] = true;
    }
    std::reverse(result.begin(), result.end());
    std::stable_partition(result.begin(), result.end(), [&](Reg r) { return at(r).op != LoopOp::store; });
    bring_pairs_together(result);
    keep_for_later(s, result);
    return result;
  }

  /// Of what walk s computes, keeps the values that later walks need and that cost more than a load.
  void keep_for_later(int s, const std::vector<Reg>& computed) {
    for (const Reg r : computed) {
      const Instruction& i = at(r);
      const bool full = value(r).has_q && (value(r).has_p || space().p == 1);
      if (i.op == LoopOp::store || i.op == LoopOp::reduce || !full || is_direct_load(r)) continue;
      if (!is_used_after(r, s)) continue;
      const long bytes = row_values() * stored_size(held(r));
      if (kept_bytes_ + bytes > whole_row_budget) continue;
      kept_bytes_ += bytes;
      location(r) = new_location(r, ValueLocation::Where::whole_row, bytes);
    }
  }
  bool is_used_after(Reg r, int s) {
    for (Reg user = r + 1; user < end(); ++user) {
      if (!value(user).needed) continue;
      for (int a = 0; a < arg_count(user); ++a) {
        if (arg(user, a) != r) continue;
        const bool reduces = at(user).op == LoopOp::reduce;
        const int when = at(user).op == LoopOp::store ? last_walk_ : value(user).walk - (reduces ? 1 : 0);
        if (when > s) return true;
      }
    }
    return false;
  }
  /// How many values a register has that is kept for all blocks of an item.
  long row_values() const {
    if (space().mode == LoopMode::rows) return space().q_count * space().p_block;
    long count = space().p * space().q_block;
    for (const long extent : space().reduced_outer) count *= extent;
    return count;
  }

  void estimate_cost() {
    long per_point = 1;
    for (Reg r = 0; r < end(); ++r)
      if (value(r).needed && at(r).op == LoopOp::prim && (value(r).in_block || fills_tile(r)))
        per_point += node(r).fused < 0 && is_heavy(at(r).prim) ? 8 : 1;
    long points = space().p_block * space().q_block;
    if (space().mode == LoopMode::rows) points = space().p_block * std::max(1L, space().q_count);
    if (space().mode == LoopMode::columns) points = std::max(1L, row_values());
    plan_.item_cost = per_point * points;
  }

  int last_walk_ = 0;
  long kept_bytes_ = 0;
};

}  // namespace

LoopPlan make_plan(const LoopProgram& program, LoopSpace space) {
  return Compiler(program, std::move(space)).compile();
}

}  // namespace tenon::cpu
