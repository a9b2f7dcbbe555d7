// The wire format of Protocol Buffers: the fields of a message, one after the other, as parts of its bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

/// Reads one message. Every method throws Error when the bytes end too early or are no such field; nothing is
/// copied but text.
class ProtobufReader {
 public:
  using Bytes = std::span<const std::byte>;
  enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

  explicit ProtobufReader(Bytes message) : rest_(message) {}

  /// Moves on to the next field, past the one before it if nobody read it; false at the end.
  bool next();
  /// Its number.
  std::uint64_t field() const { return field_; }

  std::uint64_t varint();
  std::int64_t integer() { return static_cast<std::int64_t>(varint()); }
  float real();
  Bytes bytes();
  std::string text();

  /// Calls add(std::uint64_t) for each number of a repeated field, which stand alone or in a block.
  template <class F>
  void varints(F&& add) {
    if (wire_ == Wire::varint) return add(varint());
    ProtobufReader block(bytes());
    while (!block.rest_.empty()) add(block.raw_varint());
  }
  /// The elements of a repeated field of `size` bytes each, which stand alone or in a block.
  Bytes fixed(std::size_t size);

 private:
  std::uint64_t raw_varint();
  Bytes take(std::uint64_t count);
  void expect(Wire);

  Bytes rest_;
  std::uint64_t field_ = 0;
  Wire wire_ = Wire::varint;
  bool pending_ = false;
};

}  // namespace tenon
