// Random integers as the text of a GPU kernel (random.gpu.h).
#pragma once
#include <cstdint>
#include <string>

namespace tenon::gpu {

/// How many integers of so many bits a thread draws.
constexpr std::int64_t drawn_at_once(std::int64_t bits) { return bits > 32 ? 2 : 4; }

/// The kernel `random_bits`: the number of the step where it has one (i64), the result, and a RandomShape, in
/// blocks of random_threads.
std::string random_source(std::int64_t bits, bool has_step);
inline constexpr int random_threads = 256;

}  // namespace tenon::gpu
