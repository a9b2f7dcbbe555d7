#include "runtime/gpu/gpu.h"

#include <fmt/format.h>

#include <array>
#include <new>

#include "base/error.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {
namespace {

// One of the threads that may compile at the same time.
class Turn {
 public:
  explicit Turn(std::counting_semaphore<>& turns) : turns_(turns) { turns_.acquire(); }
  ~Turn() { turns_.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::counting_semaphore<>& turns_;
};

}  // namespace

void LaunchSize::check(Vendor vendor, const std::string& kernel) const {
  constexpr std::int64_t most[3] = {(std::int64_t{1} << 31) - 1, 65535, 65535};
  for (int dim = 0; dim < 3; ++dim) {
    if (grid[dim] > most[dim])
      throw unsupported(
          "the kernel {} would take {} blocks in dimension {} of its grid, of which there are {} "
          "at most",
          kernel, grid[dim], dim, most[dim]);
    // hipModuleLaunchKernel: the grid counted in threads
    const std::int64_t threads = grid[dim] * (dim == 0 ? block : 1);
    if (vendor == Vendor::hip && threads >= std::int64_t{1} << 32)
      throw unsupported("the kernel {} would take {} threads; a HIP kernel has less than 2^32", kernel,
                        threads);
  }
}

Gpu::Gpu(const Driver& driver, int ordinal, KernelCache cache, Proof proof)
    : driver_(driver), ordinal_(ordinal), cache_(std::move(cache)), proof_(proof) {
  if (driver_.retain_context) check(driver_.retain_context(&context_, ordinal), "opening the device");
  activate();
  std::array<char, 256> name{};
  check(driver_.device_name(name.data(), static_cast<int>(name.size()), ordinal),
        "asking for the device's name");
  name_ = name.data();
  architecture_ = driver_.architecture(ordinal);
  warp_ = attribute(Attribute::warp_size);
  multiprocessors_ = attribute(Attribute::multiprocessors);
}

void Gpu::activate() const {
  check(driver_.set_context ? driver_.set_context(context_) : driver_.set_device(ordinal_),
        "choosing the device");
}

void Gpu::activate_if_possible() const noexcept {
  (void)(driver_.set_context ? driver_.set_context(context_) : driver_.set_device(ordinal_));
}

Memory Gpu::allocate(std::size_t bytes, Space space) const {
  if (bytes == 0) return {};
  if (space == Space::host) return host_memory(bytes);
  activate();
  std::byte* data = nullptr;
  const bool pinned = space == Space::pinned;
  const int result = pinned ? driver_.allocate_pinned(&data, bytes, 0) : driver_.allocate(&data, bytes);
  if (result == driver_numbers::out_of_memory) throw std::bad_alloc();
  check(result, "allocating memory");
  // What a driver says that the program has ended already is of no interest any more.
  return {data, bytes, [this, pinned](std::byte* p, std::size_t) {
            activate_if_possible();
            (void)(pinned ? driver_.release_pinned(p) : driver_.release(p));
          }};
}

Gpu::Module Gpu::load(const std::string& source) const {
  activate();
  Module module = nullptr;
  if (const auto image = cache_.find(driver_, identity(), source))
    if (driver_.load_module(&module, image->data()) == 0) return module;
  const std::vector<char> image = compile(driver_, architecture_, source);
  check(driver_.load_module(&module, image.data()), "loading a kernel");
  cache_.keep(driver_, identity(), source, image);
  return module;
}

std::shared_future<Gpu::Module> Gpu::loading(const std::string& source) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = modules_.try_emplace(source);
  if (is_new)
    entry->second = std::async(std::launch::async, [this, &text = entry->first] {
                      const Turn turn(compilers_);
                      return load(text);
                    }).share();
  return entry->second;
}

void Gpu::wait_for_compilers() {
  const std::lock_guard lock(mutex_);
  for (const auto& [source, module] : modules_) module.wait();
}

void Gpu::request(const std::string& source) { (void)loading(source); }

Function Gpu::function(const std::string& source, const std::string& kernel, std::int64_t shared_bytes) {
  const std::shared_future<Module> module = loading(source);
  module.wait();
  activate();
  try {
    return function_of(module.get(), kernel, shared_bytes);
  } catch (...) {
    wait_for_compilers();
    throw;
  }
}

// HIP gives a kernel what its launch asks for.
Function Gpu::function_of(void* module, const std::string& kernel, std::int64_t shared_bytes) const {
  constexpr std::int64_t without_asking = 48 << 10;
  Function found = nullptr;
  check(driver_.find_function(&found, module, kernel.c_str()), "looking for the kernel " + kernel);
  if (shared_bytes > without_asking && driver_.set_function_attribute)
    check(driver_.set_function_attribute(found, driver_numbers::max_dynamic_shared_bytes,
                                         static_cast<int>(shared_bytes)),
          fmt::format("asking for {} bytes of shared memory", shared_bytes));
  return found;
}

bool Gpu::fills(Function function, const LaunchSize& size) const {
  int resident = 0;  // on a processor
  check(driver_.resident_blocks(&resident, function, size.block, static_cast<std::size_t>(size.shared_bytes)),
        "asking how many blocks of a kernel run at once");
  return size.grid[0] * size.grid[1] * size.grid[2] >= std::int64_t{multiprocessors_} * std::max(resident, 1);
}

const std::string& Gpu::fault_of(MatrixUnit unit) {
  const std::lock_guard lock(proof_mutex_);
  const auto found = faults_.find(unit);
  return found != faults_.end() ? found->second : faults_.emplace(unit, proof_(*this, unit)).first->second;
}

void Gpu::launch(Function function, const LaunchSize& size, std::span<void*> arguments, void* stream) const {
  const auto blocks = [&](int dim) { return static_cast<unsigned>(size.grid[dim]); };
  check(driver_.launch(function, blocks(0), blocks(1), blocks(2), static_cast<unsigned>(size.block), 1, 1,
                       static_cast<unsigned>(size.shared_bytes), stream, arguments.data(), nullptr),
        "starting a kernel");
}

void Gpu::copy(void* to, const void* from, std::size_t bytes, void* stream) const {
  if (bytes == 0) return;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  check(driver_.copy_async
            ? driver_.copy_async(target, source, bytes, stream)
            : driver_.copy_async_of_kind(target, source, bytes, driver_numbers::by_addresses, stream),
        "copying");
}

}  // namespace tenon::gpu
