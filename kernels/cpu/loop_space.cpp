// Ordering, merging and tiling of the dims of a loop program.
#include "kernels/cpu/loop_space.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "kernels/cpu/held_type.h"

namespace tenon::cpu {
namespace {

constexpr long transposed_block = 32;  // most rows of the tile where an operand is read across them
constexpr long tiny_inner = 32;        // inner extents below this are joined with the next dims
constexpr long tiny_tile = 256;        // so are dims of which a tile would have fewer elements
constexpr long tiny_rows = 512;        // of a reduction: the same
constexpr long tiny_row = 16;
constexpr long tiny_fold = 4;       // the same, where numbers are folded as they lie in memory
constexpr long few_columns = 8;     // below, rows are faster though their elements lie apart
constexpr long long_stretch = 128;  // of columns along one dim: worth a block of its own

/// A dim with the strides of all accesses along it.
struct Dim {
  long extent = 1;
  std::vector<long> strides;  // operands, then iotas
};

std::vector<Dim> dims_of(const LoopProgram& program) {
  std::vector<Dim> dims(program.shape.dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d].extent = program.shape.dims[d];
    for (const LoopShape::OperandShape& operand : program.shape.operands)
      dims[d].strides.push_back(operand.strides[d]);
    for (const Instruction& i : program.code.instructions)
      dims[d].strides.push_back(i.op == LoopOp::iota && i.dim == static_cast<int>(d) ? 1 : 0);
  }
  return dims;
}

bool gathers(const LoopProgram& program) {
  const auto& instructions = program.code.instructions;
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const Instruction& i) { return i.op == LoopOp::gather; });
}

/// For each instruction: is its register more than an index of gathers?
std::vector<bool> holds_data(const LoopProgram& program) {
  const auto& instructions = program.code.instructions;
  std::vector<bool> result(instructions.size(), false);
  for (std::size_t i = instructions.size(); i-- > 0;) {
    const Instruction& instruction = instructions[i];
    result[i] = result[i] || instruction.op == LoopOp::store;
    for (int a = instruction.op == LoopOp::gather ? 1 : 0; result[i] && a < arg_count(instruction); ++a)
      result[static_cast<std::size_t>(instruction.args[static_cast<std::size_t>(a)])] = true;
  }
  return result;
}

/// The operands whose layout decides the order of the dims: what is stored, or, where the program reduces,
/// what is loaded along the row. What is gathered says nothing of the order of rows: stores do.
std::vector<std::size_t> leading_operands(const LoopProgram& program) {
  const std::vector<bool> varying = varies_over_row(program), is_data = holds_data(program);
  std::vector<std::size_t> result;
  const bool reduces = program.code.reduced > 0;
  const bool stores_lead = !reduces || gathers(program);
  const auto leads = [&](LoopOp op) {
    return (reduces && (op == LoopOp::load || op == LoopOp::gather)) || (stores_lead && op == LoopOp::store);
  };
  const auto& instructions = program.code.instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (leads(instructions[i].op) && is_data[i] && (!reduces || varying[i]))
      result.push_back(static_cast<std::size_t>(instructions[i].operand));
  return result;
}

void sort_by_memory(std::vector<Dim>& dims, const std::vector<std::size_t>& leading) {
  const auto weight = [&](const Dim& dim) {
    long sum = 0;
    for (const std::size_t operand : leading) sum += std::labs(dim.strides[operand]);
    return sum;
  };
  std::stable_sort(dims.begin(), dims.end(),
                   [&](const Dim& a, const Dim& b) { return weight(a) > weight(b); });
}

void drop_and_merge(std::vector<Dim>& dims) {
  std::erase_if(dims, [](const Dim& d) { return d.extent == 1; });
  for (std::size_t d = dims.size(); d-- > 1;) {
    const Dim& inner = dims[d];
    Dim& outer = dims[d - 1];
    bool mergeable = true;
    for (std::size_t a = 0; a < inner.strides.size(); ++a)
      mergeable = mergeable && outer.strides[a] == inner.strides[a] * inner.extent;
    if (!mergeable) continue;
    outer.extent *= inner.extent;
    outer.strides = inner.strides;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

long points(const std::vector<Dim>& dims) {
  long count = 1;
  for (const Dim& dim : dims) count *= dim.extent;
  return count;
}

bool has_positions(const LoopProgram& program) {
  const auto& instructions = program.code.instructions;
  return std::any_of(instructions.begin(), instructions.end(), [](const Instruction& i) {
    return i.op == LoopOp::reduce && info(i.reduce).kind == ReduceKind::position;
  });
}

/// Does the program do no more with the elements of a row than fold numbers that lie side by side in memory?
/// These folds take many short rows at once.
bool folds_memory_alone(const LoopProgram& program, const std::vector<Dim>& row,
                        const std::vector<std::size_t>& leading) {
  const std::vector<bool> varying = varies_over_row(program);
  const auto& instructions = program.code.instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (varying[i] && instructions[i].op != LoopOp::load) return false;
  return row.size() == 1 && std::all_of(leading.begin(), leading.end(), [&](std::size_t operand) {
           const DType dtype = program.code.operands[operand].dtype;
           return row[0].strides[operand] == 1 && size_of(dtype) >= 4 && held_type(dtype) == dtype;
         });
}

/// Do elements lie side by side, or are they the same part of pairs that do?
bool is_near(long stride) { return stride == 1 || stride == 2; }

bool prefers_columns(const LoopProgram& program, const std::vector<Dim>& kept, const std::vector<Dim>& row,
                     const std::vector<std::size_t>& leading, bool joins) {
  if (kept.empty() || row.empty()) return false;
  // Rows of a few elements, as the classes of a pixel: many of them side by side fill the vectors.
  const long length = points(row);
  const bool folds =
      length < tiny_row && !has_positions(program) && folds_memory_alone(program, row, leading);
  if (length < (folds ? tiny_fold : tiny_row) && kept.back().extent >= tiny_inner) return true;
  if (folds) return false;
  if (joins && kept.size() > 1 && length * kept.back().extent < tiny_rows) return true;
  if (kept.back().extent < few_columns) return false;
  long rows_votes = 0;
  long columns_votes = 0;
  for (const std::size_t operand : leading) {
    // The same for all rows, as the weights of a norm: it stays in the cache.
    const auto is_fixed = [&](const Dim& dim) { return dim.strides[operand] == 0; };
    if (std::all_of(kept.begin(), kept.end(), is_fixed)) continue;
    const long down = std::labs(kept.back().strides[operand]), along = std::labs(row.back().strides[operand]);
    if (is_near(along) && (down == 0 || along <= down)) {
      ++rows_votes;
    } else if (is_near(down)) {
      ++columns_votes;
    }
  }
  return columns_votes > rows_votes;
}

/// Do the operands go on along the innermost kept dim where this one ends?
bool continues(const std::vector<Dim>& kept, const Dim& inner, const std::vector<std::size_t>& leading) {
  return !kept.empty() && std::all_of(leading.begin(), leading.end(), [&](std::size_t operand) {
    return kept.back().strides[operand] == inner.extent * inner.strides[operand];
  });
}

/// Assigns dims to the parts of the space, and cuts the accesses accordingly.
struct Parts {
  std::vector<Dim> outer, reduced_outer, p, q;
};

Dim take_back(std::vector<Dim>& dims) {
  Dim dim = std::move(dims.back());
  dims.pop_back();
  return dim;
}

/// The dim that the rows of a tile run along: one along which memory runs where it does not along `column`,
/// as whole cache lines are used then; else the innermost.
Dim take_rows(std::vector<Dim>& dims, const Dim& column, std::size_t operands) {
  const auto is_dense = [&](const Dim& dim) {
    if (dim.extent < few_columns) return false;
    for (std::size_t a = 0; a < operands; ++a)
      if (std::labs(dim.strides[a]) == 1 && std::labs(column.strides[a]) > 1) return true;
    return false;
  };
  const auto dense = std::find_if(dims.rbegin(), dims.rend(), is_dense);
  if (dense != dims.rend()) std::rotate(dense.base() - 1, dense.base(), dims.end());
  return take_back(dims);
}

Parts split_map(std::vector<Dim> kept, bool join_tiny, std::size_t operands) {
  Parts parts;
  long count = 1;
  const auto joins = [&] {
    return join_tiny && (count < tiny_inner || (kept.size() > 1 && count * kept.back().extent < tiny_tile));
  };
  while (!kept.empty() && (parts.q.empty() || joins())) {
    count *= kept.back().extent;
    parts.q.insert(parts.q.begin(), take_back(kept));
  }
  if (!kept.empty()) parts.p.push_back(take_rows(kept, parts.q.back(), operands));
  parts.outer = std::move(kept);
  return parts;
}

Parts split_rows(std::vector<Dim> kept, std::vector<Dim> row, std::size_t operands) {
  Parts parts;
  if (!kept.empty()) parts.p.push_back(row.empty() ? take_back(kept) : take_rows(kept, row.back(), operands));
  parts.outer = std::move(kept);
  parts.q = std::move(row);
  return parts;
}

Parts split_columns(std::vector<Dim> kept, std::vector<Dim> row, bool join_tiny) {
  Parts parts;
  const long length = points(row);
  while (!kept.empty() && (parts.q.empty() || (join_tiny && points(parts.q) * length < tiny_rows)))
    parts.q.insert(parts.q.begin(), take_back(kept));
  parts.outer = std::move(kept);
  parts.p.push_back(take_back(row));
  parts.reduced_outer = std::move(row);
  return parts;
}

/// Is the innermost dim of the row so short that vectors should not end with it, though what is read lies
/// side by side along it?
bool joins_columns(const std::vector<Dim>& kept, const std::vector<Dim>& row,
                   const std::vector<std::size_t>& leading) {
  if (row.size() < 2 || row.back().extent >= long_stretch) return false;
  const Dim& inner = row.back();
  bool is_whole = points(row) <= whole_row_limit;  // and dense: held in registers
  for (const std::size_t operand : leading) {
    if (inner.strides[operand] != 1) return false;
    const long next = row[row.size() - 2].strides[operand];
    is_whole = is_whole && (next == 0 || next == inner.extent);
  }
  return !is_whole && (inner.extent >= tiny_inner / 2 || continues(kept, inner, leading));
}

Parts split_joined(std::vector<Dim> kept, std::vector<Dim> row, const std::vector<std::size_t>& leading) {
  Parts parts;
  parts.q.push_back(take_back(row));
  if (continues(kept, parts.q[0], leading)) parts.q.insert(parts.q.begin(), take_back(kept));
  parts.outer = std::move(kept);
  parts.p.push_back(take_back(row));
  parts.reduced_outer = std::move(row);
  return parts;
}

std::vector<long> extents(const std::vector<Dim>& dims) {
  std::vector<long> result;
  for (const Dim& dim : dims) result.push_back(dim.extent);
  return result;
}
std::vector<long> strides(const std::vector<Dim>& dims, std::size_t access) {
  std::vector<long> result;
  for (const Dim& dim : dims) result.push_back(dim.strides[access]);
  return result;
}

/// Of elements of `size` bytes, whose columns end with pairs and the like: a word is what one instruction
/// moves.
long word_of(const Access& a, long size) {
  constexpr long largest_word = 8;  // bytes
  const long word = a.q_extents.back();
  if (a.q.size() == 1 || a.q.back() != 1 || word * size > largest_word || (word & (word - 1)) != 0) return 1;
  const auto is_whole = [&](long stride) { return stride % word == 0; };
  return is_whole(a.p) && std::all_of(a.q.begin(), a.q.end() - 1, is_whole) ? word : 1;
}

void fill(LoopSpace& space, const Parts& parts, const LoopProgram& program) {
  space.outer = extents(parts.outer);
  space.reduced_outer = extents(parts.reduced_outer);
  space.p = parts.p.empty() ? 1 : parts.p[0].extent;
  space.q = extents(parts.q);
  if (space.q.empty()) space.q.push_back(1);
  space.q_count = std::accumulate(space.q.begin(), space.q.end(), 1L, std::multiplies<>());
  const auto access = [&](std::size_t index, long offset) {
    Access a;
    a.offset = offset;
    a.outer = strides(parts.outer, index);
    a.reduced_outer = strides(parts.reduced_outer, index);
    a.p = parts.p.empty() ? 0 : parts.p[0].strides[index];
    for (const Dim& dim : parts.q) {
      const long stride = dim.strides[index];
      if (!a.q.empty() && a.q.back() == stride * dim.extent) {
        a.q_extents.back() *= dim.extent;
        a.q.back() = stride;
      } else {
        a.q_extents.push_back(dim.extent);
        a.q.push_back(stride);
      }
    }
    if (a.q.empty()) {
      a.q_extents.push_back(1);
      a.q.push_back(0);
    }
    return a;
  };
  const auto& operands = program.shape.operands;
  const auto& instructions = program.code.instructions;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Access a = access(i, operands[i].offset);
    if (space.mode == LoopMode::map)
      a.word = word_of(a, static_cast<long>(size_of(program.code.operands[i].dtype)));
    space.operands.push_back(std::move(a));
  }
  for (std::size_t i = 0; i < instructions.size(); ++i)
    space.iotas.push_back(instructions[i].op == LoopOp::iota ? access(operands.size() + i, 0) : Access{});
}

/// Is there an operand whose memory runs along the rows of tiles? Then square tiles use whole cache lines.
bool reads_transposed(const LoopSpace& space) {
  return std::any_of(space.operands.begin(), space.operands.end(), [](const Access& of_elements) {
    const Access a = in_words(of_elements);
    return std::labs(a.p) == 1 && std::labs(a.q.back()) > 1;
  });
}

long longest_word(const LoopSpace& space) {
  long word = 1;
  for (const Access& a : space.operands) word = std::max(word, a.word);
  return word;
}

long clamp_block(long wanted, long extent) { return std::max(1L, std::min(wanted, extent)); }

/// Of an extent that is cut into as few even parts as have at most `most` points.
long even_part(long extent, long most) {
  if (extent <= most) return extent;
  const long parts = (extent + most - 1) / most;
  return (extent + parts - 1) / parts;
}

long round_up(long n, long unit) { return (n + unit - 1) / unit * unit; }

/// Of columns, so that a block begins where a cache line of its operands does, or where the inner dims do.
long whole_columns(const LoopSpace& space, long columns) {
  return round_up(columns, space.q.size() == 1 ? 64 : space.q_count / std::max(1L, space.q[0]));
}

long outer_points(const LoopSpace& space) {
  return std::accumulate(space.outer.begin(), space.outer.end(), 1L, std::multiplies<>());
}

}  // namespace

void choose_blocks(LoopSpace& space, long times, Schedule::Block block) {
  const auto many = [&](long elements) { return scaled(times * elements, block); };
  switch (space.mode) {
    case LoopMode::map:
      if (!reads_transposed(space))
        space.q_block = even_part(space.q_count, many(block_elements));
      else if (space.p <= few_columns)  // the colours of pixels: no tile
        space.q_block = even_part(space.q_count, many(block_elements) / std::max(1L, space.p));
      else
        space.q_block = longest_word(space) * block_elements / std::min(space.p, transposed_block);
      if (!reads_transposed(space) || space.q.size() > 1) space.q_block = whole_columns(space, space.q_block);
      space.q_block = clamp_block(space.q_block, space.q_count);
      space.p_block = clamp_block(many(block_elements) / space.q_block, space.p);
      return;
    case LoopMode::rows:
      if (space.q_count <= whole_row_limit) {
        space.q_block = std::max(1L, space.q_count);
        space.p_block = clamp_block(many(whole_row_limit) / space.q_block, space.p);
      } else {
        space.in_stretches = space.q.size() > 1 && space.q.back() >= long_stretch;
        space.long_block = many(block_elements);
        // Whole runs of the inner dim, so that an operand that repeats along it is one patch of a block.
        space.q_block = space.in_stretches
                            ? even_part(space.q.back(), space.long_block)
                            : round_up(space.long_block, space.q.size() > 1 ? space.q.back() : 1);
        space.p_block = 1;
      }
      return;
    case LoopMode::columns:
      // Narrow blocks where there are few, so that several threads find work.
      space.q_block = outer_points(space) * space.q_count < 1024
                          ? 32
                          : std::max(128L, block_elements / std::max(1L, space.p));
      if (space.q.size() > 1) space.q_block = whole_columns(space, space.q_block);
      space.q_block = clamp_block(round_up(space.q_block, space.together), space.q_count);
      if (space.p * space.q_block <= whole_row_limit && space.reduced_outer.empty()) {
        space.p_block = std::max(1L, space.p);
      } else {
        space.p_block = clamp_block(many(block_elements) / space.q_block, space.p);
      }
  }
}

Access in_words(const Access& of_elements) {
  Access a = of_elements;
  if (a.word == 1) return a;
  a.q_extents.pop_back();
  a.q.pop_back();
  for (long& stride : a.q) stride /= a.word;
  a.p /= a.word;
  a.word = 1;
  return a;
}

LoopSpace plan_space(const LoopProgram& program, bool on_tile) {
  std::vector<Dim> kept = dims_of(program);
  LoopSpace space;
  if (on_tile) {
    TENON_CHECK(kept.size() == 2 && program.code.reduced == 0);
    fill(space, {.outer = {}, .reduced_outer = {}, .p = {kept[0]}, .q = {kept[1]}}, program);
    space.p_block = space.p;
    space.q_block = space.q_count;
    return space;
  }
  std::vector<Dim> row(kept.end() - program.code.reduced, kept.end());
  kept.resize(kept.size() - row.size());
  const std::vector<std::size_t> leading = leading_operands(program);
  sort_by_memory(kept, leading);
  if (!has_positions(program)) sort_by_memory(row, leading);
  drop_and_merge(kept);
  drop_and_merge(row);
  const bool joins = !gathers(program);  // a gather copies rows, however short
  const std::size_t operands = program.shape.operands.size();
  if (program.code.reduced == 0) {
    fill(space, split_map(kept, joins, operands), program);
  } else if (joins && !has_positions(program) && joins_columns(kept, row, leading)) {
    space.mode = LoopMode::columns;
    space.together = row.back().extent;
    fill(space, split_joined(kept, row, leading), program);
  } else if (prefers_columns(program, kept, row, leading, joins)) {
    space.mode = LoopMode::columns;
    fill(space, split_columns(kept, row, joins), program);
  } else {
    space.mode = LoopMode::rows;
    fill(space, split_rows(kept, row, operands), program);
  }
  choose_blocks(space, 1, Schedule::Block::rule);
  return space;
}

}  // namespace tenon::cpu
