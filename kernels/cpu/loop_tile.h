// A tile of a loop program that is worked on: where its values lie, and how they come there from memory and
// back. Internal to the loop kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/loop_columns.h"
#include "kernels/cpu/loop_kernel.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {

class LoopTile {
 protected:
  LoopTile(const LoopPlan& plan, std::span<void* const> buffers, void* scratch, const LoopKernel::Tile* tile)
      : plan_(plan), buffers_(buffers), scratch_(static_cast<std::byte*>(scratch)), tile_(tile) {
    item_address_ = reinterpret_cast<std::byte**>(scratch_);
    block_address_ = item_address_ + plan.operand_buffers.size();
    outer_index_ = reinterpret_cast<long*>(block_address_ + plan.operand_buffers.size());
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

  Columns columns_of(const TileStep& step, const Access& access) const {
    if (!step.has_q) return {cols_of(step), access.p};
    if (plan_.space.has_one_stride(access)) return {cols_, access.q.back()};
    return {access.q_extents, access.q, q0_, cols_};
  }

  [[gnu::noinline]] void run_load(const TileStep& step) const {
    if (step.other.where != ValueLocation::Where::none) return move_pairs(step, step.out, true);
    const auto operand = static_cast<std::size_t>(step.access);
    Transfer t;
    t.memory = block_address_[operand];
    t.memory_pitch = plan_.space.operands[operand].p;
    t.values = data_of(step.out);
    t.values_pitch = pitch_of(step.out);
    t.rows = rows_of(step);
    t.cols = cols_of(step);
    if (step.patch) {
      const ValueLocation& place = step.transfer ? step.packed : step.out;
      const long pitch = pitch_of(place);
      std::byte* const to = data_of(place);
      for_each_patch_of(
          step, pitch, false,
          [&](PatchFn move, long memory, long value, const TileDim& row, const TileDim& column) {
            move({to + value, t.memory + memory, row.extent, column.extent, row.values, column.values,
                  row.memory, column.memory});
          });
      t.memory = to;
      t.memory_pitch = pitch;
    }
    if (step.transfer) transfer(step, t);
  }

  [[gnu::noinline]] void run_store(const TileStep& step) const {
    if (step.other.where != ValueLocation::Where::none) return move_pairs(step, step.in[0], false);
    const auto operand = static_cast<std::size_t>(step.access);
    const View from = view(step.in[0], step.has_p, step.has_q);
    const std::byte* values = from.data;
    long pitch = from.pitch;
    if (step.transfer) {
      Transfer t;
      t.memory = block_address_[operand];
      t.memory_pitch = plan_.space.operands[operand].p;
      t.values = from.data;
      t.values_pitch = from.pitch;
      t.splat = from.splat;
      t.rows = rows_of(step);
      t.cols = cols_of(step);
      if (!step.patch) return transfer(step, t);
      t.memory = data_of(step.packed);
      values = t.memory;
      if (from.splat) {
        // One for each row, or one.
        t.cols = from.pitch == 0 ? 1 : t.rows;
        t.rows = 1;
        t.splat = false;
      } else {
        t.memory_pitch = pitch = t.cols;
      }
      transfer(step, t);
    }
    for_each_patch_of(step, pitch, from.splat,
                      [&](PatchFn move, long memory, long value, const TileDim& row, const TileDim& column) {
                        move({block_address_[operand] + memory, values + value, row.extent, column.extent,
                              row.memory, column.memory, row.values, column.values});
                      });
  }

  const LoopPlan& plan_;
  std::span<void* const> buffers_;
  std::byte* scratch_;
  const LoopKernel::Tile* tile_;
  std::byte** item_address_;
  std::byte** block_address_;
  long* outer_index_;
  long outer_ = 0;
  long reduced_outer_ = 0;
  long p0_ = 0;
  long q0_ = 0;
  long rows_ = 1;
  long cols_ = 1;
  long row_position_ = 0;

 private:
  /// Calls f(move, memory, value, row, column) for patches of a load or store: places in bytes, dims in
  /// elements, or in words where these are aligned.
  template <class F>
  void for_each_patch_of(const TileStep& step, long values_pitch, bool splat, const F& f) const {
    const auto operand = static_cast<std::size_t>(step.access);
    long size = element_size(operand);
    const auto call = [&](PatchFn move) {
      return [&f, move, size](long memory, long value, const TileDim& row, const TileDim& column) {
        f(move, memory * size, value * size, row, column);
      };
    };
    const auto address = reinterpret_cast<std::uintptr_t>(block_address_[operand]);
    if (step.word == 1 || address % static_cast<std::uintptr_t>(size * step.word) != 0) {
      const Access& access = plan_.space.operands[operand];
      return for_each_patch({rows_of(step), access.p, values_pitch}, columns_of(step, access), splat ? 0 : 1,
                            call(step.patch));
    }
    const Access& access = plan_.words[operand];
    size *= step.word;
    for_each_patch({rows_of(step), access.p, values_pitch / step.word},
                   Columns(access.q_extents, access.q, q0_ / step.word, cols_ / step.word), 1,
                   call(patch_op(size)));
  }

  static void transfer(const TileStep& step, Transfer& t) {
    if (t.memory_pitch == t.cols && t.values_pitch == t.cols && !t.splat) {
      t.cols *= t.rows;
      t.rows = 1;
    }
    step.transfer(t);
  }

  /// Both parts of pairs that lie side by side, from or to their own values: two rows of a patch.
  void move_pairs(const TileStep& step, const ValueLocation& first, bool is_load) const {
    const auto operand = static_cast<std::size_t>(step.access);
    const long size = element_size(operand), pitch = pitch_of(first), apart = plan_.space.operands[operand].p;
    std::byte *memory = block_address_[operand], *values = data_of(first);
    const long between = (data_of(step.other) - values) / size;
    long rows = rows_of(step), cols = cols_of(step);
    if (pitch == cols && apart == 2 * cols) {
      cols *= rows;
      rows = 1;
    }
    for (long r = 0; r < rows; ++r, memory += apart * size, values += pitch * size)
      step.patch(is_load ? Patch{values, memory, 2, cols, between, 1, 1, 2}
                         : Patch{memory, values, 2, cols, 1, 2, between, 1});
  }
};

}  // namespace tenon::cpu
