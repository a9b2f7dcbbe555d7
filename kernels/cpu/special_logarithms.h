// Logarithms of numbers that have none, by the instruction of AVX-512 that tells kinds of numbers apart.
#pragma once

namespace tenon::cpu {

/// Four bits for each kind of x, from the lowest: NaN, NaN, 0, 1, -infinity, infinity, less, more than 0.
/// They choose x as a quiet NaN (2), NaN (3), -infinity (4), infinity (5), or the result (0).
inline constexpr int special_logarithms = 0x03530422;

}  // namespace tenon::cpu
