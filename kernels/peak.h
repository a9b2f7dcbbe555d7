// What a device can do at most.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

/// What multiply-adds are done in.
enum class ArithmeticKind : std::uint8_t {
  lanes,  // float32 on ordinary lanes: what loops compute in, those of smaller numbers, too
  f32,    // products of float32, on matrix units, too, where these are faster
  tf32,
  f64,
  f16,
  bf16,
  f8,
  i8,
};
inline constexpr std::array arithmetic_kinds{ArithmeticKind::lanes, ArithmeticKind::f32, ArithmeticKind::tf32,
                                             ArithmeticKind::f64,   ArithmeticKind::f16, ArithmeticKind::bf16,
                                             ArithmeticKind::f8,    ArithmeticKind::i8};
constexpr std::string_view name(ArithmeticKind kind) {
  constexpr std::array<std::string_view, arithmetic_kinds.size()> names{"lanes", "f32",  "tf32", "f64",
                                                                        "f16",   "bf16", "f8",   "i8"};
  return names[static_cast<std::size_t>(kind)];
}

/// Rates of a whole device, or of the threads that a session has of it.
struct Peak {
  double gflops = 0;  // multiply-adds of float32 on ordinary lanes, two operations each
  double gbs = 0;     // memory: the faster of reading and of a = b + s * c (all three streams counted)
  double l2_gbs = 0;  // reading what fits each core's L2
  double l3_gbs = 0;  // reading what fits the L3 but no L2
  std::array<double, arithmetic_kinds.size()> own = {};  // as gflops, by kind; 0: as float32 on the lanes

  double& own_gflops(ArithmeticKind kind) { return own[static_cast<std::size_t>(kind)]; }
  double own_gflops(ArithmeticKind kind) const { return own[static_cast<std::size_t>(kind)]; }
  double gflops_of(ArithmeticKind kind) const { return own_gflops(kind) > 0 ? own_gflops(kind) : gflops; }
};

}  // namespace tenon
