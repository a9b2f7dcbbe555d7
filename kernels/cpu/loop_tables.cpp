// Finds what a loop program computes of one byte, and makes tables of it.
#include <optional>

#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

// So many points are worth what a table costs.
constexpr std::int64_t fewest_points = 4096;

bool is_byte(DType t) { return size_of(t) == 1 && !is_float(t); }

// What a register is computed of.
struct Origin {
  Reg byte = -1;          // the only load
  bool is_wider = false;  // is anything on the way held in more than a byte?
};

class Tables {
 public:
  Tables(const LoopProgram& program, const std::vector<LoopNode>& nodes) : program_(program), nodes_(nodes) {}

  std::optional<Origin> origin(Reg r) const {
    Origin found;
    return visit(r, found) && found.byte >= 0 ? std::optional(found) : std::nullopt;
  }
  /// Do only stores to `type` read it?
  bool is_only_stored_as(Reg r, DType type) const {
    for (Reg user = r + 1; user < static_cast<Reg>(nodes_.size()); ++user) {
      const Instruction& i = at(user);
      const int args = i.op == LoopOp::store ? 1 : arg_count(i);
      for (int a = 0; a < args; ++a)
        if (i.args[static_cast<std::size_t>(a)] == r && (i.op != LoopOp::store || stored_type(user) != type))
          return false;
    }
    return true;
  }
  DType stored_type(Reg r) const {
    return program_.code.operands[static_cast<std::size_t>(at(r).operand)].dtype;
  }

 private:
  const Instruction& at(Reg r) const { return program_.code.instructions[static_cast<std::size_t>(r)]; }
  bool visit(Reg r, Origin& found) const {
    const Instruction& i = at(r);
    if (i.op == LoopOp::constant) return true;
    if (i.op == LoopOp::load && is_byte(stored_type(r)) && (found.byte < 0 || found.byte == r)) {
      found.byte = r;
      return true;
    }
    if (i.op != LoopOp::prim) return false;
    found.is_wider |= size_of(nodes_[static_cast<std::size_t>(r)].held) > 1;
    for (int a = 0; a < arg_count(i); ++a)
      if (!visit(i.args[static_cast<std::size_t>(a)], found)) return false;
    return true;
  }

  const LoopProgram& program_;
  const std::vector<LoopNode>& nodes_;
};

}  // namespace

void use_tables(const LoopProgram& program, std::vector<LoopNode>& nodes) {
  std::int64_t points = 1;
  for (const std::int64_t size : program.shape.dims) points *= size;
  if (program.code.reduced > 0 || points < fewest_points) return;
  const Tables tables(program, nodes);
  for (Reg s = 0; s < static_cast<Reg>(nodes.size()); ++s) {
    if (nodes[static_cast<std::size_t>(s)].instruction.op != LoopOp::store) continue;
    const DType to = tables.stored_type(s);
    const Reg r = program.code.instructions[static_cast<std::size_t>(s)].args[0];
    const auto origin = is_byte(to) ? tables.origin(r) : std::nullopt;
    if (!origin || !origin->is_wider || !tables.is_only_stored_as(r, to)) continue;
    const auto values = function_of_byte(program, origin->byte, tables.stored_type(origin->byte), r, to);
    if (!values) continue;
    LoopNode table;
    table.instruction = {.op = LoopOp::prim, .type = to, .args = {origin->byte, -1, -1}};
    table.arg_count = 1;
    table.held = table.operands = to;
    table.table = *values;
    nodes[static_cast<std::size_t>(r)] = table;
    nodes[static_cast<std::size_t>(s)].instruction.args[0] = r;
  }
}

}  // namespace tenon::cpu
