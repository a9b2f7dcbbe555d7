// The devices that this program can run graphs on.
#pragma once
#include <vector>

#include "runtime/device.h"

namespace tenon {

/// The CPU first, the GPUs last.
std::vector<const Device*> devices();
/// "cuda" is "cuda:0". With `fallback` "cpu", operators for which a GPU has no kernel run on the host. Throws
/// Error (environment_failed) with the names of those there are.
const Device& find_device(std::string_view name, std::string_view fallback = {});
/// What the environment variable TENON_DEVICE says; "cpu" where it is not set.
std::string default_device_name();
/// What TENON_FALLBACK says, the default of --fallback: "cpu", or nothing.
std::string default_fallback();
/// Throws as find_device.
inline const Device& default_device() { return find_device(default_device_name(), default_fallback()); }
/// Adds a device of another name. It must live as long as the program; to be called before sessions are made.
void add_device(const Device&);

}  // namespace tenon
