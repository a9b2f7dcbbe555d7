// A zip archive over bytes in memory: the format behind .pt, .pt2 and .npz.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenon {

/// One file of the archive.
struct ZipEntry {
  enum Method : std::uint16_t { stored = 0, deflated = 8 };
  std::string name;
  std::uint16_t method = stored;  // other methods are listed, and refused when read
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0, size = 0;
  std::uint64_t data_offset = 0;  // where its (compressed) bytes begin in the archive
};

/// Source: PKWARE APPNOTE 6.3.9. The central directory rules; local headers are only used to find the data.
class Zip {
 public:
  /// Lists the archive; `bytes` must outlive it. Throws Error when it is not a zip, is cut, lists an entry
  /// outside the file, twice, encrypted or overlapping another, or more than a million of them.
  explicit Zip(std::span<const std::byte> bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The entry with this exact name, or nullptr.
  const ZipEntry* find(std::string_view name) const;
  /// The bytes of a stored entry, in place. Throws Error when it is compressed.
  std::span<const std::byte> stored(const ZipEntry& entry) const;
  /// The content of an entry, inflated if need be and checked against its CRC.
  /// Throws Error when it is larger than `limit`, damaged, or of another compression method.
  std::string read(const ZipEntry& entry, std::uint64_t limit) const;

 private:
  std::span<const std::byte> bytes_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

/// Whether the bytes begin as a zip does.
bool looks_like_zip(std::span<const std::byte> bytes);

}  // namespace tenon
