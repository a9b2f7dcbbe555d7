// Which of some keys has a rank in their order: halves their range until it holds one key. Built once per
// ISA.
#include "kernels/cpu/short_keys.h"
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/sort_keys.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// How many keys are not above the middle, the largest of these, and the least of the others.
template <class Key>
struct Split {
  Key count, below, above;
};

/// Of a multiple of keys_of_block keys.
template <class Key>
TENON_INLINE Split<Key> split_at(Key middle, const Key* keys, long n) {
  using L = Lanes<Key>;
  using V = typename L::V;
  const V limit = middle - V{};
  V count{}, below{}, above = ~V{};
  for (long i = 0; i < n; i += L::count) {
    const V key = L::load(keys + i);
    const V in = reinterpret_cast<V>(key <= limit), low = key & in, high = key | in;
    count -= in;
    below = low > below ? low : below;
    above = high < above ? high : above;
  }
  Split<Key> found{count[0], below[0], above[0]};
  TENON_UNROLL
  for (long i = 1; i < L::count; i++) {
    found.count += count[i];
    found.below = found.below > below[i] ? found.below : below[i];
    found.above = found.above < above[i] ? found.above : above[i];
  }
  return found;
}

template <class Key>
TENON_INLINE long place_of_rank(Key* keys, long n, long rank) {
  const long whole = blocks_of(n) * keys_of_block;
  for (long i = n; i < whole; ++i) keys[i] = ~Key{0};
  const auto at = static_cast<Key>(rank);
  Key low = 0, high = ~Key{0}, before = 0;  // keys below the lowest
  while (low < high) {
    const Split<Key> split = split_at<Key>(low + (high - low) / 2, keys, whole);
    if (split.count > at)
      high = split.below;
    else
      low = split.above, before = split.count;
  }
  Key left = at - before;  // of equal keys in front of it
  for (long first = 0;; first += keys_of_block) {
    Key equal = 0;
    for (long i = 0; i < keys_of_block; ++i) equal += keys[first + i] == low;
    if (equal <= left) {
      left -= equal;
      continue;
    }
    for (long i = first;; ++i)
      if (keys[i] == low && left-- == 0) return i;
  }
}

}  // namespace

long place_of_rank_32(std::uint32_t* keys, long n, long rank) { return place_of_rank(keys, n, rank); }
long place_of_rank_64(std::uint64_t* keys, long n, long rank) {
  auto* const distances = reinterpret_cast<std::uint32_t*>(keys);
  if (!shorten(keys, n, distances)) return place_of_rank(keys, n, rank);
  asm volatile("" ::: "memory");  // the same memory holds another type from here on
  return place_of_rank(distances, n, rank);
}

}  // namespace tenon::cpu::TENON_ISA
