// Building, checking and printing of loop programs.
#include "kernels/loop_program.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

Reg append(LoopProgram& program, const Instruction& instruction) {
  program.code.instructions.push_back(instruction);
  return static_cast<Reg>(program.code.instructions.size()) - 1;
}

int add_operand(LoopProgram& program, LoopOperand operand) {
  LoopCode::OperandCode code{.buffer = operand.buffer,
                             .dtype = operand.dtype,
                             .strides = {},
                             .index_stride = class_of(operand.index_stride),
                             .from_end = operand.from_end};
  for (const std::int64_t stride : operand.strides) code.strides.push_back(class_of(stride));
  LoopShape::OperandShape shape{std::move(operand.strides), operand.offset, operand.index_stride,
                                operand.range};
  std::size_t index = 0;
  while (index < program.code.operands.size() &&
         (program.code.operands[index] != code || program.shape.operands[index] != shape))
    ++index;
  if (index == program.code.operands.size()) {
    program.code.operands.push_back(std::move(code));
    program.shape.operands.push_back(std::move(shape));
  }
  return static_cast<int>(index);
}

LoopOperand operand_of(const LoopProgram& program, const Instruction& i) {
  return program.operand(static_cast<std::size_t>(i.operand));
}

DType result_type(Prim p, DType first, DType second) {
  switch (info(p).kind) {
    case PrimKind::test: return DType::boolean;
    case PrimKind::select: return second;
    default: return first;
  }
}

std::size_t kept_dims(const LoopProgram& program) {
  return program.shape.dims.size() - static_cast<std::size_t>(program.code.reduced);
}

bool varies(const LoopOperand& operand, const LoopProgram& program) {
  const auto& dims = program.shape.dims;
  for (std::size_t d = kept_dims(program); d < dims.size(); ++d)
    if (operand.strides[d] != 0 && dims[d] != 1) return true;
  return false;
}

}  // namespace

int arg_count(const Instruction& i) {
  if (i.op == LoopOp::prim) return arity(i.prim);
  if (i.op == LoopOp::gather) return i.args[1] >= 0 ? 2 : 1;
  return i.op == LoopOp::reduce || i.op == LoopOp::store ? 1 : 0;
}

bool may_fault(const Instruction& i) { return i.op == LoopOp::gather && i.args[1] < 0; }

Reg LoopProgram::load(LoopOperand from) {
  const DType type = compute_type(from.dtype);
  return append(*this, {.op = LoopOp::load, .type = type, .operand = add_operand(*this, std::move(from))});
}
Reg LoopProgram::gather(LoopOperand from, Reg index, Reg outside) {
  const DType type = compute_type(from.dtype);
  return append(*this, {.op = LoopOp::gather,
                        .type = type,
                        .args = {index, outside, -1},
                        .operand = add_operand(*this, std::move(from))});
}
Reg LoopProgram::tile(DType type) { return append(*this, {.op = LoopOp::tile, .type = type}); }
Reg LoopProgram::constant(double value, DType type) {
  return append(*this, {.op = LoopOp::constant, .type = type, .value = value});
}
Reg LoopProgram::constant_int(std::int64_t value, DType type) {
  return append(*this, {.op = LoopOp::constant, .type = type, .integer = value});
}
Reg LoopProgram::count(DType type) { return append(*this, {.op = LoopOp::count, .type = type}); }
Reg LoopProgram::iota(int dim) { return append(*this, {.op = LoopOp::iota, .type = DType::i64, .dim = dim}); }
Reg LoopProgram::prim(Prim p, Reg a, Reg b, Reg c) {
  TENON_CHECK(p != Prim::cast);
  const DType type = result_type(p, type_of(a), b >= 0 ? type_of(b) : type_of(a));
  return append(*this, {.op = LoopOp::prim, .type = type, .prim = p, .args = {a, b, c}});
}
Reg LoopProgram::cast(DType to, Reg a) {
  return append(*this, {.op = LoopOp::prim, .type = to, .prim = Prim::cast, .args = {a, -1, -1}});
}
Reg LoopProgram::reduce(Reduce kind, Reg a) {
  const DType type = info(kind).kind == ReduceKind::position ? DType::i64 : type_of(a);
  return append(*this, {.op = LoopOp::reduce, .type = type, .reduce = kind, .args = {a, -1, -1}});
}
void LoopProgram::store(LoopOperand to, Reg value) {
  const DType type = compute_type(to.dtype);
  append(*this, {.op = LoopOp::store,
                 .type = type,
                 .args = {value, -1, -1},
                 .operand = add_operand(*this, std::move(to))});
}

DType LoopProgram::type_of(Reg r) const {
  TENON_CHECK(r >= 0 && r < static_cast<Reg>(code.instructions.size()));
  return compute_type(code.instructions[static_cast<std::size_t>(r)].type);
}

LoopOperand LoopProgram::operand(std::size_t index) const {
  const LoopCode::OperandCode& of_code = code.operands[index];
  const LoopShape::OperandShape& of_shape = shape.operands[index];
  return {of_code.buffer,        of_code.dtype,  of_shape.strides, of_shape.offset,
          of_shape.index_stride, of_shape.range, of_code.from_end};
}

std::int64_t LoopProgram::row_length() const {
  std::int64_t length = 1;
  for (std::size_t d = kept_dims(*this); d < shape.dims.size(); ++d) length *= shape.dims[d];
  return length;
}

int LoopProgram::buffer_count() const {
  int count = 0;
  for (const LoopCode::OperandCode& operand : code.operands) count = std::max(count, operand.buffer + 1);
  return count;
}

Stride class_of(std::int64_t stride) {
  return stride == 0 ? Stride::zero : stride == 1 ? Stride::one : Stride::any;
}

std::size_t hash_of(const LoopCode& code) {
  std::size_t hash = 0;
  const auto add = [&](auto value) {
    const auto mixed = std::hash<decltype(value)>{}(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash ^= mixed;
  };
  add(code.reduced);
  for (const LoopCode::OperandCode& operand : code.operands) {
    add(operand.buffer);
    add(operand.dtype);
    for (const Stride stride : operand.strides) add(stride);
    add(operand.index_stride);
    add(operand.from_end);
  }
  for (const Instruction& i : code.instructions) {
    add(i.op);
    add(i.type);
    add(i.prim);
    add(i.reduce);
    for (const Reg r : i.args) add(r);
    add(i.operand);
    add(i.dim);
    add(i.value);
    add(i.integer);
  }
  return hash;
}

std::vector<bool> varies_over_row(const LoopProgram& program) {
  const auto& instructions = program.code.instructions;
  std::vector<bool> result(instructions.size(), false);
  if (program.code.reduced == 0) return result;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    switch (instruction.op) {
      case LoopOp::load: result[i] = varies(operand_of(program, instruction), program); break;
      case LoopOp::gather:
        result[i] = result[static_cast<std::size_t>(instruction.args[0])] ||
                    varies(operand_of(program, instruction), program);
        break;
      case LoopOp::tile: result[i] = true; break;
      case LoopOp::iota: result[i] = instruction.dim >= static_cast<int>(kept_dims(program)); break;
      case LoopOp::constant:
      case LoopOp::count:
      case LoopOp::reduce: break;
      case LoopOp::prim:
        for (int a = 0; a < arity(instruction.prim); ++a)
          if (result[static_cast<std::size_t>(instruction.args[static_cast<std::size_t>(a)])])
            result[i] = true;
        break;
      case LoopOp::store:
        result[i] = result[static_cast<std::size_t>(instruction.args[0])] ||
                    varies(operand_of(program, instruction), program);
    }
  }
  return result;
}

namespace {

[[noreturn]] void malformed(const LoopProgram& program, std::size_t at, std::string_view what) {
  throw InternalError(fmt::format("loop program {}: instruction {}: {}", program.name, at, what));
}

void verify_prim(const LoopProgram& program, std::size_t at) {
  const Instruction& i = program.code.instructions[at];
  const DType first = program.type_of(i.args[0]);
  switch (info(i.prim).kind) {
    case PrimKind::cast: return;
    case PrimKind::select:
      if (!is_bool(first)) malformed(program, at, "the condition of select is not bool");
      if (program.type_of(i.args[1]) != program.type_of(i.args[2]))
        malformed(program, at, "select of two types");
      if (i.type != program.type_of(i.args[1])) malformed(program, at, "wrong result type");
      return;
    case PrimKind::real:
      if (!is_float(first)) malformed(program, at, "a function of real numbers needs a float");
      break;
    case PrimKind::bits:
      if (is_float(first)) malformed(program, at, "a bit operation needs an integer or bool");
      break;
    default: break;
  }
  if (arity(i.prim) == 2 && program.type_of(i.args[1]) != first)
    malformed(program, at, "operands of two types");
  if (i.type != result_type(i.prim, first, first)) malformed(program, at, "wrong result type");
}

void verify_reduce(const LoopProgram& program, std::size_t at) {
  const Instruction& i = program.code.instructions[at];
  const bool logical = info(i.reduce).kind == ReduceKind::truth;
  if (program.code.reduced == 0) malformed(program, at, "reduce in a program without row dims");
  if (is_bool(program.type_of(i.args[0])) != logical)
    malformed(program, at, "any and all reduce bools, the others numbers");
}

/// Is the constant one of the dtype's values?
bool is_value_of(DType dtype, const Instruction& constant) {
  if (is_integral(dtype)) return cast<std::int64_t>(dtype, constant.integer) == constant.integer;
  if (!is_small_float(dtype)) return true;
  const auto value = static_cast<float>(constant.value);
  return value != value || cast<float>(dtype, value) == value;
}

void verify_gather(const LoopProgram& program, std::size_t at) {
  const Instruction& i = program.code.instructions[at];
  const LoopOperand operand = operand_of(program, i);
  if (program.type_of(i.args[0]) != DType::i64) malformed(program, at, "an index is not i64");
  if (operand.range <= 0) malformed(program, at, "gather of nothing");
  if (i.args[1] >= 0 && program.code.instructions[static_cast<std::size_t>(i.args[1])].op != LoopOp::constant)
    malformed(program, at, "the value for other indices is no constant");
  if (i.args[1] >= 0 && program.type_of(i.args[1]) != i.type)
    malformed(program, at, "the value for other indices has another type");
  if (i.args[1] >= 0 &&
      !is_value_of(operand.dtype, program.code.instructions[static_cast<std::size_t>(i.args[1])]))
    malformed(program, at, "the value for other indices is none of the operand's dtype");
  for (const Instruction& other : program.code.instructions)
    if (other.op == LoopOp::store && operand_of(program, other).buffer == operand.buffer)
      malformed(program, at, "gather from memory that is stored to");
}

void verify_store(const LoopProgram& program, std::size_t at, const std::vector<bool>& varying) {
  const Instruction& i = program.code.instructions[at];
  const LoopOperand operand = operand_of(program, i);
  if (program.type_of(i.args[0]) != compute_type(operand.dtype))
    malformed(program, at, "store of another type");
  const auto& dims = program.shape.dims;
  const std::size_t written = varying[at] ? dims.size() : kept_dims(program);
  const auto end = dims.begin() + static_cast<std::ptrdiff_t>(written);
  if (std::find(dims.begin(), end, 0) != end) return;  // writes nothing
  for (std::size_t d = 0; d < written; ++d)
    if (operand.strides[d] == 0 && dims[d] > 1) malformed(program, at, "store writes one element twice");
}

void verify_operand(const LoopCode::OperandCode& code, const LoopShape::OperandShape& shape,
                    std::size_t rank) {
  TENON_CHECK(code.buffer >= 0);
  TENON_CHECK(!is_complex(code.dtype));
  TENON_CHECK(code.strides.size() == rank && shape.strides.size() == rank);
  for (std::size_t d = 0; d < rank; ++d) TENON_CHECK(code.strides[d] == class_of(shape.strides[d]));
  TENON_CHECK(code.index_stride == class_of(shape.index_stride));
}

}  // namespace

void verify(const LoopProgram& program) {
  const auto& instructions = program.code.instructions;
  const std::size_t operands = program.code.operands.size();
  const auto rank = static_cast<int>(program.shape.dims.size());
  TENON_CHECK(program.code.reduced >= 0 && program.code.reduced <= rank);
  for (const std::int64_t extent : program.shape.dims) TENON_CHECK(extent >= 0);
  TENON_CHECK(program.shape.operands.size() == operands);
  for (std::size_t i = 0; i < operands; ++i)
    verify_operand(program.code.operands[i], program.shape.operands[i], static_cast<std::size_t>(rank));
  for (std::size_t at = 0; at < instructions.size(); ++at) {
    const Instruction& i = instructions[at];
    for (int a = 0; a < arg_count(i); ++a) {
      const Reg r = i.args[static_cast<std::size_t>(a)];
      if (r < 0 || r >= static_cast<Reg>(at)) malformed(program, at, "an argument is not defined before");
      if (instructions[static_cast<std::size_t>(r)].op == LoopOp::store)
        malformed(program, at, "a store defines no register");
    }
    const bool memory = i.op == LoopOp::load || i.op == LoopOp::gather || i.op == LoopOp::store;
    if (memory && (i.operand < 0 || i.operand >= static_cast<int>(operands)))
      malformed(program, at, "no such operand");
    if (i.op == LoopOp::iota && (i.dim < 0 || i.dim >= rank)) malformed(program, at, "no such dim");
    if (i.op == LoopOp::prim) verify_prim(program, at);
    if (i.op == LoopOp::reduce) verify_reduce(program, at);
    if (i.op == LoopOp::gather) verify_gather(program, at);
  }
  const std::vector<bool> varying = varies_over_row(program);
  for (std::size_t at = 0; at < instructions.size(); ++at)
    if (instructions[at].op == LoopOp::store) verify_store(program, at, varying);
}

namespace {

std::string join(const std::vector<std::int64_t>& numbers, int reduced) {
  const std::size_t kept = numbers.size() - static_cast<std::size_t>(reduced);
  std::string text;
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    if (d > 0) text += d == kept ? " " : ", ";
    if (d == kept) text += "| ";
    text += std::to_string(numbers[d]);
  }
  return text;
}

std::string text_of(const LoopOperand& operand, int reduced) {
  const std::string offset = operand.offset != 0 ? fmt::format("+{}", operand.offset) : "";
  return fmt::format("b{}{}: {} ({})", operand.buffer, offset, name(operand.dtype),
                     join(operand.strides, reduced));
}

std::string text_of(const LoopProgram& program, const Instruction& i) {
  switch (i.op) {
    case LoopOp::load: return fmt::format("load {}", text_of(operand_of(program, i), program.code.reduced));
    case LoopOp::gather: {
      const LoopOperand operand = operand_of(program, i);
      return fmt::format("gather {} at %{} * {} in [{}, {}){}", text_of(operand, program.code.reduced),
                         i.args[0], operand.index_stride, operand.from_end ? -operand.range : 0,
                         operand.range, i.args[1] >= 0 ? fmt::format(" else %{}", i.args[1]) : "");
    }
    case LoopOp::tile: return fmt::format("tile : {}", name(i.type));
    case LoopOp::constant:
      return is_float(i.type) ? fmt::format("constant {} : {}", i.value, name(i.type))
                              : fmt::format("constant {} : {}", i.integer, name(i.type));
    case LoopOp::count: return fmt::format("constant {} : {}", program.row_length(), name(i.type));
    case LoopOp::iota: return fmt::format("iota {} : i64", i.dim);
    case LoopOp::store:
      return fmt::format("store {}, %{}", text_of(operand_of(program, i), program.code.reduced), i.args[0]);
    case LoopOp::reduce: return fmt::format("reduce {} %{} : {}", name(i.reduce), i.args[0], name(i.type));
    case LoopOp::prim: break;
  }
  std::string text(name(i.prim));
  for (int a = 0; a < arity(i.prim); ++a)
    text += fmt::format("{} %{}", a > 0 ? "," : "", i.args[static_cast<std::size_t>(a)]);
  return text + fmt::format(" : {}", name(i.type));
}

}  // namespace

std::string to_string(const LoopProgram& program) {
  std::string text =
      fmt::format("loop {} [{}] {{\n", program.name, join(program.shape.dims, program.code.reduced));
  for (std::size_t at = 0; at < program.code.instructions.size(); ++at) {
    const Instruction& i = program.code.instructions[at];
    const std::string target = i.op == LoopOp::store ? "" : fmt::format("%{} = ", at);
    text += fmt::format("  {}{}\n", target, text_of(program, i));
  }
  return text + "}\n";
}

}  // namespace tenon
