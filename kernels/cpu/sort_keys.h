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

}  // namespace tenon::cpu
