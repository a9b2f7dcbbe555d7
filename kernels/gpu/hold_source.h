// A kernel that takes so much time.
#pragma once
#include <string>

namespace tenon::gpu {

/// extern "C" __global__ void hold(long long nanoseconds), for one thread.
std::string hold_source();
inline constexpr const char* hold_name = "hold";

}  // namespace tenon::gpu
