#include "runtime/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/environment.h"

namespace tenon {
namespace {

std::vector<const Device*>& list() {
  static std::vector<const Device*> devices{&cpu_device()};
  return devices;
}

}  // namespace

std::span<const Device* const> devices() { return list(); }

const Device& find_device(std::string_view name) {
  const auto found =
      std::find_if(list().begin(), list().end(), [&](const Device* d) { return d->name == name; });
  if (found != list().end()) return **found;
  std::vector<std::string_view> names;
  for (const Device* d : list()) names.push_back(d->name);
  throw environment_error("there is no device '{}'", name)
      .hint(fmt::format("this program has: {}", fmt::join(names, ", ")));
}

std::string default_device_name() {
  const char* name = std::getenv("TENON_DEVICE");
  return name && *name ? name : cpu_device().name;
}

void add_device(const Device& device) {
  const bool taken =
      std::any_of(list().begin(), list().end(), [&](const Device* d) { return d->name == device.name; });
  TENON_CHECK(!taken);
  list().push_back(&device);
}

}  // namespace tenon
