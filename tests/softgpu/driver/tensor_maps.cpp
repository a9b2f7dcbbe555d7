// What cuTensorMapEncodeTiled refuses: CUDA Driver API 13.0, Tensor Map Object Management. Of the rest the
// emulation knows matrices, not interleaved, that are swizzled by 128 bytes or not at all.
#include "driver/tensor_maps.h"

#include "driver/diagnostics.h"
#include "driver/status.h"
#include "emulation/tensor_map.h"

namespace softgpu {
namespace {

enum Interleave { not_interleaved, by_16_bytes, by_32_bytes };
enum Swizzle { not_swizzled, within_32_bytes, within_64_bytes, within_128_bytes, last_swizzle = 6 };
constexpr int kTypes = 13;  // of whole bytes: CU_TENSOR_MAP_DATA_TYPE_UINT8 to ..._TFLOAT32_FTZ
constexpr int kBytes[kTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr int kLastPromotion = 3;

bool is_float(int dtype) { return dtype >= 6; }

/// Null: nothing.
const char* fault_of_dimension(const TensorMapRequest& r, unsigned dim) {
  if (r.extent[dim] == 0 || r.extent[dim] > 1ull << 32) return "an extent is 0 or larger than 2^32";
  if (r.box[dim] == 0 || r.box[dim] > 256) return "the box has no or more than 256 elements in a dimension";
  if (r.step[dim] == 0 || r.step[dim] > 8) return "a step is 0 or larger than 8";
  if (dim + 1 == r.rank) return nullptr;
  if (r.stride[dim] % (r.interleave == by_32_bytes ? 32 : 16) || r.stride[dim] >= 1ull << 40)
    return "a stride is no multiple of 16 bytes (interleaved by 32: of 32), or not below 2^40";
  return nullptr;
}

const char* fault_of(const void* map, const TensorMapRequest& r) {
  if (!map || reinterpret_cast<uintptr_t>(map) % gpusim::kTensorMapAlignment)
    return "the map does not lie at a multiple of 64 bytes";
  if (r.dtype < 0 || r.dtype >= kTypes) return "the data type is unknown";
  if (r.rank == 0 || r.rank > 5 || (r.interleave != not_interleaved && r.rank < 3))
    return "the rank is not 1 to 5, or interleaved 3 to 5";
  if (r.interleave < 0 || r.interleave > by_32_bytes) return "the interleaving is unknown";
  if (r.swizzle < 0 || r.swizzle > last_swizzle) return "the swizzle is unknown";
  if (r.promotion < 0 || r.promotion > kLastPromotion) return "the promotion is unknown";
  if (r.fill != 0 && (r.fill != 1 || !is_float(r.dtype))) return "the filling is unknown, or one of floats";
  if (r.address == 0 || r.address % (r.interleave == by_32_bytes ? 32 : 16))
    return "the address is no multiple of 16 (interleaved by 32 bytes: of 32)";
  if (!r.extent || !r.box || !r.step || (r.rank > 1 && !r.stride)) return "an array is missing";
  for (unsigned dim = 0; dim < r.rank; dim++)
    if (const char* fault = fault_of_dimension(r, dim)) return fault;
  if (r.interleave == by_32_bytes && r.swizzle != within_32_bytes)
    return "interleaved by 32 bytes, but not swizzled by them";
  if (r.interleave != not_interleaved) return nullptr;
  const unsigned inner = r.box[0] * kBytes[r.dtype];
  if (inner % 16) return "the box is no multiple of 16 bytes wide";
  const unsigned widest = r.swizzle == not_swizzled      ? ~0u
                          : r.swizzle == within_32_bytes ? 32
                          : r.swizzle == within_64_bytes ? 64
                                                         : 128;
  return inner > widest ? "the box is wider than the swizzle" : nullptr;
}

}  // namespace

int encode_tensor_map(void* map, const TensorMapRequest& r) {
  if (const char* fault = fault_of(map, r)) {
    say("cuTensorMapEncodeTiled: %s", fault);
    return invalid_value;
  }
  const bool is_known = r.rank == 2 && r.interleave == not_interleaved && r.fill == 0 && r.step[0] == 1 &&
                        r.step[1] == 1 && (r.swizzle == not_swizzled || r.swizzle == within_128_bytes);
  if (!is_known) {
    say("cuTensorMapEncodeTiled: the emulation knows no such maps");
    return not_supported;
  }
  gpusim::write_tensor_map(map, {.address = r.address,
                                 .extent = {r.extent[0], r.extent[1]},
                                 .stride = r.stride[0],
                                 .element_bytes = uint32_t(kBytes[r.dtype]),
                                 .box = {r.box[0], r.box[1]},
                                 .swizzled = r.swizzle == within_128_bytes});
  return success;
}

}  // namespace softgpu
