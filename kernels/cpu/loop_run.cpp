// Runs compiled loop programs: shares the items out, and walks each one block by block.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "kernels/cpu/loop_kernel.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

constexpr long chunk_cost = 32768;  // element operations a chunk of work should have: 1 to 3 us
constexpr std::size_t max_dims = 16;

constexpr long gathered_at_once = 256;
constexpr long rows_ahead = 8;  // that a gather of rows fetches

/// Calls f with a value of the unsigned type of this size.
template <class F>
void dispatch_bytes(long size, F f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

long blocks_of(long extent, long block) { return (extent + block - 1) / block; }

/// Calls f(position, length, offset) for each stretch of the points [first, first + count) of the tile
/// columns that lies along the innermost dim.
template <class F>
void for_each_stretch(const std::vector<long>& extents, const std::vector<long>& strides, long first,
                      long count, F f) {
  std::array<long, max_dims> index{};
  long offset = 0;
  long rest = first;
  for (std::size_t d = extents.size(); d-- > 0;) {
    index[d] = rest % extents[d];
    rest /= extents[d];
    offset += index[d] * strides[d];
  }
  const std::size_t inner = extents.size() - 1;
  for (long done = 0; done < count;) {
    const long length = std::min(extents[inner] - index[inner], count - done);
    f(done, length, offset);
    done += length;
    offset += length * strides[inner];
    index[inner] += length;
    for (std::size_t d = inner; d > 0 && index[d] == extents[d]; --d) {
      index[d] = 0;
      index[d - 1] += 1;
      offset += strides[d - 1] - extents[d] * strides[d];
    }
  }
}

/// One worker on one item.
class LoopRunner {
 public:
  LoopRunner(const LoopPlan& plan, std::span<void* const> buffers, void* scratch,
             const LoopKernel::Tile* tile = nullptr)
      : plan_(plan), buffers_(buffers), scratch_(static_cast<std::byte*>(scratch)), tile_(tile) {
    item_address_ = reinterpret_cast<std::byte**>(scratch_);
    block_address_ = item_address_ + plan.operand_buffers.size();
  }

  void run_item(long item) {
    const LoopSpace& s = plan_.space;
    const long q_blocks = s.mode == LoopMode::rows ? 1 : blocks_of(s.q_count, s.q_block);
    const long p_blocks = s.mode == LoopMode::columns ? 1 : blocks_of(s.p, s.p_block);
    q0_ = item % q_blocks * s.q_block;
    p0_ = item / q_blocks % p_blocks * s.p_block;
    cols_ = std::min(s.q_block, s.q_count - q0_);
    rows_ = std::min(s.p_block, s.p - p0_);
    locate_item(item / q_blocks / p_blocks);
    locate_block(0);
    run(plan_.before);
    for (const LoopWalk& walk : plan_.walks) {
      run_blocks(walk.block);
      run(walk.after);
    }
  }

  const std::optional<LoopKernel::BadIndex>& bad_index() const { return bad_; }

  void run_tile() {
    p0_ = tile_->row0;
    q0_ = tile_->col0;
    rows_ = tile_->rows;
    cols_ = tile_->cols;
    locate_item(0);
    locate_block(0);
    run(plan_.walks[0].block);
  }

 private:
  void run_blocks(const TileSteps& steps) {
    if (steps.empty()) return;
    const LoopSpace& s = plan_.space;
    row_position_ = 0;
    switch (s.mode) {
      case LoopMode::map: run(steps); return;
      case LoopMode::rows:
        for (q0_ = 0; q0_ < s.q_count; q0_ += s.q_block) {
          cols_ = std::min(s.q_block, s.q_count - q0_);
          row_position_ = q0_;
          locate_block(0);
          run(steps);
        }
        q0_ = 0;
        return;
      case LoopMode::columns: {
        long outside = 1;
        for (const long extent : s.reduced_outer) outside *= extent;
        for (long o = 0; o < outside; ++o) {
          for (p0_ = 0; p0_ < s.p; p0_ += s.p_block) {
            rows_ = std::min(s.p_block, s.p - p0_);
            row_position_ = o * s.p + p0_;
            locate_block(o);
            run(steps);
          }
        }
        p0_ = 0;
        locate_block(0);
      }
    }
  }

  static long dot(long linear, const std::vector<long>& extents, const std::vector<long>& strides) {
    long offset = 0;
    for (std::size_t d = extents.size(); d-- > 0;) {
      offset += linear % extents[d] * strides[d];
      linear /= extents[d];
    }
    return offset;
  }
  void locate_item(long outer) {
    for (std::size_t i = 0; i < plan_.operand_buffers.size(); ++i) {
      const Access& access = plan_.space.operands[i];
      const long offset = access.offset + dot(outer, plan_.space.outer, access.outer);
      item_address_[i] =
          static_cast<std::byte*>(buffers_[static_cast<std::size_t>(plan_.operand_buffers[i])]) +
          offset * element_size(i);
    }
    outer_ = outer;
  }
  void locate_block(long reduced_outer) {
    for (std::size_t i = 0; i < plan_.operand_buffers.size(); ++i)
      block_address_[i] =
          item_address_[i] + block_offset(plan_.space.operands[i], reduced_outer) * element_size(i);
    reduced_outer_ = reduced_outer;
  }
  /// Where the block begins; several column dims are walked from their first point on instead.
  long block_offset(const Access& access, long reduced_outer) const {
    long offset = p0_ * access.p;
    if (access.q.size() == 1) offset += q0_ * access.q[0];
    if (!plan_.space.reduced_outer.empty())
      offset += dot(reduced_outer, plan_.space.reduced_outer, access.reduced_outer);
    return offset;
  }
  long element_size(std::size_t operand) const { return plan_.operand_sizes[operand]; }

  struct View {
    std::byte* data;
    long pitch;
    bool splat;
  };
  std::byte* data_of(const ValueLocation& location) const {
    switch (location.where) {
      case ValueLocation::Where::scratch: return scratch_ + location.offset;
      case ValueLocation::Where::whole_row: {
        const long before = plan_.space.mode == LoopMode::rows ? row_position_ : row_position_ * cols_;
        return scratch_ + location.offset + before * location.size;
      }
      case ValueLocation::Where::constant:
        return const_cast<std::byte*>(plan_.constants.data()) + location.offset;
      case ValueLocation::Where::memory: return block_address_[location.offset];
      default: return reinterpret_cast<std::byte*>(tile_->data);
    }
  }
  /// From row to row of a place that has a value for each row and column.
  long pitch_of(const ValueLocation& location) const {
    if (location.where == ValueLocation::Where::memory)
      return plan_.space.operands[static_cast<std::size_t>(location.offset)].p;
    return location.where == ValueLocation::Where::tile ? tile_->stride : cols_;
  }
  /// A place as a step of shape (has_p, has_q) sees it. A step of one value per row takes the rows as
  /// columns.
  View view(const ValueLocation& location, bool has_p, bool has_q) const {
    View v{data_of(location), 0, false};
    if (has_p && has_q) {
      v.splat = !location.has_q;
      if (location.has_p) v.pitch = location.has_q ? pitch_of(location) : 1;
    } else {
      v.splat = has_p ? !location.has_p : !location.has_q;
    }
    return v;
  }
  long rows_of(const TileStep& step) const { return step.has_p && step.has_q ? rows_ : 1; }
  long cols_of(const TileStep& step) const { return step.has_q ? cols_ : step.has_p ? rows_ : 1; }
  long count_of(const TileStep& step) const { return (step.has_p ? rows_ : 1) * (step.has_q ? cols_ : 1); }

  void run(const TileSteps& steps) {
    for (const TileStep& step : steps) {
      switch (step.kind) {
        case TileStep::Kind::op: run_op(step); break;
        case TileStep::Kind::load: run_load(step); break;
        case TileStep::Kind::gather: run_gather(step); break;
        case TileStep::Kind::iota: run_iota(step); break;
        case TileStep::Kind::init: step.reduce.init(data_of(step.out), count_of(step)); break;
        case TileStep::Kind::fold: run_fold(step); break;
        case TileStep::Kind::finish:
          step.reduce.finish(data_of(step.out), data_of(step.in[0]), count_of(step));
          break;
        case TileStep::Kind::store: run_store(step); break;
      }
    }
  }

  void run_op(const TileStep& step) {
    OpArgs args;
    args.rows = rows_of(step);
    args.cols = cols_of(step);
    const View out = view(step.out, step.has_p, step.has_q);
    args.out = out.data;
    args.out_pitch = out.pitch;
    bool dense = out.pitch == args.cols;
    for (int i = 0; i < step.in_count; ++i) {
      const View in = view(step.in[i], step.has_p, step.has_q);
      args.in[i] = in.data;
      args.in_pitch[i] = in.pitch;
      args.splat[i] = in.splat;
      dense = dense && in.pitch == (in.splat ? 0 : args.cols);
    }
    if (dense) {
      args.cols *= args.rows;
      args.rows = 1;
    }
    step.op(args);
  }

  void run_fold(const TileStep& step) {
    const ValueLocation& from = step.in[0];
    OpArgs tile;
    tile.rows = rows_;
    tile.cols = cols_;
    tile.in[0] = data_of(from);
    if (from.has_p) tile.in_pitch[0] = from.has_q ? pitch_of(from) : 1;
    if (step.in[1].where != ValueLocation::Where::none) {
      tile.in[1] = data_of(step.in[1]);
      tile.in_pitch[1] = step.in[1].has_p ? 1 : 0;
    }
    const bool by_rows = plan_.space.mode == LoopMode::rows;
    const FoldFn fold = by_rows ? step.reduce.fold_rows : step.reduce.fold_columns;
    fold(data_of(step.out), tile, row_position_);
  }

  /// Calls f(position, columns, offset) for the stretches of a step's columns in memory.
  template <class F>
  void along_columns(const TileStep& step, const Access& access, F f) const {
    if (!step.has_q) {
      f(0L, cols_of(step), 0L);
    } else if (access.q.size() == 1) {
      f(0L, cols_, 0L);
    } else {
      for_each_stretch(plan_.space.q, access.q, q0_, cols_, f);
    }
  }

  void run_load(const TileStep& step) {
    const Access& access = plan_.space.operands[static_cast<std::size_t>(step.access)];
    Transfer t;
    t.row_stride = access.p;
    t.col_stride = col_stride(step, access);
    t.rows = rows_of(step);
    t.values_pitch = cols_;
    std::byte* const values = data_of(step.out);
    const auto size = element_size(static_cast<std::size_t>(step.access));
    along_columns(step, access, [&](long position, long length, long offset) {
      t.memory = block_address_[step.access] + offset * size;
      t.values = values + position * step.out.size;
      t.cols = length;
      step.transfer(t);
    });
  }

  void run_gather(const TileStep& step) {
    const Access& access = plan_.space.operands[static_cast<std::size_t>(step.access)];
    const View index = view(step.in[0], step.has_p, step.has_q);
    const auto* const indices = reinterpret_cast<const std::int64_t*>(index.data);
    const bool converts = plan_.gathered[static_cast<std::size_t>(step.access)].converts;
    dispatch_bytes(element_size(static_cast<std::size_t>(step.access)), [&](auto element) {
      using T = decltype(element);
      GatherRow<T> row{.from = reinterpret_cast<const T*>(block_address_[step.access]),
                       .stride = col_stride(step, access),
                       .indices = indices,
                       .to = data_of(step.out)};
      if (index.splat && !converts && (!step.has_q || access.q.size() == 1))
        return gather_rows(step, row, access.p, index.pitch);
      for (long r = 0; r < rows_of(step); ++r) {
        if (index.splat) {
          gather_slice(step, access, row);
        } else {
          gather_elements(step, access, row);
        }
        row.from += access.p;
        row.indices += index.pitch;
        row.to += cols_ * step.out.size;
      }
    });
  }

  /// A row of the tile that a gather fills.
  template <class T>
  struct GatherRow {
    const T* from;
    long stride;
    const std::int64_t* indices;
    std::byte* to;
  };

  /// Rows of the values' own type, one index each. Rows that come soon are fetched.
  template <class T>
  void gather_rows(const TileStep& step, const GatherRow<T>& first, long row_stride, long pitch) {
    const Gathered& g = plan_.gathered[static_cast<std::size_t>(step.access)];
    const long rows = rows_of(step), cols = cols_of(step), stride = first.stride;
    const bool whole = stride == 1 && cols * static_cast<long>(sizeof(T)) >= 64;
    // Indices that lie in memory go on behind the tile.
    const bool goes_on = step.in[0].where == ValueLocation::Where::memory && step.has_p && step.has_q;
    const long known = goes_on ? plan_.space.p - p0_ : rows;
    T* __restrict to = reinterpret_cast<T*>(first.to);
    for (long r = 0; r < rows; ++r, to += cols_) {
      const T* const from = first.from + r * row_stride;
      if (whole && r + rows_ahead < known)
        prefetch(g, from + rows_ahead * row_stride, first.indices[(r + rows_ahead) * pitch], cols);
      std::int64_t at = first.indices[r * pitch];
      if (at < 0 || at >= g.range) at = wrapped(g, at);
      const T* __restrict source = from + at * g.stride;
      if (whole) {
        std::memcpy(to, source, static_cast<std::size_t>(cols) * sizeof(T));
      } else {
        for (long c = 0; c < cols; ++c) to[c] = source[c * stride];
      }
    }
  }

  /// The first lines of the row that an index names; nothing where it is wrong.
  template <class T>
  static void prefetch(const Gathered& g, const T* from, std::int64_t index, long count) {
    if (index < 0 || index >= g.range) return;
    const auto* const row = reinterpret_cast<const std::byte*>(from + index * g.stride);
    const long bytes = std::min<long>(count * static_cast<long>(sizeof(T)), 4 * 64);
    for (long line = 0; line < bytes; line += 64) __builtin_prefetch(row + line);
  }

  /// One index for the whole row.
  template <class T>
  void gather_slice(const TileStep& step, const Access& access, const GatherRow<T>& row) {
    const T* const from = row.from + checked(step, *row.indices);
    along_columns(step, access, [&](long position, long length, long offset) {
      read(step, reinterpret_cast<const std::byte*>(from + offset), row.stride, length,
           row.to + position * step.out.size);
    });
  }

  /// An index for each element: elements of the values' own type are written at once, others are collected
  /// and converted.
  template <class T>
  void gather_elements(const TileStep& step, const Access& access, const GatherRow<T>& row) {
    const auto copy = [&](T* target, long first, long count, long offset) {
      const T* const memory = row.from + offset;
      for (long i = 0; i < count; ++i)
        target[i] = memory[i * row.stride + checked(step, row.indices[first + i])];
    };
    along_columns(step, access, [&](long position, long length, long offset) {
      if (!plan_.gathered[static_cast<std::size_t>(step.access)].converts)
        return copy(reinterpret_cast<T*>(row.to) + position, position, length, offset);
      std::array<T, gathered_at_once> stored;
      for (long first = 0; first < length; first += gathered_at_once) {
        const long count = std::min(gathered_at_once, length - first);
        copy(stored.data(), position + first, count, offset + first * row.stride);
        read(step, reinterpret_cast<const std::byte*>(stored.data()), 1, count,
             row.to + (position + first) * step.out.size);
      }
    });
  }
  /// From column to column of a step's tile.
  static long col_stride(const TileStep& step, const Access& access) {
    return step.has_q ? access.q.back() : access.p;
  }

  /// Elements in memory as values.
  static void read(const TileStep& step, const std::byte* from, long stride, long count, std::byte* to) {
    Transfer t;
    t.memory = const_cast<std::byte*>(from);
    t.col_stride = stride;
    t.values = to;
    t.rows = 1;
    t.cols = count;
    step.transfer(t);
  }

  /// The distance that an index stands for.
  long checked(const TileStep& step, std::int64_t index) {
    const Gathered& g = plan_.gathered[static_cast<std::size_t>(step.access)];
    return (index >= 0 && index < g.range ? index : wrapped(g, index)) * g.stride;
  }
  /// An index below 0 or beyond the range. The first wrong one is kept, and stands for 0.
  std::int64_t wrapped(const Gathered& g, std::int64_t index) {
    if (index < 0 && g.from_end && index + g.range >= 0) return index + g.range;
    if (!bad_) bad_ = {.index = index, .range = g.range, .from_end = g.from_end};
    return 0;
  }

  void run_store(const TileStep& step) {
    const Access& access = plan_.space.operands[static_cast<std::size_t>(step.access)];
    const View from = view(step.in[0], step.has_p, step.has_q);
    Transfer t;
    t.row_stride = access.p;
    t.col_stride = col_stride(step, access);
    t.rows = rows_of(step);
    t.values_pitch = from.pitch;
    t.splat = from.splat;
    const auto size = element_size(static_cast<std::size_t>(step.access));
    along_columns(step, access, [&](long position, long length, long offset) {
      t.memory = block_address_[step.access] + offset * size;
      t.values = from.data + (from.splat ? 0 : position * step.in[0].size);
      t.cols = length;
      step.transfer(t);
    });
  }

  void run_iota(const TileStep& step) {
    const Access& access = plan_.space.iotas[static_cast<std::size_t>(step.access)];
    const long start = dot(outer_, plan_.space.outer, access.outer) + block_offset(access, reduced_outer_);
    auto* const values = reinterpret_cast<std::int64_t*>(data_of(step.out));
    const long stride = col_stride(step, access);
    for (long r = 0; r < rows_of(step); ++r) {
      along_columns(step, access, [&](long position, long length, long offset) {
        std::int64_t* const to = values + r * cols_ + position;
        for (long c = 0; c < length; ++c) to[c] = start + r * access.p + offset + c * stride;
      });
    }
  }

  const LoopPlan& plan_;
  std::span<void* const> buffers_;
  std::byte* scratch_;
  const LoopKernel::Tile* tile_;
  std::byte** item_address_;
  std::byte** block_address_;
  long outer_ = 0;
  long reduced_outer_ = 0;
  long p0_ = 0;
  long q0_ = 0;
  long rows_ = 1;
  long cols_ = 1;
  long row_position_ = 0;
  std::optional<LoopKernel::BadIndex> bad_;
};

/// The wrong index of the first chunk that met one.
class FirstBadIndex {
 public:
  void report(long chunk, const std::optional<LoopKernel::BadIndex>& bad) {
    if (!bad) return;
    const std::lock_guard lock(mutex_);
    if (index_ && chunk_ < chunk) return;
    chunk_ = chunk;
    index_ = bad;
  }
  const std::optional<LoopKernel::BadIndex>& index() const { return index_; }

 private:
  std::mutex mutex_;
  long chunk_ = 0;
  std::optional<LoopKernel::BadIndex> index_;
};

long item_count(const LoopSpace& s) {
  long items = 1;
  for (const long extent : s.outer) items *= extent;
  if (s.mode != LoopMode::rows) items *= blocks_of(s.q_count, s.q_block);
  if (s.mode != LoopMode::columns) items *= blocks_of(s.p, s.p_block);
  return items;
}

}  // namespace

LoopKernel LoopKernel::compile(const LoopProgram& program) {
  verify(program);
  return LoopKernel(std::make_shared<const LoopPlan>(make_plan(program, plan_space(program, false))));
}

LoopKernel LoopKernel::compile_epilogue(const LoopProgram& program, long max_rows, long max_cols) {
  verify(program);
  for (const Instruction& i : program.code.instructions) TENON_CHECK(i.op != LoopOp::gather);
  LoopSpace space = plan_space(program, true);
  space.p_block = max_rows;
  space.q_block = max_cols;
  return LoopKernel(std::make_shared<const LoopPlan>(make_plan(program, std::move(space))));
}

std::size_t LoopKernel::scratch_bytes(int threads) const {
  return plan_->scratch_bytes * static_cast<std::size_t>(threads);
}

std::optional<LoopKernel::BadIndex> LoopKernel::run(std::span<void* const> buffers, void* scratch,
                                                    ThreadPool& pool) const {
  const LoopPlan& plan = *plan_;
  const long items = item_count(plan.space);
  const long per_chunk = std::max(1L, chunk_cost / plan.item_cost);
  FirstBadIndex bad;
  pool.parallel_for(blocks_of(items, per_chunk), [&](long chunk, int worker) {
    LoopRunner runner(
        plan, buffers,
        static_cast<std::byte*>(scratch) + plan.scratch_bytes * static_cast<std::size_t>(worker));
    for (long item = chunk * per_chunk; item < std::min(items, (chunk + 1) * per_chunk); ++item)
      runner.run_item(item);
    bad.report(chunk, runner.bad_index());
  });
  return bad.index();
}

void LoopKernel::run_on_tile(const Tile& tile, std::span<void* const> buffers, void* scratch) const {
  LoopRunner(*plan_, buffers, scratch, &tile).run_tile();
}

}  // namespace tenon::cpu
