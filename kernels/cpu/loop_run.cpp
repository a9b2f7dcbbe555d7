// Runs compiled loop programs: shares the items out, and walks each one block by block.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "kernels/cpu/loop_gather.h"
#include "kernels/cpu/loop_tile.h"

namespace tenon::cpu {
namespace {

constexpr long chunk_cost = 32768;  // element operations a chunk of work should have: 1 to 3 us
long blocks_of(long extent, long block) { return (extent + block - 1) / block; }

/// One worker on one item.
class LoopWorker : LoopTile {
 public:
  LoopWorker(const LoopPlan& plan, std::span<void* const> buffers, void* scratch,
             const LoopKernel::Tile* tile = nullptr)
      : LoopTile(plan, buffers, scratch, tile) {}

  /// Items from `first` on, without a division for each.
  void run_items(long first, long last) {
    const LoopSpace& s = plan_.space;
    const long q_blocks = s.mode == LoopMode::rows ? 1 : blocks_of(s.q_count, s.q_block);
    const long p_blocks = s.mode == LoopMode::columns ? 1 : blocks_of(s.p, s.p_block);
    // Down the rows where columns have values of their own: those are computed once.
    const bool goes_down = !plan_.of_columns.empty();
    const long inner_blocks = goes_down ? p_blocks : q_blocks,
               outside_blocks = goes_down ? q_blocks : p_blocks;
    long inner = first % inner_blocks, outside = first / inner_blocks % outside_blocks;
    go_to(first / inner_blocks / outside_blocks);
    for (long item = first; item < last; ++item) {
      q0_ = (goes_down ? outside : inner) * s.q_block;
      p0_ = (goes_down ? inner : outside) * s.p_block;
      run_item();
      if (++inner < inner_blocks) continue;
      inner = 0;
      if (++outside < outside_blocks) continue;
      outside = 0;
      if (item + 1 < last) go_on();
    }
  }

  const std::optional<LoopKernel::BadIndex>& bad_index() const { return bad_; }

  void run_tile() {
    p0_ = tile_->row0;
    q0_ = tile_->col0;
    rows_ = tile_->rows;
    cols_ = tile_->cols;
    go_to(0);
    locate_block(0);
    run_once_for_tile();
    run(plan_.walks[0].block);
  }

 private:
  void run_item() {
    cols_ = plan_.space.columns_from(q0_);
    rows_ = std::min(plan_.space.p_block, plan_.space.p - p0_);
    locate_block(0);
    run_once_for_tile();
    run(plan_.before);
    for (const LoopWalk& walk : plan_.walks) {
      run_blocks(walk);
      run(walk.after);
    }
  }
  /// What does not depend on all of the tile, unless it is there.
  void run_once_for_tile() {
    if (const Place rows{outer_, p0_}; of_rows_ != rows) {
      of_rows_ = rows;
      run(plan_.of_rows);
    }
    if (of_blocks_ != outer_) run_of_blocks();
    if (const Place columns{outer_, q0_}; of_columns_ != columns) {
      of_columns_ = columns;
      run(plan_.of_columns);
    }
  }
  void run_of_blocks() {
    of_blocks_ = outer_;
    const auto here = std::pair(q0_, cols_);
    q0_ = 0;
    cols_ = plan_.space.q_block;
    run(plan_.of_blocks);
    std::tie(q0_, cols_) = here;
  }
  void run_blocks(const LoopWalk& walk) {
    const TileSteps& steps = walk.block;
    if (steps.empty()) return;
    const LoopSpace& s = plan_.space;
    row_position_ = 0;
    switch (s.mode) {
      case LoopMode::map: run(steps); return;
      case LoopMode::rows:
        for (q0_ = 0; q0_ < s.q_count; q0_ += cols_) {
          cols_ = s.columns_from(q0_, walk.crosses_stretches);
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

  /// The offset of point `linear` of these extents. A division takes as long as many elements.
  static long dot(long linear, const std::vector<long>& extents, const std::vector<long>& strides) {
    long offset = 0;
    for (std::size_t d = extents.size(); linear != 0 && d-- > 0;) {
      const long outside = d == 0 ? 0 : linear / extents[d];
      offset += (linear - outside * extents[d]) * strides[d];
      linear = outside;
    }
    return offset;
  }
  void go_to(long outer) {
    outer_ = outer;
    for (std::size_t d = plan_.space.outer.size(); d-- > 0; outer /= plan_.space.outer[d])
      outer_index_[d] = outer % plan_.space.outer[d];
    locate_item();
  }
  /// To the next outer point.
  void go_on() {
    ++outer_;
    for (std::size_t d = plan_.space.outer.size(); d-- > 0;) {
      if (++outer_index_[d] < plan_.space.outer[d]) break;
      outer_index_[d] = 0;
    }
    locate_item();
  }
  void locate_item() {
    for (std::size_t i = 0; i < plan_.operand_buffers.size(); ++i) {
      const Access& access = plan_.space.operands[i];
      long offset = access.offset;
      for (std::size_t d = 0; d < access.outer.size(); ++d) offset += outer_index_[d] * access.outer[d];
      item_address_[i] =
          static_cast<std::byte*>(buffers_[static_cast<std::size_t>(plan_.operand_buffers[i])]) +
          offset * element_size(i);
    }
  }
  void locate_block(long reduced_outer) {
    for (std::size_t i = 0; i < plan_.operand_buffers.size(); ++i)
      block_address_[i] =
          item_address_[i] + block_offset(plan_.space.operands[i], reduced_outer) * element_size(i);
    reduced_outer_ = reduced_outer;
  }
  /// Where the block begins; several column dims in one block are walked from their first point on instead.
  long block_offset(const Access& access, long reduced_outer) const {
    long offset = p0_ * access.p;
    if (access.q.size() == 1) {
      offset += q0_ * access.q[0];
    } else if (plan_.space.in_stretches) {
      offset += dot(q0_, access.q_extents, access.q);
    }
    if (!plan_.space.reduced_outer.empty())
      offset += dot(reduced_outer, plan_.space.reduced_outer, access.reduced_outer);
    return offset;
  }
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
        case TileStep::Kind::join: run_join(step); break;
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
    OpArgs tile;
    tile.rows = rows_;
    tile.cols = cols_;
    for (const int i : {0, 1}) {
      const ValueLocation& from = step.in[i];
      const bool is_there = from.where != ValueLocation::Where::none;
      tile.in[i] = is_there ? data_of(from) : nullptr;
      tile.in_pitch[i] = !is_there || !from.has_p ? 0 : from.has_q ? pitch_of(from) : 1;
    }
    const bool by_rows = plan_.space.mode == LoopMode::rows;
    const FoldFn fold = by_rows ? step.reduce.fold_rows : step.reduce.fold_columns;
    fold(data_of(step.out), tile, row_position_);
  }

  /// Folds the columns of each row, and gives all of them the result.
  void run_join(const TileStep& step) const {
    const long together = plan_.space.together, rows = cols_ / together;
    std::byte* const values = data_of(step.out);
    std::byte* const accumulators = data_of(step.in[0]);
    step.reduce.init(accumulators, rows);
    OpArgs tile;
    tile.rows = rows;
    tile.cols = together;
    tile.in[0] = values;
    tile.in_pitch[0] = together;
    step.reduce.fold_rows(accumulators, tile, 0);
    step.reduce.finish(values, accumulators, rows);
    const auto size = static_cast<std::size_t>(step.out.size);
    for (long i = cols_; --i > 0;)
      std::memcpy(values + i * step.out.size, values + i / together * step.out.size, size);
  }

  [[gnu::noinline]] void run_gather(const TileStep& step) {
    const auto operand = static_cast<std::size_t>(step.access);
    const Access& access = plan_.space.operands[operand];
    const View index = view(step.in[0], step.has_p, step.has_q);
    // Indices that lie in memory go on behind the tile.
    const bool goes_on = step.in[0].where == ValueLocation::Where::memory && step.has_p && step.has_q;
    gather_tile({.transfer = step.transfer,
                 .memory = block_address_[operand],
                 .row_stride = access.p,
                 .columns = columns_of(step, access),
                 .indices = reinterpret_cast<const std::int64_t*>(index.data),
                 .index_pitch = index.pitch,
                 .index_splat = index.splat,
                 .outside = step.in_count > 1 ? data_of(step.in[1]) : nullptr,
                 .known_indices = goes_on ? plan_.space.p - p0_ : rows_of(step),
                 .values = data_of(step.out),
                 .value_size = step.out.size,
                 .pitch = cols_,
                 .rows = rows_of(step),
                 .cols = cols_of(step)},
                plan_.gathered[operand], element_size(operand), bad_);
  }

  [[gnu::noinline]] void run_iota(const TileStep& step) {
    const Access& access = plan_.space.iotas[static_cast<std::size_t>(step.access)];
    const long start = dot(outer_, plan_.space.outer, access.outer) + block_offset(access, reduced_outer_);
    auto* const values = reinterpret_cast<std::int64_t*>(data_of(step.out));
    const Columns columns = columns_of(step, access);
    for (long r = 0; r < rows_of(step); ++r) {
      columns.for_each_stretch([&](long position, long length, long offset) {
        std::int64_t* const to = values + r * cols_ + position;
        for (long c = 0; c < length; ++c) to[c] = start + r * access.p + offset + c * columns.stride();
      });
    }
  }

  /// The outer point, and the first row or column, of which values are there.
  using Place = std::pair<long, long>;
  Place of_rows_ = {-1, -1}, of_columns_ = {-1, -1};
  long of_blocks_ = -1;
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

LoopKernel LoopKernel::compile(const LoopProgram& program, const Schedule& schedule) {
  verify(program);
  LoopSpace space = plan_space(program, false);
  choose_blocks(space, block_times(program, space), schedule.block);
  LoopPlan plan = make_plan(program, std::move(space));
  // More pieces have fewer items.
  plan.item_cost = scaled(plan.item_cost, schedule.pieces);
  return LoopKernel(std::make_shared<const LoopPlan>(std::move(plan)));
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
    LoopWorker loop_worker(
        plan, buffers,
        static_cast<std::byte*>(scratch) + plan.scratch_bytes * static_cast<std::size_t>(worker));
    loop_worker.run_items(chunk * per_chunk, std::min(items, (chunk + 1) * per_chunk));
    bad.report(chunk, loop_worker.bad_index());
  });
  return bad.index();
}

void LoopKernel::run_on_tile(const Tile& tile, std::span<void* const> buffers, void* scratch) const {
  LoopWorker(*plan_, buffers, scratch, &tile).run_tile();
}

}  // namespace tenon::cpu
