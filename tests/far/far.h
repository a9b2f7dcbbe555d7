// A device whose memory the host cannot read, and which does nothing before someone waits for it: what a GPU
// asks of the runtime, with the CPU's kernels.
#pragma once
#include "runtime/device.h"

namespace tenon::testing {

/// The addresses of its memory are PROT_NONE; its queue sees the same pages elsewhere. The queue is a thread
/// of its own, which starts what was enqueued when someone waits, or when much is open.
const Device& far_device();

}  // namespace tenon::testing
