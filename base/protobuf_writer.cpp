#include "base/protobuf_writer.h"

#include "base/protobuf.h"

namespace tenon {

namespace {
using Wire = ProtobufReader::Wire;
}

void ProtobufWriter::integer(std::uint64_t field, std::int64_t value) {
  tag(field, static_cast<std::uint64_t>(Wire::varint));
  varint(static_cast<std::uint64_t>(value));
}

void ProtobufWriter::real(std::uint64_t field, float value) {
  tag(field, static_cast<std::uint64_t>(Wire::fixed32));
  bytes().append(reinterpret_cast<const char*>(&value), sizeof value);
  size_ += sizeof value;
}

void ProtobufWriter::text(std::uint64_t field, std::string_view value) {
  tag(field, static_cast<std::uint64_t>(Wire::length));
  varint(value.size());
  bytes() += value;
  size_ += value.size();
}

void ProtobufWriter::later(std::uint64_t field, std::size_t size, Fill fill) {
  tag(field, static_cast<std::uint64_t>(Wire::length));
  varint(size);
  pieces_.back().fill = std::move(fill);
  size_ += size;
}

void ProtobufWriter::message(std::uint64_t field, ProtobufWriter&& inner) {
  tag(field, static_cast<std::uint64_t>(Wire::length));
  varint(inner.size_);
  pieces_.splice(pieces_.end(), inner.pieces_);
  size_ += inner.size_;
}

void ProtobufWriter::write(AtomicFile& file) const {
  for (const Piece& piece : pieces_) {
    file.write(piece.bytes);
    if (!piece.fill) continue;
    piece.fill(file);
  }
}

std::string& ProtobufWriter::bytes() {
  if (pieces_.empty() || pieces_.back().fill) pieces_.emplace_back();
  return pieces_.back().bytes;
}

void ProtobufWriter::varint(std::uint64_t value) {
  std::string& out = bytes();
  const std::size_t before = out.size();
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
  size_ += out.size() - before;
}

void ProtobufWriter::tag(std::uint64_t field, std::uint64_t wire) { varint(field << 3 | wire); }

}  // namespace tenon
