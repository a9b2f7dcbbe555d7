// The steps of a loop program's plan, and where its values lie. Internal to loop_compile.cpp.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {

inline long stored_size(DType type) { return static_cast<long>(size_of(type)); }

/// Appends steps for the instructions it is given to a plan.
class LoopSteps {
 public:
  LoopSteps(const LoopProgram& program, LoopSpace space);

 protected:
  std::size_t operand(Reg r) const { return static_cast<std::size_t>(at(r).operand); }
  const LoopNode& node(Reg r) const { return nodes_[static_cast<std::size_t>(r)]; }
  DType held(Reg r) const { return node(r).held; }
  const Instruction& at(Reg r) const { return nodes_[static_cast<std::size_t>(r)].instruction; }
  LoopValue& value(Reg r) { return values_[static_cast<std::size_t>(r)]; }
  ValueLocation& location(Reg r) { return locations_[static_cast<std::size_t>(r)]; }
  int arg_count(Reg r) const { return node(r).arg_count; }
  Reg arg(Reg r, int i) const { return node(r).arg(i); }
  Reg end() const { return static_cast<Reg>(nodes_.size()); }
  const LoopSpace& space() const { return plan_.space; }
  /// One block covers the whole reduced row, so that everything runs in program order.
  bool single_pass() const;
  /// Is it computed for each tile, even where the tile before had the same rows, or columns?
  bool fills_tile(Reg r);
  /// Loads, or stores, of both elements of pairs that lie side by side in memory.
  bool are_pair(Reg a, Reg b);
  bool is_kept(Reg r) { return location(r).where == ValueLocation::Where::whole_row; }

  bool is_direct_load(Reg r);
  ValueLocation new_location(Reg r, ValueLocation::Where where, long bytes);
  void emit_list(const std::vector<Reg>& order, TileSteps& steps, TileSteps* after_folds);

  const LoopProgram& program_;
  LoopPlan plan_;
  std::vector<LoopNode> nodes_;
  std::vector<LoopValue> values_;

 private:
  bool is_dense(const Access& access, const LoopValue& v) const;
  /// A load of 16-bit floats that only folds read, which widen them.
  bool is_folded_in_memory(Reg load);
  /// A load whose memory another store may have written when a store reads it.
  bool is_read_after_stores(Reg load) const;
  long allocate(long bytes);
  long values_in(bool has_p, bool has_q) const;
  /// Frees the scratch of values that no step after `now` reads.
  void release(int now, const std::vector<int>& last_use);
  ValueLocation scratch_for(Reg r);
  void emit(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps, TileSteps* after_folds);
  TileStep step_for(Reg r, TileStep::Kind kind);
  void set_out(Reg r);
  /// The same, for a result that may be written to where it is stored.
  void set_out(Reg r, const std::vector<Reg>& order, std::size_t n);
  ValueLocation new_scratch(DType type, bool has_p, bool has_q);
  ValueLocation in_memory(Reg r, int operand, DType type);
  ValueLocation constant_location(const Instruction& i);
  void emit_load(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps);
  /// What lies apart in memory is brought together as it is: conversions are of dense rows.
  void move_patches(TileStep& step, Reg r);
  /// Appends a load or a store whose values have their place, or makes it one with the step before, which
  /// moves the other elements of its pairs.
  void add_move(TileStep step, Reg r, TileSteps& steps);
  void emit_gather(Reg r, TileSteps& steps);
  void emit_iota(Reg r, TileSteps& steps);
  OpFn op_of(Reg r);
  /// Where the values of r lie in the type `type`: they are converted if they are held in another one.
  /// Integers of the same size have the same bits, and the first bytes of a constant are those of narrower
  /// ones. Where a store reads nothing else, they may be converted to its memory.
  ValueLocation held_as(Reg r, DType type, TileSteps& steps, Reg store = -1);
  void emit_prim(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps);
  void emit_table(Reg r, const std::vector<Reg>& order, std::size_t n, TileSteps& steps);
  /// The store that this result may be written to at once, or -1. Not if something after it still reads
  /// memory: the target may be the same memory as an input.
  Reg direct_store(Reg r, const std::vector<Reg>& order, std::size_t n);
  bool reads_memory(Reg user);
  bool can_write_directly(Reg store, Reg r, DType type);
  /// A sum of integers whose users read the low bits alone.
  bool wraps(Reg r) const {
    return at(r).reduce == Reduce::sum && is_integral(held(r)) && held(r) != DType::i64;
  }
  ReduceOps reduce_of(Reg r) const;
  void emit_reduce(Reg r, TileSteps& steps, TileSteps& after);
  /// Folds need one value per column: repeats a value that has none.
  ValueLocation fill_columns(Reg r, DType type, TileSteps& steps);
  void emit_store(Reg r, TileSteps& steps);

  std::vector<ValueLocation> locations_;
  std::vector<Reg> live_;
  std::map<std::pair<long, long>, std::vector<long>> free_;  // scratch offsets by value size and count
  std::optional<OperatorInMemory> in_memory_;
  long packed_ = -1;  // scratch of one block
  Reg moved_ = -1;    // the load or store of the last step that add_move appended
};

}  // namespace tenon::cpu
