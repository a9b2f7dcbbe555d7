// Runs a launch: its blocks are spread over system threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "run_block.h"

namespace gpusim {
inline namespace GPU_WAVE {

/// Blocks that no launch uses; their stacks are kept.
class BlockPool {
 public:
  Block* take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return new Block;
    Block* b = free_.back();
    free_.pop_back();
    return b;
  }
  void give(Block* b) {
    std::lock_guard lock(mutex_);
    free_.push_back(b);
  }

 private:
  std::mutex mutex_;
  std::vector<Block*> free_;
};
inline BlockPool& block_pool = *new BlockPool;

/// SOFTGPU_THREADS, or the machine's; one for every 8192 GPU threads, since a small launch ends before a
/// thread starts.
inline unsigned system_threads(uint64_t blocks, uint64_t block_threads) {
  if (GPU_SERIAL) return 1;
  static const char* text = getenv("SOFTGPU_THREADS");
  const unsigned wanted = text ? atoi(text) : std::thread::hardware_concurrency();
  return unsigned(std::min<uint64_t>({wanted ? wanted : 1, blocks, blocks * block_threads / 8192 + 1}));
}

/// A number without a common factor with `blocks`: index * stride % blocks names every block once.
inline uint64_t block_stride(uint64_t blocks) {
  if (!order_seed()) return 1;
  uint64_t stride = order_seed();
  while (std::gcd(stride, blocks) != 1) stride += 2;
  return stride;
}

struct Launch {
  dim3 grid, size;
  size_t dynamic_bytes, shared_limit;
  void (*body)(void*);
  void* argument;
  uint64_t blocks, stride;
  std::atomic<uint64_t> next{0};
};

GPU_NOSAN inline void run_blocks(Launch& l) {
  Block *outer = block, *b = block_pool.take();
  block = b;
  b->shared_limit = l.shared_limit;
  b->body = l.body;
  b->argument = l.argument;
  b->block_size = {l.size.x, l.size.y, l.size.z};
  b->grid_size = {l.grid.x, l.grid.y, l.grid.z};
  b->random = order_seed() * 0x9E3779B97F4A7C15ull | 1;
  note_this_thread(b->scheduler.note);
  for (uint64_t i; (i = l.next++) < l.blocks;) {
    const uint64_t j = static_cast<unsigned __int128>(i) * l.stride % l.blocks;
    const uint64_t row = j / l.grid.x;
    run_block(l.size, {unsigned(j % l.grid.x), unsigned(row % l.grid.y), unsigned(row / l.grid.y)},
              l.dynamic_bytes);
  }
  acquire(&launch_ordered[1]);
  block = outer;
  block_pool.give(b);
}

GPU_RUNTIME void run(dim3 grid, dim3 size, size_t dynamic_bytes, void (*body)(void*), void* argument,
                     size_t shared_limit) {
  const uint64_t threads = uint64_t(size.x) * size.y * size.z, blocks = uint64_t(grid.x) * grid.y * grid.z;
  if (!threads || threads > kMaxThreads || !blocks) {
    fprintf(stderr, "gpusim: a launch of %llu blocks of %llu threads\n",
            static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(threads));
    abort();
  }
  Launch l{grid, size, dynamic_bytes, shared_limit, body, argument, blocks, block_stride(blocks)};
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < system_threads(blocks, threads); i++)
    helpers.emplace_back([&l] { run_blocks(l); });
  run_blocks(l);
  for (std::thread& t : helpers) t.join();
}

}  // namespace GPU_WAVE
}  // namespace gpusim
