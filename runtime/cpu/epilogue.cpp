#include "runtime/cpu/epilogue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/index_fault.h"

namespace tenon {
namespace {

// The largest piece of a tile the program is given at once, and the stack it may use for it.
constexpr long piece_rows = 16;
constexpr long piece_cols = 128;
constexpr std::size_t stack_bytes = 128 << 10;
// On fewer columns than this, the program costs more for each tile than in a pass of its own.
constexpr std::int64_t fewest_columns = 16;

}  // namespace

std::optional<CpuEpilogue> CpuEpilogue::compile(Epilogue epilogue) {
  CpuEpilogue compiled;
  compiled.epilogue_ = std::move(epilogue);
  const Epilogue& e = compiled.epilogue_;
  if (!e.program) return compiled;
  if (e.program->shape.dims[1] < fewest_columns || e.operands.size() + 1 > max_buffers) return std::nullopt;
  LoopProgram program = *e.program;
  program.shape.operands.back().strides = {piece_cols, 1};  // the result is one piece, too
  compiled.kernel_ = cpu::LoopKernel::compile_epilogue(program, piece_rows, piece_cols);
  if (compiled.kernel_->scratch_bytes(1) > stack_bytes) return std::nullopt;
  return compiled;
}

void CpuEpilogue::place(Planner& planner) {
  const auto read = [&](const Value* value) {
    reads_.push_back(planner.assignment().at(value));
    return reads_.back().address();
  };
  if (epilogue_.bias) bias_ = read(epilogue_.bias);
  if (epilogue_.residual_rows) {
    for (const Value* value : {epilogue_.residual, epilogue_.residual_rows})
      reads_.push_back(planner.dense(value));
    residual_ = reads_[reads_.size() - 2].address();
    residual_rows_ = reads_.back().address();
  } else if (epilogue_.residual) {
    residual_ = read(epilogue_.residual);
  }
  for (const Value* value : epilogue_.operands) buffers_.push_back(read(value));
}

cpu::Epilogue CpuEpilogue::bind(const CpuFrame& frame, Running& running, long first_row) const {
  cpu::Epilogue epilogue;
  epilogue.residual_stride = epilogue_.residual_row_stride;
  if (bias_) epilogue.bias = frame.at<const float>(*bias_);
  if (residual_) epilogue.residual = frame.at<const float>(*residual_) + first_row * epilogue.residual_stride;
  epilogue.activation = epilogue_.relu ? cpu::Activation::relu : cpu::Activation::none;
  if (!kernel_) return epilogue;
  running.self = this;
  running.first_row = first_row;
  for (std::size_t i = 0; i < buffers_.size(); ++i) running.buffers[i] = frame.at<void>(buffers_[i]);
  epilogue.hook = run_hook;
  epilogue.context = &running;
  return epilogue;
}

std::optional<CpuEpilogue> find_epilogue(const Planner& planner, const Group& group, const Node& anchor,
                                         const Value* bias, const Order& order, bool may_gather) {
  auto match = Epilogue::match(planner, group, anchor, bias, order, may_gather);
  return match ? CpuEpilogue::compile(*std::move(match)) : std::nullopt;
}

bool CpuEpilogue::find_rows(const CpuFrame& frame, cpu::Epilogue& epilogue, long rows, void* scratch) const {
  if (!residual_rows_) return true;
  const auto* const indices = frame.at<const void>(*residual_rows_);
  const DType dtype = epilogue_.residual_rows->dtype();
  const std::int64_t range = epilogue_.residual->shape()[0].value();
  auto* const found = static_cast<long*>(scratch);
  for (long r = 0; r < rows; ++r) {
    const std::int64_t index = index_at(indices, dtype, r);
    if (!is_in_range(index, range, epilogue_.residual_rows_from_end)) {
      report_index(frame.faults[0], index, range, epilogue_.residual_rows_from_end);
      return false;
    }
    found[r] = index < 0 ? index + range : index;
  }
  epilogue.residual_rows = found;
  return true;
}

void CpuEpilogue::run_hook(const void* context, float* tile, long stride, long row0, long rows, long col0,
                           long cols) {
  const auto& running = *static_cast<const Running*>(context);
  const CpuEpilogue& self = *running.self;
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
      self.kernel_->run_on_tile({piece, stride, row0 + r, col0 + c, height, width}, {buffers.data(), count},
                                scratch);
      for (long i = 0; i < height; ++i)
        std::memcpy(piece + i * stride, result + i * piece_cols,
                    static_cast<std::size_t>(width) * sizeof(float));
    }
  }
}

}  // namespace tenon
