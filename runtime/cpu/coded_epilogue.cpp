#include "runtime/cpu/coded_epilogue.h"

#include <cmath>
#include <vector>

#include "kernels/cpu/byte_function.h"
#include "kernels/cpu/loop_patterns.h"
#include "runtime/centred_bytes.h"

namespace tenon {
namespace {

using cpu::CodedRows;

// From the result back to the tile. What matches must be all of the way, so nothing else can read what lies
// on it.
class Recogniser {
 public:
  explicit Recogniser(const LoopProgram& program) : program_(program), patterns_(program) {}

  /// Steps that the kernel takes one after the other, in one pass or in two.
  std::vector<CodedPass> steps() const {
    Reg x = program_.code.instructions.back().args[0];
    CodedPass last;
    CodedRows& rows = last.rows;
    if (const auto quantised = take_codes(x)) {
      if (program_.code.operands.back().dtype != patterns_.at(x).type) return {};
      rows.result = CodedRows::Result::codes;
      rows.last = quantised->how;
      x = quantised->of;
    } else if (const auto rounded = take_rounded(x)) {
      rows.result = CodedRows::Result::rounded;
      rows.last = rounded->codes;
      rows.of_last = rounded->meaning;
      x = rounded->of;
    }
    if (const auto activation = patterns_.activation(x);
        activation && CodedRows::takes(activation->function.kind)) {
      rows.activation = activation->function;
      x = activation->of;
    }
    x = take_sum(x, last);
    const bool has_codes =
        rows.rounds || rows.result != CodedRows::Result::floats || is_byte(rows.residual_type);
    if (!has_codes) return {};
    if (is_tile(x)) return {std::move(last)};
    CodedPass first;
    x = take_sum(x, first);
    if (!is_tile(x)) return {};
    return {std::move(first), std::move(last)};
  }

  /// Whatever is a function of the tile's codes, or of those of a sum with them.
  std::vector<CodedPass> table() const {
    const Reg result = program_.code.instructions.back().args[0];
    CodedPass found;
    cpu::CodedRows& rows = found.rows;
    const auto meaning = take_meaning(result);
    const Reg last = meaning ? meaning->of : result;
    if (!is_cast(last, DType::u8) && !is_cast(last, DType::i8)) return {};
    if (meaning) rows.of_last = meaning->how;
    rows.result = meaning ? CodedRows::Result::rounded : CodedRows::Result::codes;
    rows.of_signed = is_cast(last, DType::i8);
    if (!meaning && program_.code.operands.back().dtype != patterns_.at(last).type) return {};
    rows.by_table = true;
    for (Reg r = 0; r < last; ++r) {
      const auto first = take_codes(r);
      const auto values =
          first ? cpu::function_of_byte(program_, r, patterns_.at(r).type, last, patterns_.at(last).type)
                : std::nullopt;
      if (!values) continue;
      CodedPass before;
      const Reg of = is_tile(first->of) ? first->of : take_sum(first->of, before);
      if (!is_tile(of)) continue;
      rows.first = first->how;
      rows.table = *values;
      if (of == first->of) return {std::move(found)};
      return {std::move(before), std::move(found)};
    }
    return {};
  }

 private:
  template <class How>
  struct Taken {
    How how;
    Reg of;
  };
  struct Rounded {
    cpu::Quantise codes;
    cpu::Dequantise meaning;
    Reg of;
  };

  bool is_cast(Reg r, DType to) const {
    const Instruction& i = patterns_.at(r);
    return i.op == LoopOp::prim && i.prim == Prim::cast && i.type == to;
  }
  // A float instruction of a register and a constant on its right, or, where they commute, on any side.
  std::optional<Taken<float>> with_constant(Reg r, Prim p) const {
    if (!patterns_.is(r, p) || patterns_.at(r).type != DType::f32) return std::nullopt;
    const auto& args = patterns_.at(r).args;
    const bool commutes = p == Prim::add || p == Prim::mul;
    if (patterns_.is_constant(args[1])) return Taken<float>{constant(args[1]), args[0]};
    if (commutes && patterns_.is_constant(args[0])) return Taken<float>{constant(args[0]), args[1]};
    return std::nullopt;
  }
  float constant(Reg r) const { return static_cast<float>(patterns_.at(r).value); }
  static bool is_whole(float x, float low, float high) {
    return x == std::nearbyint(x) && x >= low && x <= high;
  }

  // The argument of what makes codes of it.
  std::optional<Taken<cpu::Quantise>> take_codes(Reg r) const {
    const bool is_signed = is_cast(r, DType::i8);
    if (!is_signed && !is_cast(r, DType::u8)) return std::nullopt;
    cpu::Quantise how;
    r = patterns_.at(r).args[0];
    if (is_cast(r, is_signed ? DType::i8 : DType::u8))
      r = patterns_.at(r).args[0];  // it is stored as that, too
    const auto clamped = patterns_.activation(r);
    if (!clamped || clamped->function.kind != cpu::Activation::Kind::clamp) return std::nullopt;
    how.low = clamped->function.low;
    how.high = clamped->function.high;
    const float least = is_signed ? -128 : 0;
    if (!is_whole(how.low, least, least + 255) || !is_whole(how.high, how.low, least + 255))
      return std::nullopt;
    r = clamped->of;
    if (const auto shifted = with_constant(r, Prim::add)) {
      if (!is_whole(shifted->how, -255, 255)) return std::nullopt;
      how.zero = shifted->how;
      r = shifted->of;
    }
    if (!patterns_.is(r, Prim::round)) return std::nullopt;
    r = patterns_.at(r).args[0];
    auto scaled = with_constant(r, Prim::div);
    how.multiplies = !scaled;
    if (!scaled) scaled = with_constant(r, Prim::mul);
    if (!scaled) return std::nullopt;
    how.scale = scaled->how;
    if (!(how.scale >= 0x1p-60F && how.scale <= 0x1p60F)) return std::nullopt;
    return Taken<cpu::Quantise>{how, scaled->of};
  }

  // The codes, whole numbers, of what makes floats of them.
  std::optional<Taken<cpu::Dequantise>> take_meaning(Reg r) const {
    cpu::Dequantise how;
    const auto scaled = with_constant(r, Prim::mul);
    if (!scaled) return std::nullopt;
    how.scale = scaled->how;
    r = scaled->of;
    if (const auto shifted = with_constant(r, Prim::sub)) {
      if (!is_whole(shifted->how, -255, 255)) return std::nullopt;
      how.zero = shifted->how;
      r = shifted->of;
    }
    if (!is_cast(r, DType::f32)) return std::nullopt;
    return Taken<cpu::Dequantise>{how, patterns_.at(r).args[0]};
  }

  std::optional<Rounded> take_rounded(Reg r) const {
    const auto meaning = take_meaning(r);
    const auto codes = meaning ? take_codes(meaning->of) : std::nullopt;
    if (!codes) return std::nullopt;
    return Rounded{codes->how, meaning->how, codes->of};
  }

  std::optional<LoopOperand> rows_of(Reg r) const {
    if (patterns_.at(r).op != LoopOp::load) return std::nullopt;
    LoopOperand from = program_.operand(static_cast<std::size_t>(patterns_.at(r).operand));
    const bool fits = from.strides[0] >= 0 && from.strides[1] == 1 && from.offset == 0;
    return fits ? std::optional(std::move(from)) : std::nullopt;
  }

  bool is_tile(Reg r) const {
    return patterns_.at(r).op == LoopOp::tile && patterns_.at(r).type == DType::f32;
  }

  // What codes are made of to which something is added; each step may be absent.
  Reg take_sum(Reg x, CodedPass& pass) const {
    x = take_residual(x, pass).value_or(x);
    const auto rounded = take_rounded(x);
    if (!rounded) return x;
    pass.rows.rounds = true;
    pass.rows.first = rounded->codes;
    pass.rows.of_first = rounded->meaning;
    return rounded->of;
  }

  // The other summand of a load of floats or bytes.
  std::optional<Reg> take_residual(Reg sum, CodedPass& pass) const {
    if (!patterns_.is(sum, Prim::add)) return std::nullopt;
    const auto& args = patterns_.at(sum).args;
    for (const std::size_t side : {1U, 0U}) {
      const auto meaning = take_meaning(args[side]);
      auto rows = rows_of(meaning ? meaning->of : args[side]);
      if (!rows || !(meaning ? is_byte(rows->dtype) : rows->dtype == DType::f32)) continue;
      pass.rows.adds = true;
      pass.rows.residual_type = rows->dtype;
      if (meaning) pass.rows.of_residual = meaning->how;
      pass.residual = std::move(rows);
      return args[1 - side];
    }
    return std::nullopt;
  }

  const LoopProgram& program_;
  cpu::LoopPatterns patterns_;
};

}  // namespace

std::vector<CodedPass> coded_passes(const LoopProgram& program) {
  const Recogniser recogniser(program);
  auto steps = recogniser.steps();
  return steps.empty() ? recogniser.table() : steps;
}

}  // namespace tenon
