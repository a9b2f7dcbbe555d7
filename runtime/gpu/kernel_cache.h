// Kernels as source, compiled while the program runs, and kept on disk from run to run.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/driver.h"

namespace tenon::gpu {

/// The source as an image that the driver loads. Throws InternalError with the compiler's log.
std::vector<char> compile(const Driver&, const std::string& architecture, const std::string& source);

/// Images by what they were made of: the source with all that it includes, the device and the compiler. A
/// file that is damaged counts as none. Several processes may use it at once.
class KernelCache {
 public:
  /// The user's (base/cache_folder.h).
  KernelCache();
  /// Empty: nothing is kept.
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::optional<std::vector<char>> find(const Driver&, const std::string& device,
                                        const std::string& source) const;
  /// Does nothing where the folder cannot be written to.
  void keep(const Driver&, const std::string& device, const std::string& source,
            const std::vector<char>& image) const;

 private:
  std::filesystem::path file(const Driver&, const std::string& device, const std::string& source) const;
  std::filesystem::path folder_;
};

}  // namespace tenon::gpu
