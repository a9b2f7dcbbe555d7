// The GPUs of this machine as devices.
#pragma once
#include <functional>
#include <span>

#include "runtime/device.h"
#include "runtime/gpu/gpu.h"

namespace tenon::gpu {

/// What a machine has of a vendor: its devices, or why there are none.
struct Found {
  std::vector<const Device*> devices;  // "cuda:0", "cuda:1"
  std::string why_none;
  bool is_broken = false;  // a driver is there, but does not start
};

/// Asked of the driver once. Sessions open the GPUs themselves.
const Found& find_devices(Vendor);
/// The GPU of a device that find_devices() or variant() gave, opened; null where it is none.
Gpu* gpu_of(const Device&);
/// A GPU as a device, which opens it when it is needed.
Device make_device(const Driver&, int ordinal, std::function<Gpu&()> open);
/// The same GPU as a device on which operators without a kernel run on the host, and whose products of
/// float32 take numbers of TF32.
const Device& variant(const Device&, bool falls_back, bool takes_tf32);

}  // namespace tenon::gpu
