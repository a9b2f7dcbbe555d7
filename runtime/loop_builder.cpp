#include "runtime/loop_builder.h"

#include <algorithm>

#include "base/error.h"
#include "ir/ops/create.h"
#include "ir/ops/shape.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

bool is_view(const Op& op) { return op.is<Permute>() || op.is<Expand>() || op.is<Reshape>(); }

// Results of operators on narrow types are rounded to them, as if they had been stored.
Reg narrowed(LoopProgram& program, DType dtype, Reg r) {
  return dtype == compute_type(dtype) ? r : program.cast(dtype, r);
}

}  // namespace

Reg emit_constant(LoopProgram& program, DType dtype, double value) {
  const DType type = compute_type(dtype);
  if (is_float(type)) return program.constant(value, type);
  return program.constant_int(is_bool(type) ? value != 0 : convert<std::int64_t>(value), type);
}

Reg emit_literal(LoopProgram& program, const Tensor& scalar) {
  const DType type = compute_type(scalar.dtype());
  if (is_float(type)) return program.constant(scalar.get_double(), type);
  return program.constant_int(scalar.get_int(), type);
}

bool has_loop_types(const Group& group) {
  const auto fits = [](const Value* v) { return !is_complex(v->dtype()) && !is_string(v->dtype()); };
  const auto operands = group.operands();
  return std::all_of(operands.begin(), operands.end(), fits) &&
         std::all_of(group.members().begin(), group.members().end(), [&](const Node* n) {
           for (std::size_t i = 0; i < n->num_outputs(); ++i)
             if (!fits(n->output(i))) return false;
           return true;
         });
}

Reg LoopBuilder::reg(const Value* value) {
  const auto it = regs_.find(value);
  if (it != regs_.end()) return it->second;
  return regs_[value] =
             value->kind() == Value::Kind::literal ? emit_literal(program_, value->tensor()) : load_(value);
}

void LoopBuilder::emit(const Node& member) {
  const Value* out = member.output();
  if (member.op().is_pointwise()) {
    regs_[out] = emit_pointwise(member);
  } else if (slices_by_index(member)) {
    regs_[out] = gather_(member, reg(member.input(1)));
  } else if (is_view(member.op())) {
    regs_[out] = reg(member.input());
  } else if (const auto* full = member.as<Full>()) {
    regs_[out] = narrowed(program_, full->dtype, emit_constant(program_, full->dtype, full->value));
  } else if (const auto* iota = member.as<Iota>()) {
    const int dim = axes_->dims.at(out)[0];
    const Reg index = dim < 0 ? program_.constant_int(0) : program_.iota(dim);
    regs_[out] = iota->dtype == DType::i64 ? index : program_.cast(iota->dtype, index);
  } else {
    regs_[out] = emit_reduction(member);
  }
}

Reg LoopBuilder::emit_pointwise(const Node& member) {
  std::vector<DType> dtypes;
  for (const Value* v : member.inputs()) dtypes.push_back(v->dtype());
  std::vector<Reg> steps;
  for (const ScalarStep& step : flatten(expr_of(member.op()), dtypes).steps) {
    const auto arg = [&](std::size_t i) {
      return i < step.args.size() ? steps[static_cast<std::size_t>(step.args[i])] : -1;
    };
    Reg r = -1;
    if (step.kind == Expr::Kind::input) {
      r = reg(member.input(static_cast<std::size_t>(step.input)));
    } else if (step.kind == Expr::Kind::constant) {
      r = emit_constant(program_, step.type, step.number);
    } else if (step.prim == Prim::cast) {
      r = program_.cast(step.type, arg(0));
    } else {
      r = program_.prim(step.prim, arg(0), arg(1), arg(2));
    }
    steps.push_back(r);
  }
  return narrowed(program_, member.output()->dtype(), steps.back());
}

Reg LoopBuilder::emit_reduction(const Node& member) {
  const Value* in = member.input();
  const auto reduction = reduction_of(member.op());
  TENON_CHECK(reduction.has_value());
  Reduce kind = reduction->fold;
  Reg x = reg(in);
  if (is_bool(in->dtype())) {  // order among bools
    if (kind == Reduce::max) kind = Reduce::any;
    if (kind == Reduce::min) kind = Reduce::all;
    if (info(kind).kind == ReduceKind::position) x = program_.cast(DType::i64, x);
  }
  if (info(kind).kind == ReduceKind::truth && !is_bool(in->dtype()))
    x = program_.prim(Prim::ne, x, emit_constant(program_, in->dtype(), 0));
  std::int64_t count = 1;
  for (const std::int64_t axis : reduction->axes)
    count *= in->shape()[static_cast<std::size_t>(axis)].value();
  Reg result;
  if (count == 1) {  // nothing to fold
    result = info(kind).kind == ReduceKind::position ? program_.constant_int(0) : x;
  } else {
    result = program_.reduce(kind, x);
  }
  if (reduction->averages && count != 1)
    result = program_.prim(Prim::div, result, program_.count(program_.type_of(result)));
  return narrowed(program_, member.output()->dtype(), result);
}

LoweredLoop build_loop(const Group& group, const LoopAxes& axes,
                       const std::function<const PlannedTensor&(const Value* inner)>& place) {
  LoweredLoop loop{.program = {group.ops(), axes.sizes.empty() ? Index{1} : axes.sizes, axes.reduced}};
  LoopProgram& program = loop.program;
  const auto operand = [&](const Value* value, const PlannedTensor& at) {
    const auto same = [&](const PlannedTensor& t) {
      return t.buffer() == at.buffer() && t.offset() == at.offset() && t.strides() == at.strides();
    };
    const auto found = std::find_if(loop.buffers.begin(), loop.buffers.end(), same);
    const auto buffer = static_cast<int>(found - loop.buffers.begin());
    if (found == loop.buffers.end()) loop.buffers.push_back(at);
    Index strides = axes.strides(value, at);
    strides.resize(program.shape.dims.size(), 0);
    return LoopOperand{.buffer = buffer, .dtype = at.dtype(), .strides = std::move(strides)};
  };
  const auto gather = [&](const Node& member, Reg index) {
    const SlicesByIndex slices = *slices_by_index(member);
    const PlannedTensor& at = place(member.input());
    LoopOperand from = operand(member.input(), at);
    from.index_stride = at.strides()[slices.axis];
    from.range = at.shape()[slices.axis];
    from.from_end = slices.from_end;
    return program.gather(std::move(from), index);
  };
  const auto load = [&](const Value* value) { return program.load(operand(value, place(value))); };
  LoopBuilder builder(program, &axes, load, gather);
  for (const Node* member : group.members()) builder.emit(*member);
  for (const Value* result : group.results()) {
    const Reg r = builder.reg(result);
    program.store(operand(result, place(result)), r);
  }
  return loop;
}

}  // namespace tenon
