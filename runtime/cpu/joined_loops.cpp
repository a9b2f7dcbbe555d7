#include "runtime/cpu/joined_loops.h"

#include <algorithm>
#include <cstdlib>

namespace tenon {
namespace {

constexpr std::ptrdiff_t line_bytes = 64;
constexpr std::size_t most_operands = 12, most_instructions = 48;

bool gathers(const LoopCode& code) {
  return std::any_of(code.instructions.begin(), code.instructions.end(),
                     [](const Instruction& i) { return i.op == LoopOp::gather; });
}

// Of the elements between two of the one, the other has some.
bool take_turns(const LoweredLoop& first, std::size_t i, const LoweredLoop& second, std::size_t k) {
  const LoopOperand a = first.program.operand(i), b = second.program.operand(k);
  const PlannedTensor &at = first.buffers[static_cast<std::size_t>(a.buffer)],
                      &bt = second.buffers[static_cast<std::size_t>(b.buffer)];
  const bool is_dense =
      std::any_of(a.strides.begin(), a.strides.end(), [](auto s) { return std::abs(s) == 1; });
  return !is_dense && a.strides == b.strides && a.dtype == b.dtype && at.buffer() == bt.buffer() &&
         at.offset() != bt.offset() && std::abs(at.address().offset - bt.address().offset) < line_bytes;
}
bool take_turns(const LoweredLoop& first, const LoweredLoop& second) {
  for (std::size_t i = 0; i < first.program.code.operands.size(); ++i)
    for (std::size_t k = 0; k < second.program.code.operands.size(); ++k)
      if (take_turns(first, i, second, k)) return true;
  return false;
}

// Appends a loop to another one, whose loads it shares.
class Append {
 public:
  Append(LoweredLoop& loop, const LoweredLoop& more) : loop_(loop), more_(more) {}

  void run() {
    for (const Instruction& i : more_.program.code.instructions) regs_.push_back(reg(i));
  }

 private:
  LoopOperand operand(int index) {
    LoopOperand operand = more_.program.operand(static_cast<std::size_t>(index));
    const PlannedTensor& tensor = more_.buffers[static_cast<std::size_t>(operand.buffer)];
    const auto is_same = [&](const PlannedTensor& t) {
      return t.buffer() == tensor.buffer() && t.offset() == tensor.offset() &&
             t.strides() == tensor.strides();
    };
    const auto found = std::find_if(loop_.buffers.begin(), loop_.buffers.end(), is_same);
    operand.buffer = static_cast<int>(found - loop_.buffers.begin());
    if (found == loop_.buffers.end()) loop_.buffers.push_back(tensor);
    return operand;
  }
  Reg load(const LoopOperand& from) {
    const auto& instructions = loop_.program.code.instructions;
    for (std::size_t r = 0; r < instructions.size(); ++r)
      if (instructions[r].op == LoopOp::load &&
          loop_.program.operand(static_cast<std::size_t>(instructions[r].operand)) == from)
        return static_cast<Reg>(r);
    return loop_.program.load(from);
  }
  Reg reg(Instruction i) {
    for (int a = 0; a < arg_count(i); ++a) {
      Reg& argument = i.args[static_cast<std::size_t>(a)];
      argument = regs_[static_cast<std::size_t>(argument)];
    }
    if (i.op == LoopOp::load) return load(operand(i.operand));
    auto& instructions = loop_.program.code.instructions;
    if (i.op == LoopOp::store)
      loop_.program.store(operand(i.operand), i.args[0]);
    else
      instructions.push_back(i);
    return static_cast<Reg>(instructions.size()) - 1;
  }

  LoweredLoop& loop_;
  const LoweredLoop& more_;
  std::vector<Reg> regs_;  // of its instructions
};

}  // namespace

std::optional<LoweredLoop> joined(const LoweredLoop& first, const LoweredLoop& second) {
  const LoopCode &a = first.program.code, &b = second.program.code;
  if (first.program.shape.dims != second.program.shape.dims || a.reduced != b.reduced || gathers(a) ||
      gathers(b) || a.operands.size() + b.operands.size() > most_operands ||
      a.instructions.size() + b.instructions.size() > most_instructions || !take_turns(first, second))
    return std::nullopt;
  LoweredLoop both = first;
  Append(both, second).run();
  return both;
}

LoopProgram with_neighbours(const LoweredLoop& loop) {
  LoopProgram program = loop.program;
  const std::size_t count = program.code.operands.size();
  std::vector<bool> is_loaded(loop.buffers.size(), false), is_stored(loop.buffers.size(), false);
  for (const Instruction& i : program.code.instructions)
    if (i.operand >= 0)
      (i.op == LoopOp::store ? is_stored : is_loaded)[static_cast<std::size_t>(
          program.code.operands[static_cast<std::size_t>(i.operand)].buffer)] = true;
  for (std::size_t k = 1; k < count; ++k)
    for (std::size_t i = 0; i < k; ++i) {
      const LoopOperand a = program.operand(i), b = loop.program.operand(k);
      const auto of_a = static_cast<std::size_t>(a.buffer), of_b = static_cast<std::size_t>(b.buffer);
      const PlannedTensor &at = loop.buffers[of_a], &bt = loop.buffers[of_b];
      const auto apart = bt.offset() - at.offset();
      if (of_a == of_b || at.buffer() != bt.buffer() || a.dtype != b.dtype || a.strides != b.strides ||
          std::abs(apart) != 1 || is_stored[of_a] != is_stored[of_b] || is_loaded[of_a] == is_stored[of_a] ||
          is_loaded[of_b] == is_stored[of_b])
        continue;
      program.code.operands[k].buffer = a.buffer;
      program.shape.operands[k].offset = b.offset + apart;
      break;
    }
  return program;
}

}  // namespace tenon
