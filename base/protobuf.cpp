#include "base/protobuf.h"

#include <cstring>

#include "base/error.h"

namespace tenon {

namespace {
Error damaged() { return error("the bytes are no Protocol Buffers message, or a damaged one"); }
}  // namespace

bool ProtobufReader::next() {
  if (pending_) {
    switch (wire_) {
      case Wire::varint: varint(); break;
      case Wire::fixed64: fixed(8); break;
      case Wire::length: bytes(); break;
      case Wire::fixed32: fixed(4); break;
    }
  }
  if (rest_.empty()) return false;
  const std::uint64_t tag = raw_varint();
  field_ = tag >> 3;
  const auto wire = static_cast<Wire>(tag & 7);
  if (field_ == 0 ||
      (wire != Wire::varint && wire != Wire::fixed64 && wire != Wire::length && wire != Wire::fixed32))
    throw damaged();
  wire_ = wire;
  pending_ = true;
  return true;
}

std::uint64_t ProtobufReader::varint() {
  expect(Wire::varint);
  return raw_varint();
}

float ProtobufReader::real() {
  expect(Wire::fixed32);
  float value = 0;
  std::memcpy(&value, take(4).data(), sizeof value);
  return value;
}

ProtobufReader::Bytes ProtobufReader::bytes() {
  expect(Wire::length);
  return take(raw_varint());
}

std::string ProtobufReader::text() {
  const Bytes block = bytes();
  return {reinterpret_cast<const char*>(block.data()), block.size()};
}

ProtobufReader::Bytes ProtobufReader::fixed(std::size_t size) {
  if (wire_ == Wire::length) {
    const Bytes block = bytes();
    if (block.size() % size != 0) throw damaged();
    return block;
  }
  expect(size == 8 ? Wire::fixed64 : Wire::fixed32);
  return take(size);
}

std::uint64_t ProtobufReader::raw_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint64_t>(take(1)[0]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw damaged();
}

ProtobufReader::Bytes ProtobufReader::take(std::uint64_t count) {
  if (count > rest_.size()) throw damaged();
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

void ProtobufReader::expect(Wire wire) {
  if (wire_ != wire) throw damaged();
  pending_ = false;
}

}  // namespace tenon
