// How often the program called each function of the driver: tests ask what a run costs.
#pragma once

namespace softgpu {

void count_call(const char* function);
/// Of the function of this name, so far; 0 where nothing counts it.
unsigned long long calls_of(const char* function);

}  // namespace softgpu
