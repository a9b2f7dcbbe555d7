// The devices that this program can run graphs on.
#pragma once
#include <vector>

#include "runtime/device.h"

namespace tenon {

/// The CPU first, the GPUs last.
std::vector<const Device*> devices();
/// Where graphs run, and how, as a user says it.
struct DeviceChoice {
  std::string name;            // "cuda" is "cuda:0"
  std::string fallback = {};   // "cpu": operators for which a GPU has no kernel run on the host
  std::string precision = {};  // "tf32": products of float32 may round their factors to TF32
};
/// What the environment variables TENON_DEVICE ("cpu" where it is not set) and TENON_FALLBACK say.
DeviceChoice default_choice();
/// Throws Error: environment_failed where this machine lacks the device; bad input where no device can have
/// this name, or the device cannot be used so. Both say which devices there are.
const Device& find_device(const DeviceChoice&);
/// Throws as find_device.
inline const Device& default_device() { return find_device(default_choice()); }
/// Adds a device of another name. It must live as long as the program; to be called before sessions are made.
void add_device(const Device&);

}  // namespace tenon
