// How large the blocks of a loop program may be: as its registers allow, which are to stay in L1.
#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/cpu/held_type.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

class Registers {
 public:
  Registers(const LoopProgram& program, const LoopSpace& space)
      : program_(program), space_(space), nodes_(recognise_chains(program, space.mode)) {
    choose_held_types(program, nodes_);
    join_products(program, space.mode, nodes_);
    values_ = describe_values(nodes_, space);
  }

  /// Bytes of a value of each register that holds a block.
  std::size_t bytes() const {
    if (operator_in_memory(program_, nodes_, values_, space_)) return 0;
    std::size_t bytes = 0;
    for (Reg r = 0; r < static_cast<Reg>(nodes_.size()); ++r) {
      const LoopValue& v = value(r);
      if (!v.needed || at(r).op == LoopOp::constant) continue;
      const bool converts = at(r).op == LoopOp::prim || at(r).op == LoopOp::reduce ||
                            (at(r).op == LoopOp::store && !is_dense(r, node(r).held));
      for (int a = 0; converts && a < node(r).arg_count; ++a)
        if (is_block(arg(r, a)) && size_of(node(r).operands) != size_of(node(arg(r, a)).held))
          bytes += size_of(node(r).operands);
      if (at(r).op == LoopOp::store || at(r).op == LoopOp::reduce || !is_block(r)) continue;
      if (!is_read_in_place(r) && !is_written_in_place(r)) bytes += size_of(node(r).held);
    }
    return bytes == 0 ? 0 : bytes + bytes_read_again();
  }

 private:
  const LoopNode& node(Reg r) const { return nodes_[static_cast<std::size_t>(r)]; }
  const LoopValue& value(Reg r) const { return values_[static_cast<std::size_t>(r)]; }
  const Instruction& at(Reg r) const { return node(r).instruction; }
  Reg arg(Reg r, int a) const { return node(r).arg(a); }
  /// Of what lies in memory, but several loops over the block read it.
  std::size_t bytes_read_again() const {
    std::size_t bytes = 0;
    for (Reg r = 0; r < static_cast<Reg>(nodes_.size()); ++r) {
      if (!value(r).needed || at(r).op != LoopOp::load || !is_block(r) || !is_read_in_place(r)) continue;
      int readers = 0;
      for (Reg user = r + 1; user < static_cast<Reg>(nodes_.size()); ++user)
        readers += value(user).needed && node(user).reads(r) ? 1 : 0;
      if (readers > 1) bytes += size_of(node(r).held);
    }
    return bytes;
  }
  bool is_block(Reg r) const { return value(r).has_q || value(r).in_block; }
  /// Is the operand of r dense in memory, in the type of its values?
  bool is_dense(Reg r, DType held) const {
    const auto operand = static_cast<std::size_t>(at(r).operand);
    const Access& access = space_.operands[operand];
    const long step = value(r).has_q ? access.q.back() : access.p;
    return program_.code.operands[operand].dtype == held && space_.has_one_stride(access) && step == 1;
  }
  bool is_read_in_place(Reg r) const {
    return at(r).op == LoopOp::load && is_dense(r, node(r).held) &&
           (!is_bool(node(r).held) || only_primitives_read(nodes_, r));
  }
  bool is_written_in_place(Reg r) const {
    bool written = false;
    for (Reg user = r + 1; user < static_cast<Reg>(nodes_.size()); ++user)
      for (int a = 0; value(user).needed && a < node(user).arg_count; ++a) {
        if (arg(user, a) != r) continue;
        if (at(user).op != LoopOp::store || !is_dense(user, node(r).held)) return false;
        written = true;
      }
    return written;
  }

  const LoopProgram& program_;
  const LoopSpace& space_;
  std::vector<LoopNode> nodes_;
  std::vector<LoopValue> values_;
};

}  // namespace

long block_times(const LoopProgram& program, const LoopSpace& space) {
  constexpr std::size_t usual = 16;
  const std::size_t bytes = Registers(program, space).bytes();
  if (bytes > 0) return static_cast<long>(std::max<std::size_t>(1, usual / bytes));
  // A block costs its calls, and memory waits meanwhile; but threads want some blocks each. Where a row has
  // several blocks, these are its sums' parts.
  constexpr long without_registers = 8, most = 32, enough_blocks = 32;
  const bool is_whole = space.mode == LoopMode::rows && space.q_count <= whole_row_limit;
  if (space.mode != LoopMode::map && !is_whole) return without_registers;
  const long elements = is_whole ? whole_row_limit : block_elements;
  const long points =
      std::accumulate(space.outer.begin(), space.outer.end(), space.p * space.q_count, std::multiplies<>());
  return std::clamp(points / (enough_blocks * elements), without_registers, most);
}

}  // namespace tenon::cpu
