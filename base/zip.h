// Zip archives: a reader over bytes in memory and a writer to a file. The format behind .pt, .pt2 and .npz.
// Source: PKWARE APPNOTE 6.3.9.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/atomic_file.h"

namespace tenon {

/// One file of an archive.
struct ZipMember {
  enum Method : std::uint16_t { stored = 0, deflated = 8 };
  std::string name;
  std::uint16_t method = stored;  // other methods are listed, and refused when read
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0, size = 0;
  std::uint64_t header_offset = 0;  // where its local header begins
  std::uint64_t data_offset = 0;    // where its (compressed) bytes begin
};

/// The central directory rules; local headers are only used to find the data.
class ZipReader {
 public:
  /// Lists the archive; `bytes` must outlive it. Throws Error when it is not a zip, is cut, or lists a member
  /// that is encrypted, outside the file, overlapping another, or there twice.
  explicit ZipReader(std::span<const std::byte> bytes);

  const std::vector<ZipMember>& members() const { return members_; }
  /// The member with this exact name, or nullptr.
  const ZipMember* find(std::string_view name) const;
  /// The bytes of a stored member, in place, unchecked. Throws Error when it is compressed.
  std::span<const std::byte> stored(const ZipMember& member) const;
  /// The content of a member, inflated if need be and checked against its CRC. Throws Error when it is
  /// larger than `limit`, damaged, or compressed by another method than deflate.
  std::vector<std::byte> read(const ZipMember& member, std::uint64_t limit = UINT64_MAX) const;
  /// The same without a copy of a stored member: in place, or inflated into `buffer`, whose memory is only
  /// touched as bytes arrive, whatever the member claims to hold.
  std::span<const std::byte> read_into(std::unique_ptr<std::byte[]>& buffer, const ZipMember& member,
                                       std::uint64_t limit = UINT64_MAX) const;
  /// Throws Error naming the first stored member whose bytes are not those of its checksum. One without a
  /// checksum (0, as PyTorch may leave it) passes.
  void check_stored() const;
  std::string read_text(const ZipMember& member, std::uint64_t limit) const;

 private:
  std::span<const std::byte> bytes_;
  std::vector<ZipMember> members_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

/// Whether the bytes begin as a zip does.
bool looks_like_zip(std::span<const std::byte> bytes);

/// Appends stored members to a file and ends it with the directory. Times are left at the format's zero, so
/// equal contents give equal files.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  /// A member whose content is the parts, one after the other.
  void add(std::string_view name, std::span<const std::span<const std::byte>> parts);
  /// Writes the directory. Nothing may be added afterwards; the caller commits the file.
  void finish();

 private:
  AtomicFile& file_;
  std::vector<ZipMember> members_;
};

}  // namespace tenon
