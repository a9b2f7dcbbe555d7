// One GPU in use: its memory and its compiled kernels.
#pragma once
#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>

#include "ir/tensor.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/kernel_cache.h"
#include "runtime/gpu/unit_proof.h"
#include "runtime/memory.h"

namespace tenon::gpu {

/// A kernel in the memory of a GPU.
using Function = void*;

/// How many blocks, and what each has. A grid without blocks starts nothing.
struct LaunchSize {
  std::int64_t grid[3] = {1, 1, 1};
  int block = 1;  // threads
  std::int64_t shared_bytes = 0;

  /// Throws Error (unsupported) where no launch of the vendor's driver is as large.
  void check(Vendor, const std::string& kernel) const;
};

/// Safe from several threads.
class Gpu {
 public:
  /// What is wrong with a matrix unit; empty: nothing.
  using Proof = std::string (*)(Gpu&, MatrixUnit);

  /// Throws Error (environment_failed). The driver must be ok().
  Gpu(const Driver& driver, int ordinal, KernelCache cache = KernelCache(), Proof proof = proven_before);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }  // "NVIDIA H200"
  int attribute(Attribute which) const { return driver_.attribute(which, ordinal_); }
  int warp() const { return warp_; }
  int multiprocessors() const { return multiprocessors_; }
  /// What kernels are compiled for, as the compiler's option has it.
  const std::string& architecture() const { return architecture_; }
  /// What its kernels are kept by.
  std::string identity() const { return name_ + " " + architecture_; }
  const KernelCache& cache() const { return cache_; }
  /// What is wrong with a matrix unit that it has. The proof is asked once.
  const std::string& fault_of(MatrixUnit);

  /// The driver's calls of this thread concern this GPU from now on.
  void activate() const;
  /// The same for what is given back, whatever becomes of it.
  void activate_if_possible() const noexcept;
  /// Throws std::bad_alloc.
  Memory allocate(std::size_t bytes, Space space) const;
  /// Begins to load the kernels of a source beside the calling thread. They are compiled for this GPU, unless
  /// that was done before, by any run of this program (kernel_cache.h).
  void request(const std::string& source);
  /// The kernel of this name in the source, once it is loaded, for launches with so much dynamic shared
  /// memory. Throws InternalError with the compiler's log, when nothing is compiled any more.
  Function function(const std::string& source, const std::string& kernel, std::int64_t shared_bytes);
  /// The same of a module.
  Function function_of(void* module, const std::string& kernel, std::int64_t shared_bytes) const;
  /// Whether a launch has a block for each place that the device's processors have for blocks of this kernel.
  bool fills(Function, const LaunchSize&) const;
  void launch(Function, const LaunchSize&, std::span<void*> arguments, void* stream) const;
  void copy(void* to, const void* from, std::size_t bytes, void* stream) const;
  void check(int result, std::string_view tried) const { driver_.check(result, tried); }

 private:
  using Module = void*;
  Module load(const std::string& source) const;
  std::shared_future<Module> loading(const std::string& source);
  void wait_for_compilers();

  const Driver& driver_;
  int ordinal_;
  const KernelCache cache_;
  const Proof proof_;
  std::mutex proof_mutex_;
  std::map<MatrixUnit, std::string> faults_;
  void* context_ = nullptr;
  std::string name_, architecture_;
  int warp_ = 0, multiprocessors_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Module>> modules_;                               // by their source
  std::counting_semaphore<> compilers_{std::max(1U, std::thread::hardware_concurrency())};  // that may start
};

}  // namespace tenon::gpu
