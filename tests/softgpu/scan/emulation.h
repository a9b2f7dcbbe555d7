// Stands in for emulation.h while the compiler only looks for kernels: 10 ms, since no system header is read.
#pragma once
#define __global__ __softgpu_global__
#define __launch_bounds__(...) __softgpu_bounds__(__VA_ARGS__)
