// The emulator as functions of the device's process, for one wave size.
#define GPU_RUNTIME_HERE
#include "emulation/runtime.h"
