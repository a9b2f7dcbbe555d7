// What a CUtensorMap of ours holds: the driver writes it, and copies read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpusim {

constexpr size_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

/// Of a matrix: elements that lie side by side, and rows of these.
struct TensorMapBits {
  char magic[8];
  uint64_t address, extent[2], stride;  // stride: bytes from row to row
  uint32_t element_bytes, box[2], swizzled;
  uint64_t sum;  // of all before
};
static_assert(sizeof(TensorMapBits) <= kTensorMapBytes);
constexpr char kTensorMapMagic[8] = {'t', 'e', 'n', 's', 'o', 'r', '2', 'D'};

inline uint64_t sum_of(const TensorMapBits& bits) {
  uint64_t sum = 1469598103934665603ull;
  for (size_t i = 0; i < offsetof(TensorMapBits, sum); i++)
    sum = (sum ^ reinterpret_cast<const unsigned char*>(&bits)[i]) * 1099511628211ull;
  return sum;
}

inline void write_tensor_map(void* to, TensorMapBits bits) {
  memcpy(bits.magic, kTensorMapMagic, sizeof bits.magic);
  bits.sum = sum_of(bits);
  memset(to, 0, kTensorMapBytes);
  memcpy(to, &bits, sizeof bits);
}
inline bool read_tensor_map(const void* from, TensorMapBits& bits) {
  memcpy(&bits, from, sizeof bits);
  return memcmp(bits.magic, kTensorMapMagic, sizeof bits.magic) == 0 && bits.sum == sum_of(bits);
}

}  // namespace gpusim
