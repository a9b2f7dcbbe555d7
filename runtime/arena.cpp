#include "runtime/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/alignment.h"

namespace tenon {
namespace {

struct Block {
  std::size_t begin, end, buffer;
};

bool is_skewed(std::size_t bytes, const MemoryRules& rules) {
  return rules.page_skew != 0 && bytes >= rules.page;
}

// The next place at another distance from page boundaries than that of the buffer before.
std::size_t skewed(std::size_t offset, std::size_t bytes, std::size_t turn, const MemoryRules& rules) {
  if (!is_skewed(bytes, rules)) return offset;
  const std::size_t page = rules.page, wanted = turn * rules.page_skew % page;
  return offset + (wanted + page - offset % page) % page;
}

// Of blocks by address.
std::size_t tightest_gap(const std::vector<Block>& taken, std::size_t bytes, std::size_t turn,
                         const MemoryRules& rules) {
  const std::size_t multiple = is_skewed(bytes, rules) ? rules.page_skew : rules.alignment;
  std::size_t best = 0;
  std::size_t best_gap = std::numeric_limits<std::size_t>::max();
  std::size_t free_from = 0;
  for (const Block& s : taken) {
    if (free_from + bytes <= s.begin && s.begin - free_from < best_gap) {
      best = free_from;
      best_gap = s.begin - free_from;
    }
    free_from = std::max(free_from, aligned_up(s.end, multiple));
  }
  const bool found = best_gap != std::numeric_limits<std::size_t>::max();
  return found ? best : skewed(free_from, bytes, turn, rules);
}

}  // namespace

ArenaLayout lay_out(std::span<const std::size_t> bytes, FunctionRef<bool(std::size_t, std::size_t)> meet,
                    const MemoryRules& rules) {
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  ArenaLayout layout{std::vector<std::size_t>(bytes.size()), 0};
  std::vector<Block> blocks, taken;
  for (const std::size_t i : order) {
    taken.clear();
    std::ranges::copy_if(blocks, std::back_inserter(taken),
                         [&](const Block& b) { return meet(i, b.buffer); });
    std::ranges::sort(taken, {}, &Block::begin);
    const std::size_t begin = tightest_gap(taken, bytes[i], blocks.size(), rules);
    blocks.push_back({begin, begin + bytes[i], i});
    layout.offsets[i] = begin;
    layout.bytes = std::max(layout.bytes, begin + bytes[i]);
  }
  return layout;
}

}  // namespace tenon
