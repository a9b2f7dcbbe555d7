#include "kernels/gpu/loop_elements.h"

namespace tenon::gpu {

void LoopElements::print_pointers(std::size_t from, std::size_t to) {
  for (std::size_t k = 0; k < code_.operands.size(); ++k) {
    const LoopCode::OperandCode& operand = code_.operands[k];
    if (operand.buffer < 0) continue;
    const std::string type =
        fmt::format("{}{}", is_stored(operand.buffer) ? "" : "const ", storage(operand.dtype));
    line("{}* const p{} = reinterpret_cast<{}*>({}b{}) + Index(a.offset_{}){};", type, k, type,
         pointer_prefix_, operand.buffer, k, distance(k, from, to));
    if (has_pieces(k))
      line("const bool pieces{} = Whole || (a.pieces_{} != 0 && is_aligned<{}>(p{}));", k, k, form_.vector,
           k);
  }
}
void LoopElements::print_indices(std::string_view linear, std::size_t from, std::size_t to) {
  while (from < to && !is_indexed(from) && to - from == 1) ++from;
  if (from == to) return;
  if (to - from > 1) line("Index rest{} = {};", from, linear);
  for (std::size_t d = to; d-- > from + 1;) {
    line("const Index i{} = rest{} % Index(a.dim_{});", d, from, d);
    line("rest{} /= Index(a.dim_{});", from, d);
  }
  line("const Index i{} = {};", from, to - from > 1 ? fmt::format("rest{}", from) : std::string(linear));
}
std::vector<bool> LoopElements::computed_in(int stage) const {
  std::vector<bool> result(size(), false);
  for (std::size_t i = size(); i-- > 0;) {
    const LoopOp op = at(i).op;
    const bool folds = op == LoopOp::reduce && values_[i].needed && values_[i].ready - 1 == stage;
    if (op == LoopOp::store) result[i] = !values_[i].of_row && values_[i].stage == stage;
    if (!folds && !result[i]) continue;
    for (int a = 0; a < arg_count(at(i)); ++a) {
      const Reg r = at(i).args[static_cast<std::size_t>(a)];
      if (!value(r).of_row && !is_from_before(r, stage)) result[static_cast<std::size_t>(r)] = true;
    }
  }
  return result;
}
void LoopElements::print_values(int stage, const std::vector<bool>& wanted) {
  declare_written(wanted);
  line("#pragma unroll");
  line("for (int v = 0; v < {}; ++v) {{", form_.vector);
  ++indent_;
  print_elements(stage, wanted);
  --indent_;
  line("}}");
  print_writes(wanted);
}
bool LoopElements::is_of_reading(std::size_t i, const std::vector<bool>& wanted) const {
  return wanted[i] && at(i).op != LoopOp::store && (values_[i].of_chunk || is_vector_read(i));
}
bool LoopElements::reads(const std::vector<bool>& wanted) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (is_of_reading(i, wanted)) return true;
  return false;
}
void LoopElements::declare_reads(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_of_reading(i, wanted)) continue;
    if (values_[i].of_chunk && !is_kept(i)) line("{} v{}[{}];", computed(at(i).type), i, form_.chunks);
    if (values_[i].of_chunk) continue;
    line("{} m{}[{}][{}];", storage(operand(at(i)).dtype), i, form_.chunks, form_.vector);
    if (has_outside(i)) line("bool outside{}[{}];", i, form_.chunks);
  }
}
void LoopElements::print_reads(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < size(); ++i)
    if (is_of_reading(i, wanted)) values_[i].of_chunk ? print_single(i) : print_vector_read(i);
}
void LoopElements::declare_written(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < size(); ++i)
    if (wanted[i] && at(i).op == LoopOp::store)
      line("{} w{}[{}];", narrows(i) ? "float" : storage(operand(at(i)).dtype), i, form_.vector);
}
Reg LoopElements::stored(std::size_t i) const {
  const Reg r = at(i).args[0];
  const Instruction& last = at(static_cast<std::size_t>(r));
  const bool is_rounded = narrows(i) && last.op == LoopOp::prim && last.prim == Prim::cast &&
                          last.type == operand(at(i)).dtype && type_of(last.args[0]) == DType::f32;
  return is_rounded && is_element(static_cast<std::size_t>(r)) && !is_kept(static_cast<std::size_t>(r))
             ? last.args[0]
             : r;
}
bool LoopElements::narrows(std::size_t i) const {
  const DType stored = operand(at(i)).dtype;
  return form_.vector > 1 && (stored == DType::f16 || stored == DType::bf16) &&
         type_of(at(i).args[0]) == DType::f32;
}
std::string LoopElements::written(std::size_t i) const {
  return narrows(i) ? fmt::format("narrowed<{}>(w{}).elements", storage(operand(at(i)).dtype), i)
                    : fmt::format("w{}", i);
}
void LoopElements::print_writes(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < size(); ++i)
    if (wanted[i] && at(i).op == LoopOp::store) print_vector_write(i);
}
void LoopElements::print_elements(int stage, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < size(); ++i) {
    const Instruction& instruction = at(i);
    if (instruction.op == LoopOp::reduce && values_[i].needed && values_[i].ready - 1 == stage)
      line("if (v < valid) Fold{}::fold(acc{}, {}, Int(x + v));", i, i, text(instruction.args[0]));
    if (!wanted[i]) continue;
    if (instruction.op == LoopOp::store)
      line("w{}[v] = convert<{}>({});", i, narrows(i) ? "float" : storage(operand(instruction).dtype),
           text(stored(i)));
    else if (is_vector_read(i))
      define(i, read_value(i));
    else if (!values_[i].of_chunk)
      print_single(i);
  }
}
void LoopElements::define(std::size_t i, const std::string& value) {
  const std::string name = text(static_cast<Reg>(i));
  if (name.ends_with(']'))
    line("{} = {};", name, value);
  else
    line("const {} {} = {};", computed(at(i).type), name, value);
}
void LoopElements::print_gathered(std::size_t i, std::string_view exists) {
  const auto k = static_cast<std::size_t>(at(i).operand);
  const std::string index = text(at(i).args[0]);
  const std::string_view from_end = code_.operands[k].from_end ? "true" : "false";
  if (has_outside(i)) {
    line("{}{} = is_outside({}, a.range_{}, {});", is_vector_read(i) ? "" : "const bool ", outside(i), index,
         k, from_end);
    line("const Index place{} = {} ? 0 : Index(wrapped({}, a.range_{}));", i, outside(i), index, k);
  } else {
    line("const Index place{} = {} ? Index(place_of({}, a.range_{}, {}, bad)) : 0;", i, exists, index, k,
         from_end);
  }
  line("const {}* const g{} = p{} + place{} * {};", storage(code_.operands[k].dtype), i, k, i,
       index_stride(k));
}
void LoopElements::print_vector_read(std::size_t i) {
  const auto k = static_cast<std::size_t>(at(i).operand);
  const bool gathers = at(i).op == LoopOp::gather;
  if (gathers) print_gathered(i, "true");
  const std::string from =
      fmt::format("{}{}{}", gathers ? "g" : "p", gathers ? i : k, distance(k, first_inner_dim(), rank_));
  const std::string valid = has_outside(i) ? fmt::format("({} ? 0 : valid)", outside(i)) : "valid";
  if (code_.operands[k].strides.back() == Stride::any)
    line("read_strided({}, Index(a.stride_{}_{}), {}, m{}[chunk]);", from, k, rank_ - 1, valid, i);
  else
    line("read({}, {}, {}, m{}[chunk]);", from, pieces(k), valid, i);
}
void LoopElements::print_vector_write(std::size_t i) {
  const auto k = static_cast<std::size_t>(at(i).operand);
  const std::string to = fmt::format("p{}{}", k, distance(k, first_inner_dim(), rank_));
  if (code_.operands[k].strides.back() == Stride::any)
    line("write_strided({}, Index(a.stride_{}_{}), valid, {});", to, k, rank_ - 1, written(i));
  else
    line("write({}, {}, valid, {});", to, pieces(k), written(i));
}
void LoopElements::print_single(std::size_t i) {
  if (at(i).op == LoopOp::gather) print_gathered(i, existence(i));
  define(i, expression(i));
}

}  // namespace tenon::gpu
