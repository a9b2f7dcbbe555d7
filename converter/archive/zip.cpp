// A zip archive over bytes in memory: central directory, bounds, inflate.
#include "converter/archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalHeaderSize = 30, kCentralHeaderSize = 46, kEndSize = 22, kEnd64LocatorSize = 20;
constexpr std::size_t kEnd64Size = 56, kLongestComment = 65535;
constexpr std::uint16_t kEncrypted = 1, kZip64Extra = 1;
constexpr std::uint64_t kMostEntries = 1'000'000;

Error damaged(std::string_view how) {
  return error("the zip archive is damaged: {}", how).hint("copy or download the file again");
}

/// Little-endian reads that cannot leave the file.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T at(std::uint64_t offset) const {
    need(offset, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string_view text(std::uint64_t offset, std::uint64_t size) const {
    need(offset, size);
    return {reinterpret_cast<const char*>(bytes_.data() + offset), static_cast<std::size_t>(size)};
  }
  void need(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) throw damaged("it ends too early");
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t offset = 0, size = 0, count = 0;
};

std::optional<std::uint64_t> find_end_record(const Bytes& file) {
  if (file.size() < kEndSize) return std::nullopt;
  const std::uint64_t last = file.size() - kEndSize;
  const std::uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (file.at<std::uint32_t>(at) == kEnd) return at;
  }
  return std::nullopt;
}

Directory find_directory(const Bytes& file) {
  const auto end = find_end_record(file);
  if (!end) throw damaged("its table of contents is missing, as when a file is cut");
  Directory directory{file.at<std::uint32_t>(*end + 16), file.at<std::uint32_t>(*end + 12),
                      file.at<std::uint16_t>(*end + 10)};
  const bool has_locator =
      *end >= kEnd64LocatorSize && file.at<std::uint32_t>(*end - kEnd64LocatorSize) == kEnd64Locator;
  if (has_locator) {
    const auto end64 = file.at<std::uint64_t>(*end - kEnd64LocatorSize + 8);
    file.need(end64, kEnd64Size);
    if (file.at<std::uint32_t>(end64) != kEnd64) throw damaged("its ZIP64 record is not where it should be");
    directory = {file.at<std::uint64_t>(end64 + 48), file.at<std::uint64_t>(end64 + 40),
                 file.at<std::uint64_t>(end64 + 32)};
  }
  file.need(directory.offset, directory.size);
  if (directory.count > kMostEntries) throw damaged("it lists more than a million entries");
  return directory;
}

/// Takes the 64-bit sizes and offset from the extra field, in the order the format fixes.
void apply_zip64(const Bytes& file, std::uint64_t extra, std::uint64_t extra_size, ZipEntry& entry,
                 std::uint64_t& local_offset) {
  const std::uint64_t stop = extra + extra_size;
  while (extra + 4 <= stop) {
    const auto id = file.at<std::uint16_t>(extra);
    const std::uint64_t next = extra + 4 + file.at<std::uint16_t>(extra + 2);
    if (next > stop) throw damaged("an extra field is longer than its entry");
    std::uint64_t field = extra + 4;
    for (std::uint64_t* value : {&entry.size, &entry.compressed_size, &local_offset}) {
      if (id != kZip64Extra || *value != 0xffffffffu) continue;
      if (field + 8 > next) throw damaged("a ZIP64 field is too short");
      *value = file.at<std::uint64_t>(field);
      field += 8;
    }
    extra = next;
  }
}

struct Range {
  std::uint64_t begin, end;
};

}  // namespace

Zip::Zip(std::span<const std::byte> bytes) : bytes_(bytes) {
  const Bytes file(bytes);
  const Directory directory = find_directory(file);
  std::vector<Range> ranges;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    file.need(at, kCentralHeaderSize);
    if (file.at<std::uint32_t>(at) != kCentralHeader) throw damaged("its table of contents is broken");
    const auto name_size = file.at<std::uint16_t>(at + 28);
    const auto extra_size = file.at<std::uint16_t>(at + 30);
    const auto comment_size = file.at<std::uint16_t>(at + 32);
    ZipEntry entry;
    entry.name = file.text(at + kCentralHeaderSize, name_size);
    entry.method = file.at<std::uint16_t>(at + 10);
    entry.crc = file.at<std::uint32_t>(at + 16);
    entry.compressed_size = file.at<std::uint32_t>(at + 20);
    entry.size = file.at<std::uint32_t>(at + 24);
    std::uint64_t local = file.at<std::uint32_t>(at + 42);
    file.need(at + kCentralHeaderSize + name_size, extra_size);
    apply_zip64(file, at + kCentralHeaderSize + name_size, extra_size, entry, local);
    if (file.at<std::uint16_t>(at + 8) & kEncrypted) {
      throw error("the entry '{}' of the archive is encrypted", entry.name)
          .hint("save the file without a password");
    }

    file.need(local, kLocalHeaderSize);
    if (file.at<std::uint32_t>(local) != kLocalHeader) throw damaged("an entry is not where the table says");
    entry.data_offset =
        local + kLocalHeaderSize + file.at<std::uint16_t>(local + 26) + file.at<std::uint16_t>(local + 28);
    file.need(entry.data_offset, entry.compressed_size);
    if (entry.method == ZipEntry::stored && entry.size != entry.compressed_size) {
      throw damaged("the sizes of a stored entry differ");
    }
    ranges.push_back({local, entry.data_offset + entry.compressed_size});
    entries_.push_back(std::move(entry));
    at += kCentralHeaderSize + name_size + extra_size + comment_size;
  }

  ranges.push_back({directory.offset, directory.offset + directory.size});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) throw damaged("two entries overlap");
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool is_new = by_name_.emplace(entries_[i].name, i).second;
    if (!is_new) throw damaged("it holds '" + entries_[i].name + "' twice");
  }
}

const ZipEntry* Zip::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> Zip::stored(const ZipEntry& entry) const {
  if (entry.method != ZipEntry::stored) {
    throw error("the entry '{}' of the archive is compressed, and only stored entries can be mapped",
                entry.name)
        .hint("save the model again with PyTorch instead of re-packing the archive");
  }
  return bytes_.subspan(entry.data_offset, entry.size);
}

std::string Zip::read(const ZipEntry& entry, std::uint64_t limit) const {
  if (entry.size > limit) {
    throw error("the entry '{}' of the archive claims {} bytes; at most {} are expected there", entry.name,
                entry.size, limit);
  }
  std::string content(entry.size, '\0');
  if (entry.method == ZipEntry::stored) {
    std::memcpy(content.data(), bytes_.data() + entry.data_offset, content.size());
  } else if (entry.method == ZipEntry::deflated) {
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw error("zlib cannot be started");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes_.data() + entry.data_offset));
    stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(entry.compressed_size, UINT32_MAX));
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(std::min<std::uint64_t>(entry.size, UINT32_MAX));
    const int result = inflate(&stream, Z_FINISH);
    const bool is_whole = result == Z_STREAM_END && stream.total_out == entry.size;
    inflateEnd(&stream);
    if (!is_whole) throw damaged("'" + entry.name + "' does not inflate");
  } else {
    throw error("the entry '{}' of the archive uses compression method {}; only stored and deflated are read",
                entry.name, entry.method);
  }
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != entry.crc) throw damaged("'" + entry.name + "' has a wrong checksum");
  return content;
}

bool looks_like_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
}

}  // namespace tenon
