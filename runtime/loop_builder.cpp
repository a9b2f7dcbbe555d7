#include "runtime/loop_builder.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ir/ops/axis_maps.h"
#include "ir/ops/create.h"
#include "ir/ops/shape.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

bool is_view(const Op& op) { return op.is<Permute>() || op.is<Expand>() || op.is<Reshape>(); }

// Is the register, whatever it reads, one of the numbers of a narrow type of floats? Types without -0 are not
// looked at.
bool is_of(const LoopProgram& program, DType dtype, Reg r, int steps = 0) {
  constexpr int most_steps = 4;
  if (steps > most_steps || dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2fnuz) return false;
  const Instruction& i = program.code.instructions[static_cast<std::size_t>(r)];
  if (i.op == LoopOp::load) return program.code.operands[static_cast<std::size_t>(i.operand)].dtype == dtype;
  if (i.op == LoopOp::constant) return cast<float>(dtype, i.value) == i.value;
  if (i.op != LoopOp::prim) return false;
  const auto are = [&](std::size_t first, std::size_t last) {
    return std::all_of(i.args.begin() + first, i.args.begin() + last,
                       [&](Reg arg) { return is_of(program, dtype, arg, steps + 1); });
  };
  switch (i.prim) {
    case Prim::cast: return i.type == dtype;
    case Prim::neg:
    case Prim::abs: return are(0, 1);
    case Prim::max:
    case Prim::min: return are(0, 2);
    case Prim::select: return are(1, 3);
    default: return false;
  }
}

// Results of operators on narrow types are rounded to them, as if they had been stored.
Reg narrowed(LoopProgram& program, DType dtype, Reg r) {
  if (dtype == compute_type(dtype) || (is_float(dtype) && is_of(program, dtype, r))) return r;
  return program.cast(dtype, r);
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
  } else if (gathers(member)) {
    regs_[out] = gather_(member, slices_by_index(member) ? reg(member.input(1)) : -1);
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
      r = program_.type_of(arg(0)) == step.type ? arg(0) : program_.cast(step.type, arg(0));
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

namespace {

// Puts a group's members into a program, and its operands, results and tables into buffers.
class GroupLowering {
 public:
  using Place = std::function<const PlannedTensor&(const Value*)>;
  using Constant = std::function<PlannedTensor(const Tensor&)>;

  GroupLowering(const Group& group, const LoopAxes& axes, const Place& place, const Constant& constant)
      : group_(group),
        axes_(axes),
        place_(place),
        constant_(constant),
        loop_{.program = {group.ops(), axes.sizes.empty() ? Index{1} : axes.sizes, axes.reduced}} {}

  LoweredLoop lower() && {
    LoopProgram& program = loop_.program;
    const auto in_place = [&](const Value* value) {
      return operand(place_(value), axes_.strides(value, place_(value)));
    };
    const auto load = [&](const Value* value) { return program.load(in_place(value)); };
    const auto gather = [&](const Node& member, Reg index) {
      return index < 0 ? gather_by_maps(member) : gather_by(member, index);
    };
    LoopBuilder builder(program, &axes_, load, gather);
    for (const Node* member : group_.members()) builder.emit(*member);
    for (const Value* result : group_.results()) {
      const Reg r = builder.reg(result);
      program.store(in_place(result), r);
    }
    return std::move(loop_);
  }

 private:
  LoopOperand operand(const PlannedTensor& at, Index strides) {
    const auto same = [&](const PlannedTensor& t) {
      return t.buffer() == at.buffer() && t.offset() == at.offset() && t.strides() == at.strides();
    };
    const auto found = std::find_if(loop_.buffers.begin(), loop_.buffers.end(), same);
    const auto buffer = static_cast<int>(found - loop_.buffers.begin());
    if (found == loop_.buffers.end()) loop_.buffers.push_back(at);
    strides.resize(loop_.program.shape.dims.size(), 0);
    return {.buffer = buffer, .dtype = at.dtype(), .strides = std::move(strides)};
  }

  LoopOperand gathered(const Node& member) {
    const PlannedTensor& at = place_(member.input());
    return operand(at, axes_.gather_strides(member, at));
  }

  Reg gather_by(const Node& member, Reg index) {
    const SlicesByIndex slices = *slices_by_index(member);
    const PlannedTensor& at = place_(member.input());
    LoopOperand from = gathered(member);
    from.index_stride = at.strides()[slices.axis];
    from.range = at.shape()[slices.axis];
    from.from_end = slices.from_end;
    return loop_.program.gather(std::move(from), index);
  }

  // The index is the distance of the element from the lowest one that may be read: the sum of one term for
  // each mapped axis, which tables hold. Where one of the terms is the fill value's, the sum is below 0.
  Reg gather_by_maps(const Node& member) {
    LoopProgram& program = loop_.program;
    const PlannedTensor& at = place_(member.input());
    const std::vector<std::size_t> axes = *mapped_axes(member);
    const AxisMaps maps = axis_maps(member);
    LoopOperand from = gathered(member);
    from.index_stride = from.range = 1;
    for (const std::size_t axis : axes) {
      const std::int64_t extent = at.strides()[axis] * (at.shape()[axis] - 1);
      from.offset += std::min<std::int64_t>(extent, 0);
      from.range += std::abs(extent);
    }
    Reg index = -1;
    bool fills = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Tensor table = terms(maps.axes[i], at.strides()[axes[i]], at.shape()[axes[i]], from.range);
      const int dim = axes_.dims.at(member.output())[axes[i]];
      Index strides(program.shape.dims.size(), 0);
      if (dim >= 0) strides[static_cast<std::size_t>(dim)] = 1;
      const Reg term = program.load(operand(constant_(table), std::move(strides)));
      index = i == 0 ? term : program.prim(Prim::add, index, term);
      fills = fills || std::count(maps.axes[i].begin(), maps.axes[i].end(), -1) > 0;
    }
    if (axes.empty()) index = program.constant_int(0);
    const Reg fill = fills ? emit_literal(program, Tensor::scalar(member.output()->dtype(), maps.fill)) : -1;
    return program.gather(std::move(from), index, fill);
  }

  // For each index of the result, the distance of the operand's element from the lowest one along this axis.
  static Tensor terms(const AxisMap& map, std::int64_t stride, std::int64_t size, std::int64_t range) {
    const bool is_short = range <= std::numeric_limits<std::int32_t>::max();
    // Below 0 whatever is added; eight of them, of as many axes, do not overflow.
    const std::int64_t outside =
        is_short ? std::numeric_limits<std::int32_t>::min() : -(std::int64_t{1} << 60);
    const std::int64_t lowest = std::min<std::int64_t>(stride * (size - 1), 0);
    Tensor table = Tensor::empty(DType::i64, {static_cast<std::int64_t>(map.size())});
    std::transform(map.begin(), map.end(), table.mutable_data<std::int64_t>(),
                   [&](std::int64_t source) { return source < 0 ? outside : stride * source - lowest; });
    return is_short ? table.to(DType::i32) : table;
  }

  const Group& group_;
  const LoopAxes& axes_;
  const Place& place_;
  const Constant& constant_;
  LoweredLoop loop_;
};

}  // namespace

LoweredLoop build_loop(const Group& group, const LoopAxes& axes,
                       const std::function<const PlannedTensor&(const Value* inner)>& place,
                       const std::function<PlannedTensor(const Tensor&)>& constant) {
  return GroupLowering(group, axes, place, constant).lower();
}

std::size_t count_buffers(const Group& group) {
  std::size_t count = group.operands().size() + group.results().size();
  for (const Node* member : group.members())
    if (const auto axes = mapped_axes(*member)) count += axes->size();
  return count;
}

}  // namespace tenon
