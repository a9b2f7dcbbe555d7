#include "runtime/gpu/tensor_map.h"

#include "base/error.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {

EncodedMap encode(const Driver& driver, const TensorMap& map, std::byte* begin) {
  TENON_CHECK(map.dtype == DType::f16 || map.dtype == DType::bf16 || map.dtype == DType::f32);
  const std::uint64_t extent[] = {static_cast<std::uint64_t>(map.extent[0]),
                                  static_cast<std::uint64_t>(map.extent[1])};
  const std::uint64_t stride[] = {static_cast<std::uint64_t>(map.stride) * size_of(map.dtype)};
  const unsigned box[] = {static_cast<unsigned>(map.box[0]), static_cast<unsigned>(map.box[1])};
  const unsigned every_element[] = {1, 1};
  EncodedMap encoded{};
  using namespace tensor_map_numbers;
  const int type = map.dtype == DType::f16 ? float16 : map.dtype == DType::f32 ? float32 : bfloat16;
  driver.check(
      driver.encode_tensor_map(encoded.bytes.data(), type, 2, begin, extent, stride, box, every_element,
                               not_interleaved, swizzled_by_128_bytes, promoted_to_128_bytes, zeros),
      "describing a matrix to bulk copies");
  return encoded;
}

}  // namespace tenon::gpu
