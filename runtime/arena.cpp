#include "runtime/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon {
namespace {

struct Block {
  std::size_t begin, end;
  int first, last;
};

std::size_t round_up(std::size_t offset, std::size_t multiple) {
  return (offset + multiple - 1) / multiple * multiple;
}

// The next place at another distance from page boundaries than that of the buffer before.
std::size_t skewed(std::size_t offset, std::size_t bytes, std::size_t turn, const MemoryRules& rules) {
  const std::size_t page = rules.page;
  if (bytes < page || rules.page_skew == 0) return offset;
  const std::size_t wanted = turn * rules.page_skew % page;
  return offset + (wanted + page - offset % page) % page;
}

// Blocks that live at the same time as `life`, by address.
std::vector<Block> neighbours(const std::vector<Block>& blocks, const Lifetime& life) {
  std::vector<Block> found;
  for (const Block& s : blocks)
    if (s.first <= life.last && life.first <= s.last) found.push_back(s);
  std::sort(found.begin(), found.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
  return found;
}

std::size_t tightest_gap(const std::vector<Block>& taken, std::size_t bytes, std::size_t turn,
                         const MemoryRules& rules) {
  std::size_t best = 0;
  std::size_t best_gap = std::numeric_limits<std::size_t>::max();
  std::size_t free_from = 0;
  for (const Block& s : taken) {
    if (free_from + bytes <= s.begin && s.begin - free_from < best_gap) {
      best = free_from;
      best_gap = s.begin - free_from;
    }
    free_from = std::max(free_from, round_up(s.end, rules.alignment));
  }
  const bool found = best_gap != std::numeric_limits<std::size_t>::max();
  return found ? best : skewed(free_from, bytes, turn, rules);
}

}  // namespace

ArenaLayout lay_out(std::span<const Lifetime> lifetimes, const MemoryRules& rules) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  ArenaLayout layout{std::vector<std::size_t>(lifetimes.size()), 0};
  std::vector<Block> blocks;
  for (const std::size_t i : order) {
    const Lifetime& life = lifetimes[i];
    const std::size_t begin = tightest_gap(neighbours(blocks, life), life.bytes, blocks.size(), rules);
    blocks.push_back({begin, begin + life.bytes, life.first, life.last});
    layout.offsets[i] = begin;
    layout.bytes = std::max(layout.bytes, begin + life.bytes);
  }
  return layout;
}

}  // namespace tenon
