// Words of a loop's source.
#include "kernels/gpu/loop_text.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernels/gpu/loop_faults.h"

namespace tenon::gpu {

std::string_view storage(DType t) {
  switch (t) {
    case DType::boolean: return "bool";
    case DType::u8: return "unsigned char";
    case DType::i8: return "signed char";
    case DType::u16: return "unsigned short";
    case DType::i16: return "short";
    case DType::u32: return "unsigned";
    case DType::i32: return "int";
    case DType::u64: return "Bits";
    case DType::f16: return "half";
    case DType::bf16: return "bfloat16";
    case DType::f8e4m3fn: return "float8_e4m3fn";
    case DType::f8e5m2: return "float8_e5m2";
    case DType::f8e4m3fnuz: return "float8_e4m3fnuz";
    case DType::f8e5m2fnuz: return "float8_e5m2fnuz";
    case DType::f32: return "float";
    case DType::f64: return "double";
    default: return "Int";
  }
}
std::string_view computed(DType t) { return storage(compute_type(t)); }

std::string_view fold_name(Reduce r) {
  switch (r) {
    case Reduce::sum: return "FoldSum";
    case Reduce::prod: return "FoldProd";
    case Reduce::min: return "FoldMin";
    case Reduce::max: return "FoldMax";
    case Reduce::any: return "FoldAny";
    case Reduce::all: return "FoldAll";
    case Reduce::argmin: return "FoldArgmin";
    case Reduce::argmax: return "FoldArgmax";
  }
  TENON_CHECK(false);
}

LoopText::LoopText(const LoopCode& code, const LoopForm& form)
    : code_(code), form_(form), keeps_(form.keeps), values_(describe(code, keeps_)) {
  for (const LoopCode::OperandCode& operand : code.operands) rank_ = operand.strides.size();
  kept_dims_ = rank_ - static_cast<std::size_t>(code.reduced);
}

const LoopCode::OperandCode& LoopText::operand(const Instruction& i) const {
  return code_.operands[static_cast<std::size_t>(i.operand)];
}

bool LoopText::has_faults() const { return reports_faults(code_); }

bool LoopText::is_stored(int buffer) const {
  return std::any_of(code_.instructions.begin(), code_.instructions.end(), [&](const Instruction& i) {
    return i.op == LoopOp::store && operand(i).buffer == buffer;
  });
}

bool LoopText::is_loaded(int buffer) const {
  return std::any_of(code_.instructions.begin(), code_.instructions.end(), [&](const Instruction& i) {
    return i.op == LoopOp::load && operand(i).buffer == buffer;
  });
}

bool LoopText::is_indexed(std::size_t d) const {
  return std::any_of(code_.operands.begin(), code_.operands.end(),
                     [&](const auto& operand) { return operand.strides[d] != Stride::zero; }) ||
         std::any_of(code_.instructions.begin(), code_.instructions.end(), [&](const Instruction& i) {
           return i.op == LoopOp::iota && i.dim == static_cast<int>(d);
         });
}

bool LoopText::is_from_before(Reg r, int stage) const {
  return value(r).stage < stage && is_kept(static_cast<std::size_t>(r));
}

bool LoopText::is_vector_read(std::size_t i) const {
  if (values_[i].of_chunk) return false;
  if (at(i).op == LoopOp::load) return true;
  return at(i).op == LoopOp::gather && is_uniform(at(i).args[0]);
}

bool LoopText::has_pieces(std::size_t k) const {
  return form_.vector > 1 && code_.operands[k].strides.back() == Stride::one;
}

std::vector<std::string> LoopText::parameters() const {
  int count = 0;
  for (const LoopCode::OperandCode& operand : code_.operands) count = std::max(count, operand.buffer + 1);
  std::vector<std::string> result;
  for (int buffer = 0; buffer < count; ++buffer) result.push_back(parameter(buffer));
  if (has_faults()) result.emplace_back(fault_parameter);
  return result;
}

std::string LoopText::parameter(int buffer) const {
  const auto first = std::find_if(code_.operands.begin(), code_.operands.end(),
                                  [&](const auto& operand) { return operand.buffer == buffer; });
  const std::string_view type = first == code_.operands.end() ? "void" : storage(first->dtype);
  return fmt::format("{}{}* b{}", is_stored(buffer) ? "" : "const ", type, buffer);
}

std::string LoopText::distance(std::size_t k, std::size_t from, std::size_t to) const {
  std::string text;
  for (std::size_t d = from; d < to; ++d) {
    const Stride stride = code_.operands[k].strides[d];
    if (stride == Stride::one) text += fmt::format(" + i{}", d);
    if (stride == Stride::any) text += fmt::format(" + i{} * Index(a.stride_{}_{})", d, k, d);
  }
  return text;
}

std::string LoopText::index_stride(std::size_t k) const {
  switch (code_.operands[k].index_stride) {
    case Stride::zero: return "0";
    case Stride::one: return "1";
    case Stride::any: return fmt::format("Index(a.index_stride_{})", k);
  }
  TENON_CHECK(false);
}

std::string LoopText::element_at(std::size_t i) const {
  const auto k = static_cast<std::size_t>(at(i).operand);
  std::string inner = values_[i].of_row ? "" : distance(k, first_inner_dim(), rank_);
  if (is_element(i)) {
    const Stride stride = code_.operands[k].strides.back();
    if (stride == Stride::one) inner += " + (v < valid ? v : 0)";
    if (stride == Stride::any)
      inner += fmt::format(" + (v < valid ? v : 0) * Index(a.stride_{}_{})", k, rank_ - 1);
  }
  return fmt::format("[0{}]", inner);
}

namespace {

std::string constant_text(const Instruction& i) {
  const auto value = static_cast<float>(i.value);
  switch (compute_type(i.type)) {
    case DType::f32:
      return fmt::format("bits_as<float>({:#x}u) /* {} */", std::bit_cast<std::uint32_t>(value), value);
    case DType::f64:
      return fmt::format("bits_as<double>({:#x}ul) /* {} */", std::bit_cast<std::uint64_t>(i.value), i.value);
    case DType::boolean: return i.integer != 0 ? "true" : "false";
    default: return fmt::format("Int({:#x}ul) /* {} */", static_cast<std::uint64_t>(i.integer), i.integer);
  }
}

}  // namespace

std::string LoopText::text(Reg r) const {
  if (value(r).of_row) return fmt::format("v{}", r);
  if (value(r).of_chunk) return fmt::format("v{}[chunk]", r);
  return is_kept(static_cast<std::size_t>(r)) ? fmt::format("v{}[chunk][v]", r) : fmt::format("v{}", r);
}

std::string_view LoopText::existence(std::size_t i) const {
  return is_element(i) ? "v < valid" : values_[i].of_row ? "live" : "true";
}

std::string LoopText::outside(std::size_t i) const {
  return fmt::format("outside{}{}", i, is_vector_read(i) ? "[chunk]" : "");
}

std::string LoopText::or_outside(std::size_t i, const std::string& inside) const {
  return has_outside(i) ? fmt::format("{} ? {} : {}", outside(i), text(at(i).args[1]), inside) : inside;
}

std::string LoopText::read_value(std::size_t i) const {
  return or_outside(i, fmt::format("convert<{}>(m{}[chunk][v])", computed(at(i).type), i));
}

std::string LoopText::expression(std::size_t i) const {
  const Instruction& instruction = at(i);
  const std::string_view type = computed(instruction.type);
  switch (instruction.op) {
    case LoopOp::load: return fmt::format("convert<{}>(p{}{})", type, instruction.operand, element_at(i));
    case LoopOp::gather: return or_outside(i, fmt::format("convert<{}>(g{}{})", type, i, element_at(i)));
    case LoopOp::tile: return "pieces.value[chunk][v]";
    case LoopOp::constant: return constant_text(instruction);
    case LoopOp::count: return fmt::format("convert<{}>(Int(a.length))", type);
    case LoopOp::iota:
      return fmt::format("Int(i{}{})", instruction.dim,
                         is_element(i) && is_last(instruction.dim) ? " + v" : "");
    case LoopOp::prim: return prim_text(i);
    default: TENON_CHECK(false);
  }
}

std::string LoopText::prim_text(std::size_t index) const {
  const Instruction& i = at(index);
  const auto arg = [&](std::size_t a) { return text(i.args[a]); };
  const DType from = type_of(i.args[0]);
  if (i.prim == Prim::select) return fmt::format("{} ? {} : {}", arg(0), arg(1), arg(2));
  if (i.prim == Prim::cast)
    return fmt::format("convert<{}>(convert<{}>({}))", computed(i.type), storage(i.type), arg(0));
  if (const std::string power = constant_power(i); !power.empty()) return power;
  const Prim p = is_bool(from) && i.prim == Prim::bit_not ? Prim::logical_not : i.prim;
  std::string args = operand_text(arg(0), from);
  if (arity(p) == 2) args += ", " + second_operand(index);
  const std::string_view truth = is_bool(from) && info(p).kind != PrimKind::test ? " != 0" : "";
  return fmt::format("{}_of({}){}", name(p), args, truth);
}

std::string LoopText::second_operand(std::size_t i) const {
  const Reg r = at(i).args[1];
  const std::string operand = operand_text(text(r), type_of(r));
  if (!may_divide_by_zero(code_, at(i))) return operand;
  return fmt::format("divisor({}, {}, bad)", operand, existence(i));
}

std::string LoopText::constant_power(const Instruction& i) const {
  if (i.prim != Prim::pow || !is_float(type_of(i.args[0]))) return "";
  const Instruction& exponent = at(static_cast<std::size_t>(i.args[1]));
  if (exponent.op != LoopOp::constant) return "";
  const std::string x = text(i.args[0]);
  if (exponent.value == 3) return fmt::format("{0} * {0} * {0}", x);
  if (exponent.value == 2) return fmt::format("{0} * {0}", x);
  if (exponent.value == 0.5) return fmt::format("sqrt_of({})", x);
  if (exponent.value == -0.5) return fmt::format("rsqrt_of({})", x);
  if (exponent.value == -1) return fmt::format("recip_of({})", x);
  return "";
}

std::string LoopText::operand_text(const std::string& text, DType type) {
  return is_bool(type) ? fmt::format("Int({})", text) : text;
}

}  // namespace tenon::gpu
