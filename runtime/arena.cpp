#include "runtime/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon {
namespace {

struct Slot {
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

// Slots that live at the same time as `life`, by address.
std::vector<Slot> neighbours(const std::vector<Slot>& slots, const Lifetime& life) {
  std::vector<Slot> found;
  for (const Slot& s : slots)
    if (s.first <= life.last && life.first <= s.last) found.push_back(s);
  std::sort(found.begin(), found.end(), [](const Slot& a, const Slot& b) { return a.begin < b.begin; });
  return found;
}

std::size_t tightest_gap(const std::vector<Slot>& taken, std::size_t bytes, std::size_t turn,
                         const MemoryRules& rules) {
  std::size_t best = 0;
  std::size_t best_gap = std::numeric_limits<std::size_t>::max();
  std::size_t free_from = 0;
  for (const Slot& s : taken) {
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
  std::vector<Slot> slots;
  for (const std::size_t i : order) {
    const Lifetime& life = lifetimes[i];
    const std::size_t begin = tightest_gap(neighbours(slots, life), life.bytes, slots.size(), rules);
    slots.push_back({begin, begin + life.bytes, life.first, life.last});
    layout.offsets[i] = begin;
    layout.bytes = std::max(layout.bytes, begin + life.bytes);
  }
  return layout;
}

}  // namespace tenon
