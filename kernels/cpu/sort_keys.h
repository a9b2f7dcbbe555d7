// Elements as unsigned integers in the order in which they are sorted. Internal to sort.cpp.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Of n elements: the smaller key comes first, equal elements have equal keys. 32 bits for dtypes of up to 32
/// bits, else 64.
using SortKeys = void(const void* x, DType dtype, bool descending, long n, void* keys);
TENON_PER_ISA(SortKeys, sort_keys, sort_keys)
/// The least of n > 0 keys.
using LeastKey32 = std::uint32_t(const std::uint32_t* keys, long n);
TENON_PER_ISA(LeastKey32, least_key_32, least_key_32)
using LeastKey64 = std::uint64_t(const std::uint64_t* keys, long n);
TENON_PER_ISA(LeastKey64, least_key_64, least_key_64)

/// The keys of a line, the least of each 32 of them, and the least of each 32 of those.
inline constexpr long keys_of_block = 32;
constexpr long blocks_of(long n) { return (n + keys_of_block - 1) / keys_of_block; }
constexpr long room_of_first_keys(long n) {
  return keys_of_block * (blocks_of(n) + blocks_of(blocks_of(n)) + blocks_of(blocks_of(blocks_of(n))));
}
/// The places of the first k of n keys in order; returns how many were found before all that are left have
/// the largest key that there is. `keys` has room_of_first_keys(n), and is changed.
using FirstKeys32 = long(std::uint32_t* keys, long n, long k, std::int64_t* places);
TENON_PER_ISA(FirstKeys32, first_keys_32, first_keys_32)
using FirstKeys64 = long(std::uint64_t* keys, long n, long k, std::int64_t* places);
TENON_PER_ISA(FirstKeys64, first_keys_64, first_keys_64)

/// The places of the first k of n keys in order; false, and none, where they are more than a few vectors.
using OrderOfFew32 = bool(const std::uint32_t* keys, long n, long k, std::int64_t* places);
TENON_PER_ISA(OrderOfFew32, order_of_few_32, order_of_few_32)
using OrderOfFew64 = bool(const std::uint64_t* keys, long n, long k, std::int64_t* places);
TENON_PER_ISA(OrderOfFew64, order_of_few_64, order_of_few_64)

/// The place of the key that has a rank, counted from 0, in the order of n keys; equal keys keep their order.
/// `keys` has room for whole blocks, and is filled up.
using PlaceOfRank32 = long(std::uint32_t* keys, long n, long rank);
TENON_PER_ISA(PlaceOfRank32, place_of_rank_32, place_of_rank_32)
using PlaceOfRank64 = long(std::uint64_t* keys, long n, long rank);
TENON_PER_ISA(PlaceOfRank64, place_of_rank_64, place_of_rank_64)

}  // namespace tenon::cpu
