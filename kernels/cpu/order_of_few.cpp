// The order of a short line: the rank of a key is how many keys are smaller, or equal and in front of it.
// Built once per ISA.
#include "kernels/cpu/short_keys.h"
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/sort_keys.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Writes the places of the keys that are among the first k, of some vectors of keys from `first` on.
template <int Vectors, class Key>
TENON_INLINE void place_vectors(const Key* keys, long n, long first, long k, std::int64_t* places) {
  using L = Lanes<Key>;
  using V = typename L::V;
  const auto lanes_of = [&](int v) {
    const long left = n - first - v * L::count;
    return left < 0 ? 0 : left < L::count ? left : L::count;
  };
  V lane, key[Vectors], rank[Vectors];
  for (long i = 0; i < L::count; ++i) lane[i] = static_cast<Key>(i);
  TENON_UNROLL
  for (int v = 0; v < Vectors; ++v) {
    rank[v] = V{};
    key[v] = lanes_of(v) > 0 ? L::load_first(keys + first + v * L::count, lanes_of(v)) : V{};
  }
  for (long j = 0; j < first; ++j) {
    const V other = keys[j] - V{};
    TENON_UNROLL
    for (int v = 0; v < Vectors; ++v) rank[v] = other <= key[v] ? rank[v] + 1 : rank[v];
  }
  TENON_UNROLL
  for (int w = 0; w < Vectors; ++w) {
    const long here = lanes_of(w);
    for (long l = 0; l < here; ++l) {
      const Key number = keys[first + w * L::count + l];
      const V other = number - V{};
      TENON_UNROLL
      for (int v = 0; v < Vectors; ++v)
        if (v > w)
          rank[v] = other <= key[v] ? rank[v] + 1 : rank[v];
        else
          rank[v] = other < key[v] ? rank[v] + 1 : rank[v];
      const V behind = lane > static_cast<Key>(l) - V{} ? key[w] : ~number - V{};
      rank[w] = other == behind ? rank[w] + 1 : rank[w];
    }
  }
  for (long j = first + Vectors * L::count; j < n; ++j) {
    const V other = keys[j] - V{};
    TENON_UNROLL
    for (int v = 0; v < Vectors; ++v) rank[v] = other < key[v] ? rank[v] + 1 : rank[v];
  }
  Key ranks[Vectors * L::count];
  TENON_UNROLL
  for (int v = 0; v < Vectors; ++v) L::store(ranks + v * L::count, rank[v]);
  const long here = n - first < Vectors * L::count ? n - first : Vectors * L::count;
  for (long i = 0; i < here; ++i)
    if (static_cast<long>(ranks[i]) < k) places[ranks[i]] = first + i;
}

template <class Key>
constexpr long most_keys = 16 * Lanes<Key>::count;  // the time grows with their number squared

template <class Key>
bool order_of_few(const Key* keys, long n, long k, std::int64_t* places) {
  if (n > most_keys<Key>) return false;
  constexpr long vector = Lanes<Key>::count;
  if (n <= vector)
    place_vectors<1>(keys, n, 0, k, places);
  else if (n <= 2 * vector)
    place_vectors<2>(keys, n, 0, k, places);
  else
    for (long first = 0; first < n; first += 4 * vector) place_vectors<4>(keys, n, first, k, places);
  return true;
}

}  // namespace

bool order_of_few_32(const std::uint32_t* keys, long n, long k, std::int64_t* places) {
  return order_of_few(keys, n, k, places);
}

bool order_of_few_64(const std::uint64_t* keys, long n, long k, std::int64_t* places) {
  std::uint32_t distances[most_keys<std::uint32_t>];
  return n <= most_keys<std::uint32_t> && shorten(keys, n, distances) ? order_of_few(distances, n, k, places)
                                                                      : order_of_few(keys, n, k, places);
}

}  // namespace tenon::cpu::TENON_ISA
