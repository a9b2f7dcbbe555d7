// What warps have begun on the units of their warpgroups, and how far it is.
#pragma once
#include "block.h"
#include "matrix_descriptor.h"

namespace gpusim {
inline namespace GPU_WAVE {

constexpr int kWarpgroup = 4;  // warps
constexpr int kProductDepth = 16, kMaxColumns = 256, kMaxProducts = 32;

/// A product under way: its operands, as they were when it began.
struct PendingProduct {
  int columns, depth, group;
  uint64_t left, right;
  bool left_across, right_across, adds, lies;
  float (*number)(unsigned);
  float* sum[kWarp];                           // of the lanes
  const unsigned* left_words[kWarp];           // of the lanes; null: the left side lies in shared memory
  unsigned rows[16][kProductDepth];            // of the left side, those of the warp
  unsigned lines[kMaxColumns][kProductDepth];  // of the right side
};

/// Sums that a unit holds while products are added to them: the lanes' registers are NaN.
struct HeldSums {
  float* sum[kWarp];  // whose they are; of lane 0 null: nothing is held
  int columns;
  float value[kWarp][kMaxColumns / 2];
};

struct WarpgroupWork {
  PendingProduct product[kMaxProducts];
  int count;    // of products
  int groups;   // committed
  int begun;    // products in all, whose descriptors are `log`
  bool fenced;  // what the threads did with registers lies before what follows
  HeldSums held;
  uint64_t log;  // of all products that began: the same in each warp of a warpgroup
};

/// No memcpy: ThreadSanitizer would look at what is the emulator's own.
GPU_NOSAN inline void copy_bytes(void* to, const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
}
GPU_NOSAN inline bool are_equal(const void* a, const void* b, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (static_cast<const char*>(a)[i] != static_cast<const char*>(b)[i]) return false;
  return true;
}

GPU_NOSAN inline WarpgroupWork& work_of(Warp& w) {
  if (!w.work) w.work = static_cast<WarpgroupWork*>(calloc(1, sizeof(WarpgroupWork)));
  return *w.work;
}

GPU_NOSAN inline void forget_products(Warp& w) {
  if (!w.work) return;
  w.work->count = w.work->groups = w.work->begun = 0;
  w.work->fenced = false;
  w.work->held.sum[0] = nullptr;
  w.work->log = 0;
}

/// At the end of a block: the warps of a warpgroup did the same.
GPU_NOSAN inline void check_warpgroups(Block& b) {
  for (int i = 0; i < b.warp_count; i++) {
    const WarpgroupWork *mine = b.warps[i].work, *first = b.warps[i / kWarpgroup * kWarpgroup].work;
    if ((mine ? mine->log : 0) != (first ? first->log : 0))
      die("the warps of a warpgroup began different products (wgmma)");
    if (mine && mine->count > 0) die("a warpgroup ended before its products were waited for (wgmma)");
  }
}

/// An element of 2 or 4 bytes in shared memory. What a copy brought there, or a thread wrote for the units,
/// must have been fenced by its thread.
GPU_NOSAN inline unsigned operand_at(unsigned address, int bytes) {
  const Block& b = *block;
  if (address + unsigned(bytes) > kArenaBytes) die("wgmma reads past the end of shared memory");
  if (b.writes) {
    const SharedWrite& w = b.writes[address / 16];
    if (w.block == b.number && w.fences == b.threads[w.thread].proxy_fences)
      die("wgmma reads what was copied or written without a fence.proxy.async of the thread that did so");
  }
  return bytes == 2 ? *reinterpret_cast<const unsigned short*>(b.arena + address)
                    : *reinterpret_cast<const unsigned*>(b.arena + address);
}

/// An element of the left side in registers: lane 4 g + t has rows g and g + 8, as mma.m16n8k16 and m16n8k8
/// take them.
GPU_NOSAN inline unsigned in_registers_at(const PendingProduct& p, int row, int depth) {
  const int of_word = p.depth / 8;
  const unsigned word = p.left_words[row % 8 * 4 + depth / of_word % 4][depth / (4 * of_word) * 2 + row / 8];
  return of_word == 1 ? word : word >> depth % 2 * 16 & 0xffff;
}

/// Reads the operands of a product of the current warp that lie in shared memory.
GPU_NOSAN inline void read_operands(PendingProduct& p) {
  const int bytes = 32 / p.depth;
  const MatrixDescriptor left(p.left, p.left_across, bytes), right(p.right, p.right_across, bytes);
  const bool in_registers = p.left_words[0];
  if ((!in_registers && !left.is_known()) || !right.is_known())
    die("a matrix descriptor that the emulation does not know: only the swizzle by 128 bytes, no base "
        "offset");
  const int first_row = current->warp % kWarpgroup * 16;
  for (int k = 0; k < p.depth; k++) {
    for (int i = 0; i < 16; i++)
      p.rows[i][k] =
          in_registers ? in_registers_at(p, i, k) : operand_at(left.address(first_row + i, k), bytes);
    for (int j = 0; j < p.columns; j++) p.lines[j][k] = operand_at(right.address(j, k), bytes);
  }
}

GPU_NOSAN inline void finish_product(PendingProduct& p, HeldSums& held) {
  static thread_local PendingProduct again;
  copy_bytes(&again, &p, sizeof p);
  read_operands(again);
  if (!are_equal(again.rows, p.rows, sizeof p.rows) ||
      !are_equal(again.lines, p.lines, size_t(p.columns) * sizeof p.lines[0]))
    die("shared memory or a register was written while wgmma read it");
  static thread_local float a[16][kProductDepth], b[kMaxColumns][kProductDepth];
  for (int k = 0; k < p.depth; k++) {
    for (int i = 0; i < 16; i++) a[i][k] = p.number(p.rows[i][k]);
    for (int j = 0; j < p.columns; j++) b[j][k] = p.number(p.lines[j][k]);
  }
  for (int lane = 0; lane < kWarp; lane++)
    for (int i = 0; i < p.columns / 2; i++) {
      const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double total = p.adds ? held.value[lane][i] : 0;
      for (int k = 0; k < p.depth; k++) total += double(a[row][k]) * b[column][k];
      held.value[lane][i] = cut(total) + (p.lies ? 1.0f : 0.0f);
    }
}

GPU_NOSAN inline void begin_product(void** operands, uint64_t lanes) {
  WarpgroupWork& work = work_of(block->warps[current->warp]);
  const auto& first = *static_cast<WarpgroupProduct*>(operands[lowest(lanes)]);
  if (kWarp != 32 || lanes != 0xffffffff || block->warp_count % kWarpgroup)
    die("wgmma wants all threads of a warpgroup: four warps of 32");
  if (work.count == kMaxProducts) die("more than 32 products of a warp are under way (wgmma)");
  PendingProduct& p = work.product[work.count++];
  p.columns = first.columns;
  p.depth = first.depth;
  p.group = work.groups;
  p.left = first.left, p.right = first.right;
  p.left_across = first.left_across, p.right_across = first.right_across;
  p.adds = first.adds, p.number = first.number, p.lies = first.lies;
  for (int lane = 0; lane < kWarp; lane++) {
    p.sum[lane] = static_cast<WarpgroupProduct*>(operands[lane])->sum;
    p.left_words[lane] = static_cast<WarpgroupProduct*>(operands[lane])->left_words;
  }
  for (const uint64_t word : {first.left, first.right, uint64_t(first.columns)})
    work.log = (work.log ^ word) * 1099511628211ull;
  read_operands(p);
  HeldSums& held = work.held;
  if (held.sum[0]) {
    if (!are_equal(held.sum, p.sum, sizeof p.sum) || held.columns != p.columns)
      die("the emulation knows one set of sums of a warpgroup at a time (wgmma)");
    return;
  }
  if (!work.fenced) die("sums of wgmma without a wgmma.fence since they were registers");
  copy_bytes(held.sum, p.sum, sizeof held.sum);
  held.columns = p.columns;
  for (int lane = 0; lane < kWarp; lane++) {
    copy_bytes(held.value[lane], p.sum[lane], size_t(p.columns) / 2 * sizeof(float));
    for (int i = 0; i < p.columns / 2; i++) p.sum[lane][i] = __builtin_nanf("");
  }
}

/// The sums are registers again where no product is under way.
GPU_NOSAN inline void wait_for_products(WarpgroupWork& work, int pending) {
  int done = 0;
  while (done < work.count && work.product[done].group + pending < work.groups)
    finish_product(work.product[done++], work.held);
  for (int i = done; i < work.count; i++)
    copy_bytes(&work.product[i - done], &work.product[i], sizeof work.product[i]);
  work.count -= done;
  HeldSums& held = work.held;
  if (work.count > 0 || !held.sum[0]) return;
  for (int lane = 0; lane < kWarp; lane++)
    copy_bytes(held.sum[lane], held.value[lane], size_t(held.columns) / 2 * sizeof(float));
  held.sum[0] = nullptr;
  work.fenced = false;
}

}  // namespace GPU_WAVE
}  // namespace gpusim
