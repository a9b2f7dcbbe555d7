// Reading a zip archive: the directory, its bounds, inflate.
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "base/checksum.h"
#include "base/environment.h"
#include "base/zip.h"
#include "base/zip_format.h"

namespace tenon {
namespace {

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
  std::string text(std::uint64_t offset, std::uint64_t size) const {
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
  std::uint64_t offset, size, count;
};

std::optional<std::uint64_t> find_end_record(const Bytes& file) {
  if (file.size() < zip::end_record_size) return std::nullopt;
  const std::uint64_t last = file.size() - zip::end_record_size;
  const std::uint64_t first = last - std::min(last, zip::longest_comment);
  for (std::uint64_t at = last + 1; at-- > first;)
    if (file.at<std::uint32_t>(at) == zip::end_record) return at;
  return std::nullopt;
}

Directory find_directory(const Bytes& file) {
  const auto end = find_end_record(file);
  if (!end) throw damaged("its table of contents is missing, as when a file is cut");
  Directory directory{file.at<std::uint32_t>(*end + 16), file.at<std::uint32_t>(*end + 12),
                      file.at<std::uint16_t>(*end + 10)};
  const std::uint64_t locator = *end - std::min(*end, zip::end64_locator_size);
  if (file.at<std::uint32_t>(locator) == zip::end64_locator) {
    const auto end64 = file.at<std::uint64_t>(locator + 8);
    file.need(end64, zip::end64_record_size);
    if (file.at<std::uint32_t>(end64) != zip::end64_record)
      throw damaged("its ZIP64 record is not where it should be");
    directory = {file.at<std::uint64_t>(end64 + 48), file.at<std::uint64_t>(end64 + 40),
                 file.at<std::uint64_t>(end64 + 32)};
  }
  file.need(directory.offset, directory.size);
  if (directory.count > directory.size / zip::central_header_size)
    throw damaged("its table of contents is shorter than it says");
  return directory;
}

// Takes the 64-bit sizes and offset from the extra fields, in the order the format fixes.
void apply_zip64(const Bytes& file, std::uint64_t extra, std::uint64_t extra_size, ZipMember& member) {
  const std::uint64_t stop = extra + extra_size;
  while (extra + 4 <= stop) {
    const auto id = file.at<std::uint16_t>(extra);
    const std::uint64_t next = extra + 4 + file.at<std::uint16_t>(extra + 2);
    if (next > stop) throw damaged("an extra field is longer than its entry");
    std::uint64_t field = extra + 4;
    for (std::uint64_t* value : {&member.size, &member.compressed_size, &member.header_offset}) {
      if (id != zip::zip64_field || *value != zip::in_zip64) continue;
      if (field + 8 > next) throw damaged("a ZIP64 field is too short");
      *value = file.at<std::uint64_t>(field);
      field += 8;
    }
    extra = next;
  }
}

// Reads the directory entry at `at` and moves behind it.
ZipMember read_member(const Bytes& file, std::uint64_t& at) {
  file.need(at, zip::central_header_size);
  if (file.at<std::uint32_t>(at) != zip::central_header) throw damaged("its table of contents is broken");
  const std::uint64_t name_size = file.at<std::uint16_t>(at + 28);
  const std::uint64_t extra_size = file.at<std::uint16_t>(at + 30);
  const std::uint64_t comment_size = file.at<std::uint16_t>(at + 32);
  const std::uint64_t extra = at + zip::central_header_size + name_size;
  ZipMember member;
  member.name = file.text(at + zip::central_header_size, name_size);
  member.method = file.at<std::uint16_t>(at + 10);
  member.crc = file.at<std::uint32_t>(at + 16);
  member.compressed_size = file.at<std::uint32_t>(at + 20);
  member.size = file.at<std::uint32_t>(at + 24);
  member.header_offset = file.at<std::uint32_t>(at + 42);
  apply_zip64(file, extra, extra_size, member);
  const bool is_encrypted = file.at<std::uint16_t>(at + 8) & 1;
  if (is_encrypted)
    throw error("'{}' in the archive is encrypted", member.name).hint("save the file without a password");
  at = extra + extra_size + comment_size;
  return member;
}

void locate_data(const Bytes& file, ZipMember& member) {
  const std::uint64_t at = member.header_offset;
  file.need(at, zip::local_header_size);
  if (file.at<std::uint32_t>(at) != zip::local_header) throw damaged("a member is not where the table says");
  member.data_offset =
      at + zip::local_header_size + file.at<std::uint16_t>(at + 26) + file.at<std::uint16_t>(at + 28);
  file.need(member.data_offset, member.compressed_size);
  if (member.method == ZipMember::stored && member.size != member.compressed_size)
    throw damaged("the sizes of a stored member differ");
}

void refuse_overlaps(const std::vector<ZipMember>& members, const Directory& directory) {
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges{{directory.offset, directory.offset + directory.size}};
  for (const ZipMember& m : members) ranges.push_back({m.header_offset, m.data_offset + m.compressed_size});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end) throw damaged("two members overlap");
}

// False when the bytes are damaged, or do not inflate to exactly as many as there is room for.
bool inflate_all(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!decompressor) throw environment_error("there is no memory to inflate a zip archive");
  return libdeflate_deflate_decompress(decompressor.get(), from.data(), from.size(), to.data(), to.size(),
                                       nullptr) == LIBDEFLATE_SUCCESS;
}

std::unique_ptr<std::byte[]> allocate(const ZipMember& member) {
  try {
    return std::make_unique_for_overwrite<std::byte[]>(member.size);
  } catch (const std::exception&) {
    throw environment_error("there is no memory for the {} bytes of '{}'", member.size, member.name);
  }
}
}  // namespace

ZipReader::ZipReader(std::span<const std::byte> bytes) : bytes_(bytes) {
  const Bytes file(bytes);
  const Directory directory = find_directory(file);
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    members_.push_back(read_member(file, at));
    locate_data(file, members_.back());
  }
  refuse_overlaps(members_, directory);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool is_new = by_name_.emplace(members_[i].name, i).second;
    if (!is_new) throw damaged(fmt::format("it holds '{}' twice", members_[i].name));
  }
}

const ZipMember* ZipReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &members_[found->second];
}

std::span<const std::byte> ZipReader::stored(const ZipMember& member) const {
  if (member.method != ZipMember::stored)
    throw error("'{}' in the archive is compressed, and only stored members can be used in place",
                member.name)
        .hint("save the file again without compression");
  return bytes_.subspan(member.data_offset, member.size);
}

std::span<const std::byte> ZipReader::read_into(std::unique_ptr<std::byte[]>& buffer, const ZipMember& member,
                                                std::uint64_t limit) const {
  if (member.size > limit)
    throw error("'{}' in the archive has {} bytes; at most {} are expected", member.name, member.size, limit);
  if (member.method != ZipMember::stored && member.method != ZipMember::deflated)
    throw unsupported("'{}' in the archive uses compression method {}; only stored and deflated are read",
                      member.name, member.method);
  // Deflate shrinks by at most 1032 to 1, so a larger claim is wrong before memory is asked for.
  if (member.size / 1040 > member.compressed_size)
    throw damaged(fmt::format("'{}' claims more bytes than it can hold", member.name));
  std::span<const std::byte> content = bytes_.subspan(member.data_offset, member.compressed_size);
  if (member.method == ZipMember::deflated) {
    buffer = allocate(member);
    const std::span<std::byte> room(buffer.get(), member.size);
    if (!inflate_all(content, room)) throw damaged(fmt::format("'{}' does not inflate", member.name));
    content = room;
  }
  if (crc32(content) != member.crc) throw damaged(fmt::format("'{}' has a wrong checksum", member.name));
  return content;
}

void ZipReader::check_stored() const {
  for (const ZipMember& member : members_)
    if (member.method == ZipMember::stored && member.crc != 0 && crc32(stored(member)) != member.crc)
      throw damaged(fmt::format("'{}' has a wrong checksum", member.name));
}

std::vector<std::byte> ZipReader::read(const ZipMember& member, std::uint64_t limit) const {
  std::unique_ptr<std::byte[]> buffer;
  const auto content = read_into(buffer, member, limit);
  return {content.begin(), content.end()};
}

std::string ZipReader::read_text(const ZipMember& member, std::uint64_t limit) const {
  std::unique_ptr<std::byte[]> buffer;
  const auto content = read_into(buffer, member, limit);
  return std::string(reinterpret_cast<const char*>(content.data()), content.size());
}

bool looks_like_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
}

}  // namespace tenon
