#include "tests/kernels/planning_gpu.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/gpu/devices.h"

namespace tenon::gpu {
namespace {

constexpr int multiprocessors = 16, warp_size = 10, compute_major = 75;  // of CUdevice_attribute

int attribute(int* value, int which, int ordinal) {
  *value = which == warp_size         ? 32 * (ordinal + 1)
           : which == multiprocessors ? 4
           : which == compute_major   ? 9
                                      : 0;
  return 0;
}

void take_memory(Driver& d) {
  d.allocate = [](std::byte** data, std::size_t bytes) {
    *data = static_cast<std::byte*>(std::malloc(bytes));
    return *data ? 0 : 2;
  };
  d.allocate_pinned = [](std::byte** data, std::size_t bytes, unsigned) {
    *data = static_cast<std::byte*>(std::malloc(bytes));
    return *data ? 0 : 2;
  };
  d.release = d.release_pinned = [](std::byte* data) {
    std::free(data);
    return 0;
  };
  d.copy_async = [](std::byte* to, const std::byte* from, std::size_t bytes, void*) {
    std::memcpy(to, from, bytes);
    return 0;
  };
}

// Programs, modules and functions are one address.
void take_kernels(Driver& d) {
  d.create_program = [](void** program, const char*, const char*, int, const char* const*,
                        const char* const*) {
    *program = &*program;
    return 0;
  };
  d.destroy_program = [](void**) { return 0; };
  d.compile_program = [](void*, int, const char* const*) { return 0; };
  d.image_size = [](void*, std::size_t* bytes) {
    *bytes = 1;
    return 0;
  };
  d.image = [](void*, char* bytes) {
    *bytes = 0;
    return 0;
  };
  d.load_module = [](void** module, const void*) {
    *module = module;
    return 0;
  };
  d.resident_blocks = [](int* blocks, void*, int, std::size_t) {
    *blocks = 8;
    return 0;
  };
  d.find_function = [](void** function, void* module, const char*) {
    *function = module;
    return 0;
  };
}

template <bool bulk_copies>
const Driver& planning_driver() {
  static const Driver driver = [] {
    Driver d{.vendor = Vendor::cuda, .name = "cuda"};
    d.device_name = [](char* name, int, int) {
      *name = 0;
      return 0;
    };
    d.device_attribute = attribute;
    d.set_device = [](int) { return 0; };
    d.create_stream = [](void**, unsigned) { return 0; };
    d.destroy_stream = d.wait_for_stream = [](void*) { return 0; };
    if (bulk_copies) d.encode_tensor_map = [](auto...) { return 0; };
    take_memory(d);
    take_kernels(d);
    return d;
  }();
  return driver;
}

// Of waves of 64, whatever the driver says, there are no warpgroups.
std::string proof(Gpu& gpu, MatrixUnit unit) {
  return is_of_warpgroup(unit) && gpu.warp() != 32 ? "it is not there" : "";
}

template <int ordinal, bool bulk_copies>
const Device& device() {
  static const Driver& driver = planning_driver<bulk_copies>();
  static Gpu gpu(driver, ordinal, KernelCache(std::filesystem::path()), proof);
  static const Device device = make_device(driver, ordinal, []() -> Gpu& { return gpu; });
  return device;
}

}  // namespace

const Device& planning_gpu(int wave) { return wave == 32 ? device<0, false>() : device<1, false>(); }
const Device& planning_gpu_with_bulk_copies() { return device<0, true>(); }

}  // namespace tenon::gpu
