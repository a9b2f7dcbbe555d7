// Reading a TensorProto: the fields of the message, then its data as elements.
#include "ir/tensor_proto.h"

#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tenon {
namespace {

using Bytes = std::span<const std::byte>;

// The fields of a protobuf message, one after the other.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint64_t>(take(1)[0]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }

  Bytes take(std::uint64_t count) {
    if (count > rest_.size()) throw damaged();
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  Bytes block() { return take(varint()); }

  static Error damaged() { return error("this is no TensorProto, or a damaged one"); }

 private:
  Bytes rest_;
};

enum Wire : std::uint64_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

std::optional<DType> dtype_of(std::uint64_t onnx) {
  switch (onnx) {
    case 1: return DType::f32;
    case 2: return DType::u8;
    case 3: return DType::i8;
    case 4: return DType::u16;
    case 5: return DType::i16;
    case 6: return DType::i32;
    case 7: return DType::i64;
    case 9: return DType::boolean;
    case 10: return DType::f16;
    case 11: return DType::f64;
    case 12: return DType::u32;
    case 13: return DType::u64;
    case 14: return DType::c64;
    case 15: return DType::c128;
    case 16: return DType::bf16;
    default: return std::nullopt;
  }
}

struct Message {
  std::uint64_t data_type = 0, data_location = 0;
  std::string name;
  Index dims;
  std::optional<Bytes> raw;
  std::vector<std::byte> floats;        // float_data and double_data: elements as they are
  std::vector<std::uint64_t> integers;  // int32_data, int64_data, uint64_data
  bool strings = false;
};

// A repeated number stands alone or in a packed block.
void read_varints(WireReader& reader, std::uint64_t wire, auto&& add) {
  if (wire == Wire::varint) return add(reader.varint());
  if (wire != Wire::length) throw WireReader::damaged();
  WireReader block(reader.block());
  while (!block.done()) add(block.varint());
}

void skip(WireReader& reader, std::uint64_t wire) {
  switch (wire) {
    case Wire::varint: reader.varint(); break;
    case Wire::fixed64: reader.take(8); break;
    case Wire::length: reader.block(); break;
    case Wire::fixed32: reader.take(4); break;
    default: throw WireReader::damaged();
  }
}

Message read_message(Bytes bytes) {
  Message message;
  WireReader reader(bytes);
  const auto text = [&] {
    const Bytes block = reader.block();
    return std::string(reinterpret_cast<const char*>(block.data()), block.size());
  };
  while (!reader.done()) {
    const std::uint64_t tag = reader.varint(), wire = tag & 7;
    const auto expect = [&](std::uint64_t kind) {
      if (wire != kind) throw WireReader::damaged();
    };
    const auto add_floats = [&](std::uint64_t size) {
      const Bytes block = wire == Wire::length ? reader.block() : reader.take(size);
      message.floats.insert(message.floats.end(), block.begin(), block.end());
    };
    const auto add_integer = [&](std::uint64_t v) { message.integers.push_back(v); };
    switch (tag >> 3) {
      case 1:
        read_varints(reader, wire,
                     [&](std::uint64_t v) { message.dims.push_back(static_cast<std::int64_t>(v)); });
        break;
      case 2: expect(Wire::varint), message.data_type = reader.varint(); break;
      case 4: add_floats(4); break;
      case 10: add_floats(8); break;
      case 5:
      case 7:
      case 11: read_varints(reader, wire, add_integer); break;
      case 6: message.strings = true, skip(reader, wire); break;
      case 8: expect(Wire::length), message.name = text(); break;
      case 9: expect(Wire::length), message.raw = reader.block(); break;
      case 14: expect(Wire::varint), message.data_location = reader.varint(); break;
      default: skip(reader, wire);
    }
  }
  return message;
}

// Typed data as the elements' own bytes: floats of 16 bits and all small integers travel as varints.
std::vector<std::byte> element_bytes(const Message& message, DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f64 || is_complex(dtype)) return message.floats;
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> bytes(message.integers.size() * size);
  for (std::size_t i = 0; i < message.integers.size(); ++i)
    std::memcpy(bytes.data() + i * size, &message.integers[i], size);
  return bytes;
}

}  // namespace

NamedTensor parse_tensor_proto(Bytes bytes) {
  const Message message = read_message(bytes);
  const auto dtype = dtype_of(message.data_type);
  if (message.data_type == 0) throw WireReader::damaged();
  if (!dtype || message.strings)
    throw unsupported("the tensor '{}' has ONNX's element type {}, which Tenon does not have", message.name,
                      message.data_type);
  if (message.data_location != 0)
    throw unsupported("the tensor '{}' keeps its data in another file", message.name);
  const std::vector<std::byte> typed =
      message.raw ? std::vector<std::byte>() : element_bytes(message, *dtype);
  const Bytes data = message.raw ? *message.raw : Bytes(typed);
  const std::size_t elements = data.size() / size_of(*dtype);
  if (data.size() % size_of(*dtype) != 0 || static_cast<std::size_t>(numel(message.dims)) != elements)
    throw error("the tensor '{}' has shape [{}] and {} bytes of {}", message.name,
                fmt::join(message.dims, ","), data.size(), name(*dtype));
  NamedTensor result{message.name, Tensor::empty(*dtype, message.dims)};
  if (data.empty()) return result;
  std::memcpy(result.tensor.mutable_bytes(), data.data(), data.size());
  // Bytes other than 0 and 1 would be no values of C++'s bool.
  if (is_bool(*dtype))
    for (std::size_t i = 0; i < data.size(); ++i)
      result.tensor.mutable_bytes()[i] = std::byte{data[i] != std::byte{0}};
  return result;
}

NamedTensor load_tensor_proto(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    return parse_tensor_proto(file->bytes());
  } catch (Error& e) { throw e.at(path.string()); }
}

}  // namespace tenon
