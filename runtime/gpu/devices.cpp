#include "runtime/gpu/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>

#include "runtime/calls/loop.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/peak.h"
#include "runtime/gpu/queue.h"
#include "runtime/shared/general.h"

namespace tenon {

#define FAMILY(name) std::vector<OpLowering> name();
#include "runtime/shared/families.def"
#define FAMILY(name) std::vector<OpLowering> name();
#include "runtime/gpu/families.def"

namespace gpu {
namespace {

constexpr std::array families = {
#define FAMILY(name) name,
#include "runtime/shared/families.def"
#define FAMILY(name) name,
#include "runtime/gpu/families.def"
};

constexpr std::array general = {GeneralLowering{"view", lower_view, is_view},
                                GeneralLowering{"loop", lower_loop, is_loop},
                                GeneralLowering{"reference", lower_reference, has_reference}};
constexpr std::span kernels_only = std::span(general).first<2>();

const std::vector<OpLowering>& lowerings() {
  static const std::vector<OpLowering> all = [] {
    std::vector<OpLowering> list;
    for (const auto family : families)
      for (const OpLowering& l : family()) list.push_back(l);
    return list;
  }();
  return all;
}

// Arithmetic and traffic at the same time, and a launch.
double estimate(int, double cost, double bytes) {
  constexpr double launch = 3e-6, gflops = 30'000, gbs = 2'000;
  return launch + 1e-9 * std::max(cost / gflops, bytes / gbs);
}

// The GPU is opened when it is needed: to ask how many there are takes less time.
struct Slot {
  Slot(const Driver& driver_, int ordinal_) : driver(driver_), ordinal(ordinal_) {}
  Gpu& gpu() {
    std::call_once(once, [this] { opened = std::make_unique<Gpu>(driver, ordinal); });
    return *opened;
  }

  const Driver& driver;
  int ordinal;
  std::once_flag once;
  std::unique_ptr<Gpu> opened;
  std::array<std::array<Device, 2>, 2> variants;  // [with fallback][with TF32]
};

struct VendorDevices {
  std::deque<Slot> slots;  // as long as the program: memory may be released at its end
  Found found;
};

VendorDevices* find(Vendor vendor) {
  auto* all = new VendorDevices;
  const Driver& d = driver(vendor);
  Found& found = all->found;
  for (const Library* library : {&d.library, &d.compiler})
    if (found.why_none.empty() && !library->ok())
      found.why_none = library->found.empty() ? fmt::format("none of {} is found", library->wanted)
                                              : fmt::format("{} lacks {}", library->found, library->lacks);
  if (!found.why_none.empty()) return all;
  constexpr int none_is_there = 100;  // CUDA_ERROR_NO_DEVICE, hipErrorNoDevice
  int count = 0;
  try {
    const int started = d.init(0);
    if (started != none_is_there) {
      d.check(started, "starting the driver");
      d.check(d.device_count(&count), "counting the devices");
    }
  } catch (const Error& e) {
    found.why_none = e.message();
    found.is_broken = true;
  }
  for (int i = 0; i < count; ++i) {
    Slot& slot = all->slots.emplace_back(d, i);
    for (std::size_t v = 0; v < 4; ++v) {
      Device& device = slot.variants[v / 2][v % 2] =
          make_device(d, i, [&slot]() -> Gpu& { return slot.gpu(); });
      if (v / 2) device.general = general;
      device.takes_tf32 = v % 2;
    }
    found.devices.push_back(&slot.variants[0][0]);
  }
  if (count == 0 && found.why_none.empty()) found.why_none = "the driver knows no device";
  return all;
}

template <Vendor vendor>
VendorDevices& devices_of() {
  static VendorDevices* const found = find(vendor);
  return *found;
}

VendorDevices& devices_of(Vendor vendor) {
  return vendor == Vendor::cuda ? devices_of<Vendor::cuda>() : devices_of<Vendor::hip>();
}

// Null: the device is no GPU.
Slot* slot_of(const Device& device) {
  for (const Vendor vendor : vendors) {
    if (!device.name.starts_with(name_of(vendor))) continue;
    for (Slot& slot : devices_of(vendor).slots)
      if (device.name == slot.variants[0][0].name) return &slot;
  }
  return nullptr;
}

}  // namespace

Device make_device(const Driver& driver, int ordinal, std::function<Gpu&()> open) {
  return {
      .name = fmt::format("{}:{}", driver.name, ordinal),
      .lowerings = lowerings(),
      .general = kernels_only,
      .advice = "--fallback cpu runs these operators on the host",
      .computes_prologues = true,
      .multiplies_bytes = true,
      .memory = {.alignment = 256},
      .shares_memory = false,
      .allocate = [open](std::size_t bytes, Space space) { return open().allocate(bytes, space); },
      .make_copy = [open](const PlannedTensor& from,
                          const PlannedTensor& to) { return make_copy(open(), from, to); },
      .hardware = [open] { return open().name(); },
      .software = [&driver] { return driver.versions(); },
      .measure_peak = measure_peak,
      .estimate = estimate,
      .open_queue = [open](int) -> std::unique_ptr<Queue> { return std::make_unique<GpuQueue>(open()); },
  };
}

const Found& find_devices(Vendor vendor) { return devices_of(vendor).found; }

const Device& variant(const Device& device, bool falls_back, bool takes_tf32) {
  const Slot* const slot = slot_of(device);
  return slot ? slot->variants[falls_back][takes_tf32] : device;
}

Gpu* gpu_of(const Device& device) {
  Slot* const slot = slot_of(device);
  return slot ? &slot->gpu() : nullptr;
}

}  // namespace gpu
}  // namespace tenon
