#include "runtime/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/environment.h"
#include "runtime/gpu/devices.h"

namespace tenon {
namespace {

// The CPU, and what add_device() was given.
std::vector<const Device*>& given() {
  static std::vector<const Device*> devices{&cpu_device()};
  return devices;
}

const Device* find_in(std::span<const Device* const> devices, std::string_view name) {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device* d) {
    return d->name == name || (d->name.ends_with(":0") && d->name.substr(0, d->name.size() - 2) == name);
  });
  return found != devices.end() ? *found : nullptr;
}

// What a vendor has whose devices are named so ("cuda", "cuda:1"); null where none is.
const gpu::Found* gpus_named(std::string_view name) {
  const std::size_t kind = std::min(name.find(':'), name.size());
  const std::string_view number = name.substr(std::min(kind + 1, name.size()));
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == number.npos;
  for (const auto vendor : gpu::vendors)
    if (gpu::name_of(vendor) == name.substr(0, kind) && (kind == name.size() || is_number))
      return &gpu::find_devices(vendor);
  return nullptr;
}

Error no_device(const std::string& name, const gpu::Found* gpus) {
  std::vector<std::string_view> names;
  const std::vector<const Device*> all = devices();
  for (const Device* d : all) names.push_back(d->name);
  const std::string has = fmt::format("this machine has: {}", fmt::join(names, ", "));
  if (!gpus)
    return error("there is no device '{}'", name)
        .hint(fmt::format("devices are cpu, cuda, cuda:1, hip, hip:1 and so on; {}", has));
  return environment_error("there is no device '{}'{}", name,
                           gpus->devices.empty() ? ": " + gpus->why_none : "")
      .hint(has + "; tenon doctor says what it found of GPUs");
}

}  // namespace

std::vector<const Device*> devices() {
  std::vector<const Device*> all = given();
  for (const auto vendor : gpu::vendors) {
    const auto& found = gpu::find_devices(vendor).devices;
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

const Device& find_device(const DeviceChoice& choice) {
  const auto& [name, fallback, precision] = choice;
  if (!fallback.empty() && fallback != cpu_device().name)
    throw error("operators cannot fall back to '{}'", fallback)
        .at("--fallback, TENON_FALLBACK")
        .hint("it may be cpu");
  const bool wants_tf32 = !precision.empty();
  if (wants_tf32 && precision != "tf32")
    throw error("there is no precision '{}'", precision).hint("--precision may be tf32");
  if (wants_tf32 && !name.starts_with(gpu::name_of(gpu::Vendor::cuda)))
    throw error("{} has no numbers of TF32", name).at("--precision").hint("tf32 needs --device cuda");
  if (const Device* found = find_in(given(), name)) return *found;  // without looking for GPUs
  const gpu::Found* gpus = gpus_named(name);
  if (const Device* found = gpus ? find_in(gpus->devices, name) : nullptr)
    return gpu::variant(*found, !fallback.empty(), wants_tf32);
  throw no_device(name, gpus);
}

DeviceChoice default_choice() {
  const char* const name = std::getenv("TENON_DEVICE");
  const char* const fallback = std::getenv("TENON_FALLBACK");
  return {.name = name && *name ? name : cpu_device().name, .fallback = fallback ? fallback : ""};
}

void add_device(const Device& device) {
  TENON_CHECK(!find_in(given(), device.name));
  given().push_back(&device);
}

}  // namespace tenon
