// A file mapped read-only into memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace tenon {

/// The bytes of a file, without reading them. The file must not be cut while it is mapped.
class Mapping {
 public:
  /// Throws Error when the path is missing, a folder, or may not be read.
  static std::shared_ptr<const Mapping> open(const std::filesystem::path& path);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit Mapping(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace tenon
