// Levels and stages of the values of a loop.
#include "kernels/gpu/loop_stages.h"

#include <algorithm>

namespace tenon::gpu {
namespace {

template <class F>
void for_each_arg(const Instruction& i, F&& f) {
  for (int a = 0; a < arg_count(i); ++a) f(static_cast<std::size_t>(i.args[static_cast<std::size_t>(a)]));
}

class Describer {
 public:
  Describer(const LoopCode& code, bool keeps) : code_(code), keeps_(keeps), values_(size()) {}

  std::vector<LoopValue> run() {
    for (std::size_t at = 0; at < size(); ++at) describe(at);
    for (std::size_t at = size(); at-- > 0;) mark_needed(at);
    for (std::size_t at = size(); at-- > 0;) place(at);
    for (std::size_t at = 0; at < size(); ++at) delay_store(at);
    for (std::size_t at = 0; at < size(); ++at) note_uses(at);
    return std::move(values_);
  }

 private:
  std::size_t size() const { return code_.instructions.size(); }
  const Instruction& at(std::size_t i) const { return code_.instructions[i]; }
  const LoopCode::OperandCode* operand_of(const Instruction& i) const {
    return i.operand < 0 ? nullptr : &code_.operands[static_cast<std::size_t>(i.operand)];
  }

  void describe(std::size_t index) {
    const Instruction& i = at(index);
    LoopValue& v = values_[index];
    v.of_row = code_.reduced > 0 && !varies(i, code_.reduced);
    v.of_chunk = !varies(i, 1);
    for_each_arg(i, [&](std::size_t arg) {
      const LoopValue& from = values_[arg];
      v.ready = std::max(v.ready, from.ready);
      if (i.op == LoopOp::reduce) return;
      v.of_row = v.of_row && from.of_row;
      v.of_chunk = v.of_chunk && from.of_chunk;
    });
    if (i.op == LoopOp::reduce) ++v.ready;
    v.stage = v.ready;
  }

  /// By itself, over the last `count` dims.
  bool varies(const Instruction& i, int count) const {
    if (i.op == LoopOp::tile) return true;
    if (i.op == LoopOp::iota) return i.dim >= rank() - count;
    const LoopCode::OperandCode* operand = operand_of(i);
    if (!operand) return false;
    const auto first = operand->strides.end() - std::min(count, rank());
    return std::any_of(first, operand->strides.end(), [](Stride s) { return s != Stride::zero; });
  }
  int rank() const {
    for (const auto& operand : code_.operands) return static_cast<int>(operand.strides.size());
    return 0;
  }

  void mark_needed(std::size_t index) {
    values_[index].needed = values_[index].needed || at(index).op == LoopOp::store;
    if (!values_[index].needed) return;
    for_each_arg(at(index), [&](std::size_t arg) { values_[arg].needed = true; });
  }

  /// In which stage an instruction reads its arguments.
  int reads_in(std::size_t index) const {
    return at(index).op == LoopOp::reduce ? values_[index].ready - 1 : values_[index].stage;
  }
  void place(std::size_t index) {
    if (values_[index].of_row || at(index).op == LoopOp::store) return;
    int first_use = -1;
    for (std::size_t user = index + 1; user < size(); ++user) {
      if (!values_[user].needed || (values_[user].of_row && at(user).op != LoopOp::reduce)) continue;
      for_each_arg(at(user), [&](std::size_t arg) {
        if (arg == index) first_use = first_use < 0 ? reads_in(user) : std::min(first_use, reads_in(user));
      });
    }
    values_[index].stage = std::max(values_[index].ready, first_use);
  }

  /// What a later stage still loads is not overwritten before.
  void delay_store(std::size_t index) {
    if (at(index).op != LoopOp::store) return;
    for (std::size_t load = 0; load < size(); ++load)
      if (at(load).op == LoopOp::load && operand_of(at(load))->buffer == operand_of(at(index))->buffer)
        values_[index].stage = std::max(values_[index].stage, keeps_ ? values_[load].stage : last_stage());
  }
  int last_stage() const {
    int last = 0;
    for (std::size_t i = 0; i < size(); ++i)
      if (values_[i].needed) last = std::max(last, at(i).op == LoopOp::reduce ? 0 : values_[i].ready);
    return last;
  }

  void note_uses(std::size_t index) {
    if (!values_[index].needed) return;
    for_each_arg(at(index), [&](std::size_t arg) {
      values_[arg].last_use = std::max(values_[arg].last_use, reads_in(index));
    });
  }

  const LoopCode& code_;
  const bool keeps_;
  std::vector<LoopValue> values_;
};

}  // namespace

std::vector<LoopValue> describe(const LoopCode& code, bool keeps) { return Describer(code, keeps).run(); }

int stage_count(const LoopCode& code, const std::vector<LoopValue>& values) {
  int count = code.reduced > 0 ? 0 : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const LoopOp op = code.instructions[i].op;
    if (!values[i].needed) continue;
    if (op == LoopOp::reduce) count = std::max(count, values[i].ready);
    if (op == LoopOp::store && !values[i].of_row) count = std::max(count, values[i].stage + 1);
  }
  return count;
}

bool is_kept(const LoopCode& code, const std::vector<LoopValue>& values, Reg r) {
  const LoopValue& v = values[static_cast<std::size_t>(r)];
  const LoopOp op = code.instructions[static_cast<std::size_t>(r)].op;
  return v.needed && !v.of_row && op != LoopOp::iota && op != LoopOp::store && v.last_use > v.stage;
}

int kept_values(const LoopCode& code) {
  const std::vector<LoopValue> values = describe(code, true);
  const auto bytes = [&](std::size_t i) {
    return code.instructions[i].type == DType::f64 || code.instructions[i].type == DType::i64 ? 8 : 4;
  };
  const auto bytes_read = [&](std::size_t i) {
    const auto operand = static_cast<std::size_t>(code.instructions[i].operand);
    return static_cast<int>(size_of(code.operands[operand].dtype));
  };
  int most = 0;
  for (int stage = 0; stage < stage_count(code, values); ++stage) {
    int held = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const LoopOp op = code.instructions[i].op;
      const bool is_read = values[i].needed && !values[i].of_row && values[i].stage == stage &&
                           (op == LoopOp::load || op == LoopOp::gather);
      const bool comes_before = is_kept(code, values, static_cast<Reg>(i)) && values[i].stage < stage &&
                                values[i].last_use >= stage;
      if (comes_before)
        held += bytes(i);
      else if (is_read)
        held += bytes_read(i);
    }
    most = std::max(most, held);
  }
  constexpr int of_register = 4;
  return (most + of_register - 1) / of_register;
}

}  // namespace tenon::gpu
