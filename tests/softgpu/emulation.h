// Runs kernels written for CUDA and HIP on the CPU, to test their logic (C++17, g++ 12). README.md says how.
#pragma once
#include "emulation/atomics.h"
#include "emulation/bulk_copy.h"
#include "emulation/copy_async.h"
#include "emulation/matrix.h"
#include "emulation/surface.h"
#include "emulation/warpgroup.h"
#ifndef GPU_RUNTIME_ELSEWHERE
#include "emulation/runtime.h"
#endif
