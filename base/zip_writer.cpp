// Writing a zip archive of stored members, with ZIP64 fields where 32 bits do not suffice.
#include <algorithm>

#include "base/checksum.h"
#include "base/error.h"
#include "base/zip.h"
#include "base/zip_format.h"

namespace tenon {
namespace {
constexpr std::uint16_t plain_version = 20, zip64_version = 45;
constexpr std::uint16_t utf8_names = 1 << 11;
constexpr std::uint16_t first_day = 0x21;  // 1980-01-01

// Little-endian fields, appended.
class Record {
 public:
  template <class T>
  Record& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) text_ += static_cast<char>((value >> (8 * i)) & 0xff);
    return *this;
  }
  Record& append(std::string_view text) { return text_ += text, *this; }
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, zip::in_zip64));
}
bool is_large(std::uint64_t value) { return value >= zip::in_zip64; }

// The fields from "version needed" to "extra field length", which both headers share.
void put_common(Record& record, const ZipMember& m, std::uint16_t version, std::uint16_t extra_size,
                bool is_zip64) {
  record.put(version).put(utf8_names).put(m.method).put(std::uint16_t{0}).put(first_day).put(m.crc);
  const std::uint32_t size = is_zip64 ? zip::in_zip64 : low(m.size);
  record.put(size).put(size).put(static_cast<std::uint16_t>(m.name.size())).put(extra_size);
}

Record local_record(const ZipMember& m) {
  const bool is_zip64 = is_large(m.size);
  Record record;
  record.put(zip::local_header);
  put_common(record, m, is_zip64 ? zip64_version : plain_version, is_zip64 ? 20 : 0, is_zip64);
  record.append(m.name);
  if (is_zip64) record.put(zip::zip64_field).put(std::uint16_t{16}).put(m.size).put(m.size);
  return record;
}

Record central_record(const ZipMember& m) {
  Record values;
  if (is_large(m.size)) values.put(m.size).put(m.size);
  if (is_large(m.header_offset)) values.put(m.header_offset);
  const std::uint16_t value_size = static_cast<std::uint16_t>(values.text().size());
  const std::uint16_t extra_size = value_size == 0 ? 0 : static_cast<std::uint16_t>(value_size + 4);
  const std::uint16_t version = extra_size == 0 ? plain_version : zip64_version;
  Record record;
  record.put(zip::central_header).put(version);
  put_common(record, m, version, extra_size, is_large(m.size));
  record.put(std::uint16_t{0}).put(std::uint16_t{0}).put(std::uint16_t{0}).put(std::uint32_t{0});
  record.put(low(m.header_offset)).append(m.name);
  if (extra_size != 0) record.put(zip::zip64_field).put(value_size).append(values.text());
  return record;
}

Record end_records(std::uint64_t count, std::uint64_t offset, std::uint64_t size) {
  Record record;
  if (count >= zip::in_zip64_short || is_large(offset) || is_large(size)) {
    record.put(zip::end64_record).put(zip::end64_record_size - 12).put(zip64_version).put(zip64_version);
    record.put(std::uint32_t{0}).put(std::uint32_t{0}).put(count).put(count).put(size).put(offset);
    record.put(zip::end64_locator).put(std::uint32_t{0}).put(offset + size).put(std::uint32_t{1});
  }
  const auto short_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, zip::in_zip64_short));
  record.put(zip::end_record).put(std::uint32_t{0}).put(short_count).put(short_count);
  record.put(low(size)).put(low(offset)).put(std::uint16_t{0});
  return record;
}
}  // namespace

void ZipWriter::add(std::string_view name, std::span<const std::span<const std::byte>> parts) {
  if (name.size() > 0xffff) throw error("a name of {} bytes does not fit into a zip archive", name.size());
  ZipMember member;
  member.name = name;
  member.header_offset = file_.size();
  for (const auto part : parts) {
    member.crc = crc32(part, member.crc);
    member.size += part.size();
  }
  file_.write(local_record(member).text());
  for (const auto part : parts) file_.write(part);
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  const std::uint64_t offset = file_.size();
  for (const ZipMember& member : members_) file_.write(central_record(member).text());
  file_.write(end_records(members_.size(), offset, file_.size() - offset).text());
}

}  // namespace tenon
