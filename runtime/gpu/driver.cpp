#include "runtime/gpu/driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/environment.h"
#include "runtime/gpu/open_library.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {
namespace {

struct VendorNames {
  std::string_view name;
  std::vector<std::string> library, compiler;
};

const VendorNames& names_of(Vendor vendor) {
  static const VendorNames cuda{"cuda", {"libcuda.so.1"}, {"libnvrtc.so.13", "libnvrtc.so.12"}};
  static const VendorNames hip{
      "hip", {"libamdhip64.so.7", "libamdhip64.so.6"}, {"libhiprtc.so.7", "libhiprtc.so.6"}};
  return vendor == Vendor::cuda ? cuda : hip;
}

// Of a driver's version: 12080 is CUDA 12.8, 60342134 is HIP 6.3.
int major_of(Vendor vendor, int version) { return version / (vendor == Vendor::cuda ? 1000 : 10'000'000); }

// What a compiler makes may be too new for a driver of an older major version: those that fit come first.
std::vector<std::string> compilers_for(const Driver& d, std::vector<std::string> names) {
  int version = 0;
  if (!d.library.ok() || d.driver_version(&version) != 0) return names;
  const auto fits = [&](const std::string& name) {
    return std::stoi(name.substr(name.rfind('.') + 1)) <= major_of(d.vendor, version);
  };
  std::stable_partition(names.begin(), names.end(), fits);
  return names;
}

Driver load(Vendor vendor) {
  const VendorNames& names = names_of(vendor);
  Driver d{.vendor = vendor, .name = names.name};
  void* handle = open_first(names.library, d.library);
  const bool is_cuda = vendor == Vendor::cuda;
#define GPU_FUNCTION(function, cuda, hip, arguments) \
  find_function(d.function, is_cuda ? #cuda : #hip, handle, d.library);
#define GPU_OPTIONAL_FUNCTION(function, cuda, hip, arguments) \
  find_optional_function(d.function, is_cuda ? #cuda : #hip, handle);
#define GPU_COMPILER_FUNCTION(function, cuda, hip, arguments)
#include "runtime/gpu/functions.def"
#undef GPU_FUNCTION
#undef GPU_COMPILER_FUNCTION

  void* const compiler = open_first(compilers_for(d, names.compiler), d.compiler);
#define GPU_FUNCTION(function, cuda, hip, arguments)
#define GPU_COMPILER_FUNCTION(function, cuda, hip, arguments) \
  find_function(d.function, is_cuda ? #cuda : #hip, compiler, d.compiler);
#include "runtime/gpu/functions.def"
#undef GPU_FUNCTION
#undef GPU_COMPILER_FUNCTION
  return d;
}

}  // namespace

std::string_view name_of(Vendor vendor) { return names_of(vendor).name; }

const Driver& driver(Vendor vendor) { return loaded_once<load>(vendor); }

int Driver::attribute(Attribute which, int device) const {
  int value = 0;
  check(
      device_attribute(
          &value, driver_numbers::attributes[static_cast<std::size_t>(which)][vendor == Vendor::cuda ? 0 : 1],
          device),
      "asking for an attribute of the device");
  return value;
}

std::string Driver::versions() const {
  int of_driver = 0, major = 0, minor = 0;
  check(driver_version(&of_driver), "asking for the driver's version");
  check(compiler_version(&major, &minor), "asking for the compiler's version");
  return fmt::format("driver {} ({}), compiler {}.{} ({})", of_driver, library.found, major, minor,
                     compiler.found);
}

std::string Driver::architecture(int device) const {
  if (vendor == Vendor::hip) return {};  // hipRTC compiles for the device that is current
  const int major = attribute(Attribute::compute_major, device),
            minor = attribute(Attribute::compute_minor, device);
  return fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "");  // a: with wgmma
}

void Driver::check(int result, std::string_view tried) const {
  if (result == 0) return;
  const char* text = nullptr;
  if (error_text(result, &text) != 0 || !text) text = "unknown error";
  throw environment_error("{}: {} failed: {} (error {})", name, tried, text, result);
}

}  // namespace tenon::gpu
