// Writing the wire format of Protocol Buffers: a message is a list of pieces, of which the large ones are
// made when the file is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <string_view>

#include "base/atomic_file.h"

namespace tenon {

class ProtobufWriter {
 public:
  /// Writes exactly the promised number of bytes.
  using Fill = std::function<void(AtomicFile&)>;

  void integer(std::uint64_t field, std::int64_t value);
  void real(std::uint64_t field, float value);
  void text(std::uint64_t field, std::string_view value);
  /// A block of `size` bytes that nobody holds yet.
  void later(std::uint64_t field, std::size_t size, Fill fill);
  void message(std::uint64_t field, ProtobufWriter&& inner);

  /// Bytes of the message.
  std::size_t size() const { return size_; }
  void write(AtomicFile& file) const;

 private:
  struct Piece {
    std::string bytes;
    Fill fill;  // what follows them
  };

  std::string& bytes();
  void varint(std::uint64_t value);
  void tag(std::uint64_t field, std::uint64_t wire);

  std::list<Piece> pieces_;
  std::size_t size_ = 0;
};

}  // namespace tenon
