#include "runtime/calls/epilogue.h"

#include <algorithm>
#include <unordered_set>

#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/slices_by_index.h"
#include "runtime/loop_builder.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

class Matcher {
 public:
  Matcher(const Planner& planner, const Group& group, const Node& anchor, const Order& order,
          EpilogueOptions options = {})
      : planner_(planner),
        group_(group),
        anchor_(anchor),
        order_(order),
        options_(options),
        shape_(eval(anchor.output()->shape(), {})) {}

  std::optional<Epilogue> match(const Value* bias) {
    if (group_.results().size() != 1 || eval(group_.results()[0]->shape(), {}) != shape_) return std::nullopt;
    if (bias) {
      epilogue_.bias = group_.outer(bias);
      const Strided layout = planner_.assignment().layout(epilogue_.bias);
      if (layout.dtype() != DType::f32 || !layout.is_contiguous()) return std::nullopt;
    }
    const Value* current = anchor_.output();
    std::vector<const Node*> rest;
    int gathers = 0;
    for (const Node* member : group_.members()) {
      if (member == &anchor_ || (options_.halves && is_read_by_anchor(*member))) continue;
      if (options_.gathers && slices_by_index(*member)) {  // the addition behind it takes it
        ++gathers;
        continue;
      }
      if (!member->op().is_pointwise()) return std::nullopt;
      if (!rest.empty() || !take(*member, current)) rest.push_back(member);
    }
    if (!rest.empty() && !lower_f32(rest, current)) return std::nullopt;
    if (rest.empty() && current != group_.results()[0]) return std::nullopt;
    if (gathers != (epilogue_.residual_rows ? 1 : 0)) return std::nullopt;
    return std::move(epilogue_);
  }

  std::optional<TileProgram> match_all(const Value* bias) const {
    if (group_.results().size() != 1 || eval(group_.results()[0]->shape(), {}) != shape_) return std::nullopt;
    std::vector<const Node*> rest;
    const auto fed = feeding();
    for (const Node* member : group_.members()) {
      if (fed.contains(member)) continue;
      if (!member->op().is_pointwise()) return std::nullopt;
      rest.push_back(member);
    }
    return lower(rest, anchor_.output(), bias);
  }

 private:
  // A cast of bfloat16 that is the anchor's own.
  bool is_read_by_anchor(const Node& member) const {
    for (std::size_t i = 0; i < anchor_.inputs().size(); ++i)
      if (anchor_.input(i) == member.output() && widened_for(anchor_, i)) return true;
    return false;
  }

  // The anchor, and the members from which nothing is computed but what it reads.
  std::unordered_set<const Node*> feeding() const {
    std::unordered_set<const Node*> found{&anchor_};
    for (auto member = group_.members().rbegin(); member != group_.members().rend(); ++member) {
      const auto& uses = (*member)->output()->uses();
      if (std::ranges::all_of(uses, [&](const Use& use) { return use.node && found.contains(use.node); }))
        found.insert(*member);
    }
    return found;
  }

  std::int64_t columns() const { return shape_[static_cast<std::size_t>(order_.back())]; }

  std::optional<MatrixStrides> as_matrix(const Strided& layout) const {
    if (layout.rank() > shape_.size()) return std::nullopt;
    const std::int64_t rows = columns() == 0 ? 0 : numel(shape_) / columns();
    Index strides;
    if (!layout.expand(shape_).permute(order_).can_view_as({rows, columns()}, &strides)) return std::nullopt;
    return MatrixStrides{strides[0], strides[1]};
  }

  // Takes an addition of a bias or a residual, or the relu behind them.
  bool take(const Node& member, const Value*& current) {
    const auto& inputs = member.inputs();
    const auto seen = std::count(inputs.begin(), inputs.end(), current);
    if (seen != 1 || current->uses().size() != 1 || epilogue_.relu) return false;
    if (member.is<Relu>()) {
      epilogue_.relu = true;
      current = member.output();
      return true;
    }
    if (!member.is<Add>()) return false;
    const Value* other = inputs[0] == current ? inputs[1] : inputs[0];
    if (take_gather(*other)) {
      current = member.output();
      return true;
    }
    if (group_.contains(other) || other->kind() == Value::Kind::literal || other->dtype() != DType::f32)
      return false;
    if (member.output()->shape() != to_shape(shape_)) return false;
    const Value* outer = group_.outer(other);
    const Strided layout = planner_.assignment().layout(outer);
    const auto matrix = as_matrix(layout);
    if (!matrix || matrix->column != 1) return false;
    const bool one_row = columns() == numel(shape_);
    if ((matrix->row == 0 || one_row) && !epilogue_.bias) {
      epilogue_.bias = outer;
    } else if (matrix->row > 0 && !epilogue_.residual) {
      epilogue_.residual = outer;
      epilogue_.residual_row_stride = matrix->row;
      epilogue_.residual_is_whole = layout.rank() == shape_.size();
    } else {
      return false;
    }
    current = member.output();
    return true;
  }

  // Rows of a matrix that the group adds to those of the result.
  bool take_gather(const Value& chosen) {
    if (!options_.gathers || !group_.contains(&chosen) || epilogue_.residual || chosen.uses().size() != 1)
      return false;
    const bool fits = chosen.dtype() == DType::f32 && eval(chosen.shape(), {}) == shape_ &&
                      order_ == row_major(shape_.size()) && chooses_rows(*chosen.node());
    if (!fits) return false;
    epilogue_.residual = group_.outer(chosen.node()->input(0));
    epilogue_.residual_row_stride = columns();
    epilogue_.residual_rows = group_.outer(chosen.node()->input(1));
    epilogue_.residual_rows_from_end = slices_by_index(*chosen.node())->from_end;
    return true;
  }

  bool lower_f32(const std::vector<const Node*>& rest, const Value* current) {
    const DType type = group_.results()[0]->dtype();
    if (type != DType::f32 && !(options_.halves && type == DType::bf16)) return false;
    auto lowered = lower(rest, current, nullptr);
    if (!lowered) return false;
    epilogue_.program = std::move(lowered->program);
    epilogue_.operands = std::move(lowered->operands);
    return true;
  }

  // `current` is the tile, to which the bias is added.
  std::optional<TileProgram> lower(const std::vector<const Node*>& rest, const Value* current,
                                   const Value* bias) const {
    const Value* result = group_.results()[0];
    if (columns() == 0) return std::nullopt;
    TileProgram tile{.program{group_.ops(), {numel(shape_) / columns(), columns()}}};
    LoopProgram& program = tile.program;
    bool fits = true;
    const auto load = [&](const Value* inner) -> Reg {
      const Value* outer = group_.outer(inner);
      const Strided layout = planner_.assignment().layout(outer);
      const auto matrix = as_matrix(layout);
      if (!matrix || is_complex(layout.dtype())) {
        fits = false;
        return program.constant(0, compute_type(inner->dtype()));
      }
      return load_from(tile, outer, layout.dtype(), *matrix);
    };
    const DType dtype = current->dtype(), computed = compute_type(dtype);
    Reg sum = program.tile(computed);
    if (is_integral(dtype) && dtype != computed) sum = program.cast(dtype, sum);
    if (bias) {
      const Strided layout = planner_.assignment().layout(group_.outer(bias));
      sum = program.prim(Prim::add, sum,
                         load_from(tile, group_.outer(bias), layout.dtype(), {0, layout.strides()[0]}));
    }
    if (is_float(dtype) && dtype != computed && !rest.empty()) sum = program.cast(dtype, sum);
    LoopBuilder builder(program, nullptr, load);
    builder.set(current, sum);
    for (const Node* member : rest) {
      if (reads_rounded(*member))
        builder.set(member->output(), builder.reg(member->input()));
      else
        builder.emit(*member);
    }
    if (!fits) return std::nullopt;
    program.store({.buffer = static_cast<int>(tile.operands.size()),
                   .dtype = result->dtype(),
                   .strides = {columns(), 1}},
                  builder.reg(result));
    return tile;
  }

  // A cast of what is of that type already, but held in float32.
  bool reads_rounded(const Node& member) const {
    if (!member.is<Cast>() || member.input()->dtype() != DType::f32) return false;
    return is_widened_from(group_.outer(member.input()), member.output()->dtype());
  }

  static Reg load_from(TileProgram& tile, const Value* outer, DType dtype, const MatrixStrides& at) {
    tile.operands.push_back(outer);
    return tile.program.load({.buffer = static_cast<int>(tile.operands.size()) - 1,
                              .dtype = dtype,
                              .strides = {at.row, at.column}});
  }

  const Planner& planner_;
  const Group& group_;
  const Node& anchor_;
  const Order& order_;
  EpilogueOptions options_;
  Index shape_;  // of the anchor's result
  Epilogue epilogue_;
};

}  // namespace

const Node* find_anchor(const Group& group, const OpInfo& op) {
  const Node* anchor = nullptr;
  for (const Node* member : group.members()) {
    if (&member->op().info() != &op) continue;
    if (anchor) return nullptr;
    anchor = member;
  }
  if (!anchor) return nullptr;
  const auto& inputs = anchor->inputs();
  const bool computed =
      std::any_of(inputs.begin(), inputs.end(), [&](const Value* v) { return group.contains(v); });
  return computed ? nullptr : anchor;
}

std::optional<Epilogue> Epilogue::match(const Planner& planner, const Group& group, const Node& anchor,
                                        const Value* bias, const Order& order, EpilogueOptions options) {
  return Matcher(planner, group, anchor, order, options).match(bias);
}

std::optional<TileProgram> TileProgram::match(const Planner& planner, const Group& group, const Node& anchor,
                                              const Value* bias, const Order& order) {
  return Matcher(planner, group, anchor, order).match_all(bias);
}

double TileProgram::bytes() const {
  double sum = 0;
  for (const Value* v : operands) sum += bytes_of(v->type());
  return sum;
}

std::string Epilogue::text() const {
  std::string text;
  if (bias) text += "+bias";
  if (residual) text += residual_rows ? "+gather" : "+residual";
  if (relu) text += "+relu";
  if (program) text += "+tile";
  return text;
}

double Epilogue::bytes() const {
  double sum = 0;
  for (const Value* v : {bias, residual_rows ? nullptr : residual, residual_rows})
    if (v) sum += bytes_of(v->type());
  if (residual_rows)
    sum += static_cast<double>(numel(residual_rows->shape()).value() * residual_row_stride) * sizeof(float);
  for (const Value* v : operands) sum += bytes_of(v->type());
  return sum;
}

PlannedTensor Epilogue::assign_result(Planner& planner, const Group& group, const Order& order,
                                      FunctionRef<bool(const PlannedTensor&)> fits) const {
  const Value* result = group.node().output();
  const auto& inputs = group.node().inputs();
  BufferAssignment& assignment = planner.assignment();
  const auto input = std::find(inputs.begin(), inputs.end(), residual);
  // What the group reads elsewhere, too, must not be gone by then.
  const auto is_read_once = [&] {
    const Node& node = group.node();
    if (std::count(inputs.begin(), inputs.end(), residual) != 1) return false;
    if (!node.is<Fused>()) return true;
    return node.region().parameters()[static_cast<std::size_t>(input - inputs.begin())]->uses().size() == 1;
  };
  const bool over = residual && residual_is_whole && is_read_once();
  if (over && fits(assignment.at(residual)))
    if (const auto place = assignment.assign_over(result, residual, group.node())) return *place;
  return assignment.assign(result, order, fits);
}

}  // namespace tenon
