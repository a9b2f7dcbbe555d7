#include "runtime/cpu/epilogue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "runtime/lower.h"

namespace tenon {
namespace {

// The largest piece of a tile the program is given at once, and the stack it may use for it.
constexpr long piece_rows = 16;
constexpr long piece_cols = 128;
constexpr std::size_t stack_bytes = 128 << 10;
// On fewer columns than this, the program costs more for each tile than in a pass of its own.
constexpr std::int64_t fewest_columns = 16;

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

std::optional<GroupEpilogue::Matrix> GroupEpilogue::as_matrix(const PlannedTensor& place, const Index& shape,
                                                              const Order& order) {
  if (place.rank() > shape.size()) return std::nullopt;
  const std::int64_t columns = shape[static_cast<std::size_t>(order.back())];
  const std::int64_t rows = columns == 0 ? 0 : numel(shape) / columns;
  Index strides;
  if (!place.expand(shape).permute(order).can_view_as({rows, columns}, &strides)) return std::nullopt;
  return Matrix{place, strides[0], strides[1]};
}

std::optional<GroupEpilogue> GroupEpilogue::find(Planner& planner, const Group& group, const Node& anchor,
                                                 const Value* bias, const Order& order) {
  if (group.results().size() != 1) return std::nullopt;
  GroupEpilogue epilogue;
  epilogue.order_ = order;
  epilogue.shape_ = eval(anchor.output()->shape(), {});
  if (eval(group.results()[0]->shape(), {}) != epilogue.shape_) return std::nullopt;
  if (bias) {
    const PlannedTensor place = planner.places().at(group.outer(bias));
    if (place.dtype() != DType::f32 || !place.is_contiguous()) return std::nullopt;
    epilogue.bias_ = place.address();
    epilogue.reads_.push_back(place);
  }
  const Value* current = anchor.output();
  std::vector<const Node*> rest;
  for (const Node* member : group.members()) {
    if (member == &anchor) continue;
    if (!member->op().is_pointwise()) return std::nullopt;
    if (!rest.empty() || !epilogue.take(planner, group, *member, current)) rest.push_back(member);
  }
  if (!rest.empty() && !epilogue.compile_rest(planner, group, rest, current)) return std::nullopt;
  if (rest.empty() && current != group.results()[0]) return std::nullopt;
  return epilogue;
}

// Takes an addition of a bias or a residual, or the relu behind them, into the registers.
bool GroupEpilogue::take(Planner& planner, const Group& group, const Node& member, const Value*& current) {
  const auto& inputs = member.inputs();
  const auto seen = std::count(inputs.begin(), inputs.end(), current);
  if (seen != 1 || current->uses().size() != 1 || relu_) return false;
  if (member.is<Relu>()) {
    relu_ = true;
    current = member.output();
    return true;
  }
  if (!member.is<Add>()) return false;
  const Value* other = inputs[0] == current ? inputs[1] : inputs[0];
  if (group.contains(other) || other->kind() == Value::Kind::literal || other->dtype() != DType::f32)
    return false;
  if (member.output()->shape() != to_shape(shape_)) return false;
  const Value* outer = group.outer(other);
  const auto matrix = as_matrix(planner.places().at(outer), shape_, order_);
  if (!matrix || matrix->column_stride != 1) return false;
  const bool one_row = shape_[static_cast<std::size_t>(order_.back())] == numel(shape_);
  if ((matrix->row_stride == 0 || one_row) && !bias_) {
    bias_ = matrix->place.address();
  } else if (matrix->row_stride > 0 && !residual_) {
    residual_ = matrix->place.address();
    residual_stride_ = matrix->row_stride;
    if (matrix->place.rank() == shape_.size()) residual_value_ = outer;
  } else {
    return false;
  }
  reads_.push_back(matrix->place);
  current = member.output();
  return true;
}

bool GroupEpilogue::compile_rest(Planner& planner, const Group& group, const std::vector<const Node*>& rest,
                                 const Value* current) {
  const std::int64_t columns = shape_[static_cast<std::size_t>(order_.back())];
  if (columns < fewest_columns) return false;
  LoopProgram program(group.ops(), {numel(shape_) / columns, columns});
  bool fits = true;
  const auto load = [&](const Value* inner) -> Reg {
    const PlannedTensor place = planner.places().at(group.outer(inner));
    const auto matrix = as_matrix(place, shape_, order_);
    if (!matrix || is_complex(place.dtype()) || buffers_.size() + 1 >= max_buffers) {
      fits = false;
      return program.constant(0, compute_type(inner->dtype()));
    }
    buffers_.push_back(place.address());
    reads_.push_back(place);
    return program.load({.buffer = static_cast<int>(buffers_.size()) - 1,
                         .dtype = place.dtype(),
                         .strides = {matrix->row_stride, matrix->column_stride}});
  };
  LoopBuilder builder(program, nullptr, load);
  builder.set(current, program.tile());
  for (const Node* member : rest) builder.emit(*member);
  const Value* result = group.results()[0];
  if (!fits || result->dtype() != DType::f32) return false;
  program.store({.buffer = static_cast<int>(buffers_.size()), .strides = {piece_cols, 1}},
                builder.reg(result));
  program_ = cpu::LoopKernel::compile_epilogue(program, piece_rows, piece_cols);
  return program_->scratch_bytes(1) <= stack_bytes;
}

PlannedTensor GroupEpilogue::place_result(Planner& planner, const Group& group, const Order& order,
                                          FunctionRef<bool(const PlannedTensor&)> fits) const {
  const Value* result = group.node().output();
  const auto& inputs = group.node().inputs();
  const bool once = std::count(inputs.begin(), inputs.end(), residual_value_) == 1;
  if (residual_value_ && once && fits(planner.places().at(residual_value_)))
    if (const auto place = planner.places().place_over(result, residual_value_, group.node())) return *place;
  return planner.places().place(result, order, fits);
}

std::string GroupEpilogue::text() const {
  std::string text;
  if (bias_) text += "+bias";
  if (residual_) text += "+residual";
  if (relu_) text += "+relu";
  if (program_) text += "+tile";
  return text;
}

cpu::Epilogue GroupEpilogue::bind(const CpuFrame& frame, Running& running, long first_row) const {
  cpu::Epilogue epilogue;
  if (bias_) epilogue.bias = frame.at<const float>(*bias_);
  if (residual_) epilogue.residual = frame.at<const float>(*residual_) + first_row * residual_stride_;
  epilogue.residual_stride = residual_stride_;
  epilogue.activation = relu_ ? cpu::Activation::relu : cpu::Activation::none;
  if (!program_) return epilogue;
  running.self = this;
  running.first_row = first_row;
  for (std::size_t i = 0; i < buffers_.size(); ++i) running.buffers[i] = frame.at<void>(buffers_[i]);
  epilogue.hook = run_hook;
  epilogue.context = &running;
  return epilogue;
}

void GroupEpilogue::run_hook(const void* context, float* tile, long stride, long row0, long rows, long col0,
                             long cols) {
  const auto& running = *static_cast<const Running*>(context);
  const GroupEpilogue& self = *running.self;
  auto buffers = running.buffers;
  row0 += running.first_row;
  const std::size_t count = self.buffers_.size() + 1;
  alignas(64) std::byte scratch[stack_bytes];
  alignas(64) float result[piece_rows * piece_cols];
  for (long r = 0; r < rows; r += piece_rows) {
    for (long c = 0; c < cols; c += piece_cols) {
      const long height = std::min(piece_rows, rows - r);
      const long width = std::min(piece_cols, cols - c);
      float* piece = tile + r * stride + c;
      // The program stores at [row * piece_cols + column]; this makes that result[0] for the piece's corner.
      // The address lies outside of result, where no pointer of C++ may point.
      const long corner = (row0 + r) * piece_cols + col0 + c;
      buffers[count - 1] = reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(result) -
                                                   corner * static_cast<long>(sizeof(float)));
      self.program_->run_on_tile({piece, stride, row0 + r, col0 + c, height, width}, {buffers.data(), count},
                                 scratch);
      for (long i = 0; i < height; ++i)
        std::memcpy(piece + i * stride, result + i * piece_cols,
                    static_cast<std::size_t>(width) * sizeof(float));
    }
  }
}

}  // namespace tenon
