// Choosing a form for a loop, and its arguments.
#include "kernels/gpu/loop_form.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernels/gpu/loop_stages.h"

namespace tenon::gpu {
namespace {

constexpr int most_threads = 1024;
constexpr int most_lanes = 32;         // a row's lanes fit a wave of every device
constexpr int kept_registers = 32;     // 32-bit registers of a thread that hold elements of its row
constexpr int least_columns = 8;       // rows of a block whose elements lie side by side: a sector of memory
constexpr int rows_of_processor = 16;  // of a wave each, which keep it busy
constexpr int most_vector = 8;
constexpr int elements_in_flight = 4;  // elements that a thread reads before it computes
constexpr int piece_bytes = 16;
constexpr int most_blocks_per_wave = 8;  // points: blocks for each one that a device holds at once

std::size_t kept_dims(const LoopProgram& p) {
  return p.shape.dims.size() - static_cast<std::size_t>(p.code.reduced);
}
std::int64_t row_count(const LoopProgram& p) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < kept_dims(p); ++d) count *= p.shape.dims[d];
  return count;
}
std::int64_t blocks_of(std::int64_t count, std::int64_t block) { return (count + block - 1) / block; }
int power_of_two_above(std::int64_t n, int most) {
  int power = 1;
  while (power < n && power < most) power *= 2;
  return power;
}

/// The largest distance of an operand's elements from its buffer's begin, and the number of points.
bool needs_wide_indices(const LoopProgram& p, const GpuLimits& limits) {
  std::int64_t points = 1;
  for (const std::int64_t extent : p.shape.dims) points *= extent;
  std::int64_t reach = points + std::int64_t{limits.processors} * limits.threads_per_processor *
                                    most_blocks_per_wave * most_vector;
  for (const LoopShape::OperandShape& operand : p.shape.operands) {
    std::int64_t span = std::abs(operand.offset) + std::abs(operand.range * operand.index_stride);
    for (std::size_t d = 0; d < p.shape.dims.size(); ++d)
      span += std::abs(operand.strides[d]) * p.shape.dims[d];
    reach = std::max(reach, span);
  }
  return reach + most_threads * most_vector > std::numeric_limits<std::int32_t>::max();
}

/// Elements that a thread reads at once: as many as fill 16 bytes of the smallest type that lies contiguous.
int vector_of(const LoopProgram& p) {
  if (p.shape.dims.empty()) return 1;
  int vector = 1;
  for (const LoopCode::OperandCode& operand : p.code.operands)
    if (operand.strides.back() == Stride::one)
      vector =
          std::max(vector, std::min(most_vector, piece_bytes / static_cast<int>(size_of(operand.dtype))));
  const std::int64_t extent = p.shape.dims.back();
  const bool one_dim = p.code.reduced == 1 || p.shape.dims.size() == 1;
  while (vector > 1 && (one_dim ? extent < vector : extent % vector != 0)) vector /= 2;
  return vector;
}

/// Do the rows lie side by side, rather than one after the other?
bool lie_side_by_side(const LoopProgram& p) {
  const std::size_t kept = kept_dims(p);
  if (p.code.reduced == 0 || kept == 0) return false;
  int votes = 0;
  for (std::size_t k = 0; k < p.code.operands.size(); ++k) {
    const auto& strides = p.code.operands[k].strides;
    if (strides.back() == Stride::zero) continue;
    votes += (strides[kept - 1] == Stride::one) - (strides.back() == Stride::one);
  }
  return votes > 0 && p.shape.dims[kept - 1] > 1;
}

/// What is in flight hides the latency of memory: several narrow chunks are read at once.
int chunks_in_flight(int vector) { return std::max(elements_in_flight / vector, 1); }

/// A thread keeps as many chunks as cover the row, if its registers hold them.
void keep_rows(LoopForm& form, const LoopProgram& p, int row_threads, int most_kept = kept_registers) {
  const std::int64_t covered = std::int64_t{row_threads} * form.vector;
  const std::int64_t chunks = power_of_two_above(blocks_of(p.row_length(), covered), most_kept);
  form.keeps = chunks * covered >= p.row_length() &&
               chunks * form.vector * std::max(kept_values(p.code), 1) <= most_kept;
  form.chunks = form.keeps ? static_cast<int>(chunks) : chunks_in_flight(form.vector);
}

LoopForm form_of_columns(const LoopProgram& p, const GpuLimits& limits) {
  LoopForm form{.group = RowGroup::columns, .width = most_lanes};
  const std::int64_t lines = std::max<std::int64_t>(p.row_length() / 4, 1);
  while (form.width < form.threads && form.threads / form.width > lines) form.width *= 2;
  const auto fills = [&] { return blocks_of(row_count(p), form.width) >= limits.processors; };
  while (!fills() && form.threads < most_threads && form.threads / form.width < lines) form.threads *= 2;
  while (!fills() && form.width > least_columns && form.threads / form.width < lines) form.width /= 2;
  keep_rows(form, p, form.threads / form.width, kept_registers / 2);
  return form;
}

LoopForm form_of_rows(const LoopProgram& p, const GpuLimits& limits) {
  LoopForm form{.group = RowGroup::lanes, .vector = vector_of(p)};
  form.width = power_of_two_above(blocks_of(p.row_length(), form.vector), most_lanes);
  keep_rows(form, p, form.width);
  const auto has_few = [&] { return form.keeps && form.chunks * form.vector <= kept_registers / 2; };
  // Lanes need no barrier. Many rows keep the device busy with what a wave has under way; few take blocks.
  const bool are_many = row_count(p) >= std::int64_t{rows_of_processor} * limits.processors;
  if (has_few()) return form;
  if (are_many) keep_rows(form, p, form.width, 2 * kept_registers);
  if (are_many && form.keeps) return form;
  form.group = RowGroup::block;
  for (form.threads = 128; form.threads <= most_threads; form.threads *= 2) {
    form.width = form.threads;
    keep_rows(form, p, form.threads);
    if (has_few() || (form.keeps && form.threads == most_threads)) return form;
  }
  form.threads = form.width = most_threads / 2;
  return form;
}

}  // namespace

LoopForm loop_form(const LoopProgram& program, const GpuLimits& limits) {
  LoopForm form;
  if (program.code.reduced == 0) {
    form.vector = vector_of(program);
    form.chunks = chunks_in_flight(form.vector);
    // Few points take their time for latency: a thread each, if there are blocks for it.
    const std::int64_t at_once = std::int64_t{limits.processors} * form.threads;
    while (form.vector * form.chunks > 1 && row_count(program) < at_once * form.vector * form.chunks)
      form.chunks > 1 ? form.chunks /= 2 : form.vector /= 2;
  } else {
    form = lie_side_by_side(program) ? form_of_columns(program, limits) : form_of_rows(program, limits);
  }
  form.wide = needs_wide_indices(program, limits);
  return form;
}

LoopLaunch loop_launch(const LoopProgram& program, const LoopForm& form, const GpuLimits& limits) {
  std::int64_t rows = row_count(program);
  LoopLaunch launch{.block = form.threads};
  switch (form.group) {
    case RowGroup::none: {
      const std::int64_t resident =
          std::int64_t{limits.processors} * limits.threads_per_processor / form.threads;
      launch.grid = std::min(blocks_of(rows, std::int64_t{form.threads} * form.vector * form.chunks),
                             resident * most_blocks_per_wave);
      return launch;
    }
    case RowGroup::lanes: launch.grid = blocks_of(rows, form.threads / form.width); return launch;
    case RowGroup::block: launch.grid = rows; return launch;
    case RowGroup::columns: launch.grid = blocks_of(rows, form.width); return launch;
  }
  TENON_CHECK(false);
}

namespace {

/// Elements of the operand lie in pieces wherever the vector begins.
bool in_pieces(const LoopShape::OperandShape& operand, int vector) {
  const auto whole = [&](std::int64_t stride) { return stride % vector == 0; };
  return whole(operand.index_stride) &&
         std::all_of(operand.strides.begin(), operand.strides.end() - 1, whole);
}

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t from, std::size_t to) {
  std::int64_t count = 1;
  for (std::size_t d = from; d < to; ++d) count *= dims[d];
  return count;
}

void list_operand(std::vector<LoopArgument>& list, const LoopCode::OperandCode& code,
                  const LoopShape::OperandShape& shape, std::size_t number, int vector) {
  list.push_back({fmt::format("offset_{}", number), shape.offset});
  for (std::size_t d = 0; d < code.strides.size(); ++d)
    if (code.strides[d] == Stride::any)
      list.push_back({fmt::format("stride_{}_{}", number, d), shape.strides[d]});
  if (code.index_stride == Stride::any)
    list.push_back({fmt::format("index_stride_{}", number), shape.index_stride});
  list.push_back({fmt::format("range_{}", number), shape.range});
  if (vector > 1 && code.strides.back() == Stride::one)
    list.push_back({fmt::format("pieces_{}", number), in_pieces(shape, vector)});
}

}  // namespace

std::vector<LoopArgument> list_arguments(const LoopCode& code, const LoopShape& shape, const LoopForm& form) {
  const std::size_t rank = shape.dims.size();
  const std::size_t kept = rank - static_cast<std::size_t>(code.reduced);
  std::vector<LoopArgument> list = {{"rows", product(shape.dims, 0, kept)},
                                    {"length", product(shape.dims, kept, rank)}};
  for (std::size_t d = 0; d < rank; ++d) list.push_back({fmt::format("dim_{}", d), shape.dims[d]});
  for (std::size_t k = 0; k < code.operands.size(); ++k)
    list_operand(list, code.operands[k], shape.operands[k], k, form.vector);
  return list;
}

std::vector<std::byte> loop_arguments(const LoopProgram& program, const LoopForm& form) {
  const std::vector<LoopArgument> list = list_arguments(program.code, program.shape, form);
  std::vector<std::byte> bytes(list.size() * sizeof(std::int64_t));
  for (std::size_t i = 0; i < list.size(); ++i)
    std::memcpy(bytes.data() + i * sizeof(std::int64_t), &list[i].value, sizeof(std::int64_t));
  return bytes;
}

}  // namespace tenon::gpu
