// The order of a loop's dims on a GPU.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kernels/gpu/loop_form.h"

namespace tenon::gpu {
namespace {

struct Dim {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides;  // of each operand
  std::vector<std::size_t> iotas;     // the instructions that count along it
};

std::vector<Dim> dims_of(const LoopProgram& p) {
  std::vector<Dim> dims(p.shape.dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d].extent = p.shape.dims[d];
    for (const LoopShape::OperandShape& operand : p.shape.operands)
      dims[d].strides.push_back(operand.strides[d]);
    for (std::size_t i = 0; i < p.code.instructions.size(); ++i) {
      const Instruction& instruction = p.code.instructions[i];
      if (instruction.op == LoopOp::iota && instruction.dim == static_cast<int>(d))
        dims[d].iotas.push_back(i);
    }
  }
  return dims;
}

/// The operands whose layout decides: what is stored, and what is loaded along rows.
std::vector<std::size_t> leading_operands(const LoopProgram& p) {
  const std::vector<bool> varying = varies_over_row(p);
  const bool reduces = p.code.reduced > 0;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < p.code.instructions.size(); ++i) {
    const Instruction& instruction = p.code.instructions[i];
    const bool leads = instruction.op == LoopOp::store || (reduces && instruction.op == LoopOp::load);
    if (leads && (!reduces || varying[i])) result.push_back(static_cast<std::size_t>(instruction.operand));
  }
  return result;
}

void sort_by_memory(std::vector<Dim>& dims, const std::vector<std::size_t>& leading) {
  const auto weight = [&](const Dim& dim) {
    std::int64_t sum = 0;
    for (const std::size_t operand : leading) sum += std::abs(dim.strides[operand]);
    return sum;
  };
  std::stable_sort(dims.begin(), dims.end(),
                   [&](const Dim& a, const Dim& b) { return weight(a) > weight(b); });
}

bool are_one(const Dim& outer, const Dim& inner) {
  if (!outer.iotas.empty() || !inner.iotas.empty()) return false;
  for (std::size_t k = 0; k < inner.strides.size(); ++k)
    if (outer.strides[k] != inner.strides[k] * inner.extent) return false;
  return true;
}

void join(std::vector<Dim>& dims) {
  for (std::size_t d = dims.size(); d-- > 1;) {
    if (!are_one(dims[d - 1], dims[d])) continue;
    dims[d].extent *= dims[d - 1].extent;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d) - 1);
  }
}

/// Does an operand lie contiguous along `dim`, and not along `last`?
bool crosses(const Dim& dim, const Dim& last) {
  for (std::size_t k = 0; k < dim.strides.size(); ++k)
    if (std::abs(dim.strides[k]) == 1 && std::abs(last.strides[k]) > 1) return true;
  return false;
}

/// A side of a square of points that divides the dim; 1 if there is none.
std::int64_t square_side(const Dim& dim) {
  for (const std::int64_t side : {32, 16, 8})
    if (dim.iotas.empty() && dim.extent % side == 0 && dim.extent > side) return side;
  return 1;
}

/// Cuts `side` points off the dim.
Dim cut(Dim& dim, std::int64_t side) {
  Dim inner = dim;
  inner.extent = side;
  dim.extent /= side;
  for (std::int64_t& stride : dim.strides) stride *= side;
  return inner;
}

/// Where operands lie contiguous along two dims, a block walks squares of both: it uses all of the lines that
/// it reads.
void walk_squares(std::vector<Dim>& dims) {
  if (dims.size() < 2) return;
  const auto last = dims.end() - 1;
  const auto other = std::find_if(dims.begin(), last, [&](const Dim& dim) { return crosses(dim, *last); });
  if (other == last) return;
  const std::int64_t height = square_side(*other), width = square_side(*last);
  if (height == 1 || width == 1) return;
  const Dim inner = cut(*other, height), innermost = cut(*last, width);
  dims.push_back(inner);
  dims.push_back(innermost);
}

/// Dims of one point; `least` dims stay.
void drop_points(std::vector<Dim>& dims, std::size_t least, LoopProgram& p) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d].extent != 1 || dims.size() <= least) continue;
    for (const std::size_t i : dims[d].iotas)
      p.code.instructions[i] = {.op = LoopOp::constant, .type = DType::i64};
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

bool has_positions(const LoopCode& code) {
  return std::any_of(code.instructions.begin(), code.instructions.end(), [](const Instruction& i) {
    return i.op == LoopOp::reduce && info(i.reduce).kind == ReduceKind::position;
  });
}

void set_dims(LoopProgram& p, const std::vector<Dim>& dims) {
  p.shape.dims.clear();
  for (LoopCode::OperandCode& operand : p.code.operands) operand.strides.clear();
  for (LoopShape::OperandShape& operand : p.shape.operands) operand.strides.clear();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    p.shape.dims.push_back(dims[d].extent);
    for (std::size_t k = 0; k < p.code.operands.size(); ++k) {
      p.shape.operands[k].strides.push_back(dims[d].strides[k]);
      p.code.operands[k].strides.push_back(class_of(dims[d].strides[k]));
    }
    for (const std::size_t i : dims[d].iotas) p.code.instructions[i].dim = static_cast<int>(d);
  }
}

}  // namespace

LoopProgram arranged(const LoopProgram& program) {
  LoopProgram result = program;
  const std::vector<std::size_t> leading = leading_operands(program);
  std::vector<Dim> kept = dims_of(program);
  const auto first_reduced = kept.end() - program.code.reduced;
  std::vector<Dim> row(first_reduced, kept.end());
  kept.erase(first_reduced, kept.end());
  drop_points(row, program.code.reduced > 0 ? 1 : 0, result);
  drop_points(kept, program.code.reduced > 0 ? 0 : 1, result);
  sort_by_memory(kept, leading);
  if (!has_positions(program.code)) sort_by_memory(row, leading);
  join(kept);
  join(row);
  if (row.empty()) walk_squares(kept);
  if (kept.empty() && row.empty())
    kept.push_back({1, std::vector<std::int64_t>(program.shape.operands.size()), {}});
  result.code.reduced = static_cast<int>(row.size());
  kept.insert(kept.end(), row.begin(), row.end());
  set_dims(result, kept);
  return result;
}

}  // namespace tenon::gpu
