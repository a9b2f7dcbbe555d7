// Files opened for reading.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tenon {

/// A regular file. Every failure throws Error with the path: missing, a folder, not readable, cut while being
/// read.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset`. Throws Error when the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::vector<std::byte> read_all() const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// All of a file, or of a pipe. Throws Error with the path.
std::string read_text(const std::filesystem::path& path);

}  // namespace tenon
