// The messages between tenon and `tenon-torch serve`, the same in both directions:
//
//   u32 kMagic · u32 size of the header · header (JSON) · the bytes of each tensor of the header, in order
//
// header["tensors"] is a list of [name, dtype, shape]; bytes are little-endian, row-major, without padding.
// tenon asks {"do": "run" | "taps" | "time", "method", …}; the answer holds "tensors", or "error".
// While it works on "taps", tenon-torch sends one message {"tap": {…}} per executed node and waits for one
// byte, kGoOn or kStop, before the next.
#pragma once
#include <cstdint>

namespace tenon::torch_protocol {

constexpr std::uint32_t kMagic = 0x316f7474;  // "tto1"
constexpr std::uint32_t kLargestHeader = 64u << 20;
constexpr char kGoOn = 'g', kStop = 's';

struct Prefix {
  std::uint32_t magic = kMagic;
  std::uint32_t header_size = 0;
};

}  // namespace tenon::torch_protocol
