// The devices that this program can run graphs on.
#pragma once
#include <span>

#include "runtime/device.h"

namespace tenon {

/// The CPU first.
std::span<const Device* const> devices();
/// Throws Error (environment_failed) with the names of those there are.
const Device& find_device(std::string_view name);
/// What the environment variable TENON_DEVICE says; "cpu" where it is not set.
std::string default_device_name();
/// Throws as find_device.
inline const Device& default_device() { return find_device(default_device_name()); }
/// Adds a device of another name. It must live as long as the program; to be called before sessions are made.
void add_device(const Device&);

}  // namespace tenon
