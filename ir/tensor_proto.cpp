// Reading a TensorProto: the fields of the message, then its data as elements.
#include "ir/tensor_proto.h"

#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/protobuf.h"

namespace tenon {
namespace {

using Bytes = std::span<const std::byte>;

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
};
// In the order of TensorProto.DataType, from 0.
constexpr std::array<OnnxType, 29> onnx_types{{
    {"UNDEFINED", {}},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::i8},
    {"UINT16", DType::u16},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT64", DType::i64},
    {"STRING", {}},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", DType::c64},
    {"COMPLEX128", DType::c128},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", {}},
    {"FLOAT8E4M3FNUZ", {}},
    {"FLOAT8E5M2", {}},
    {"FLOAT8E5M2FNUZ", {}},
    {"UINT4", {}},
    {"INT4", {}},
    {"FLOAT4E2M1", {}},
    {"FLOAT8E8M0", {}},
    {"UINT2", {}},
    {"INT2", {}},
    {"FLOAT6E2M3", {}},
    {"FLOAT6E3M2", {}},
}};

struct Message {
  std::int64_t data_type = 0, data_location = 0;
  std::string name;
  Index dims;
  std::optional<Bytes> raw;
  std::vector<std::byte> floats;        // float_data and double_data: elements as they are
  std::vector<std::uint64_t> integers;  // int32_data, int64_data, uint64_data
  std::optional<ExternalData> external;
};

std::uint64_t size_from(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    throw error("'{}' is no place in a file of external data", text);
  return value;
}

// One entry of external_data: a key and its value.
void read_external(Bytes bytes, ExternalData& external) {
  ProtobufReader reader(bytes);
  std::string key, value;
  while (reader.next()) {
    if (reader.field() == 1) key = reader.text();
    if (reader.field() == 2) value = reader.text();
  }
  if (key == "location") external.location = value;
  if (key == "offset") external.offset = size_from(value);
  if (key == "length") external.length = size_from(value);
}

Message read_message(Bytes bytes) {
  Message message;
  ProtobufReader reader(bytes);
  const auto add_floats = [&](std::size_t size) {
    const Bytes block = reader.fixed(size);
    message.floats.insert(message.floats.end(), block.begin(), block.end());
  };
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        reader.varints([&](std::uint64_t v) { message.dims.push_back(static_cast<std::int64_t>(v)); });
        break;
      case 2: message.data_type = reader.integer(); break;
      case 4: add_floats(4); break;
      case 10: add_floats(8); break;
      case 5:
      case 7:
      case 11: reader.varints([&](std::uint64_t v) { message.integers.push_back(v); }); break;
      case 8: message.name = reader.text(); break;
      case 9: message.raw = reader.bytes(); break;
      case 13:
        if (!message.external) message.external.emplace();
        read_external(reader.bytes(), *message.external);
        break;
      case 14: message.data_location = reader.integer(); break;
      default: break;
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

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(size_of(dtype), 8) == 0;
}

// The elements where they are when they have an owner, else a copy.
Tensor tensor_of(const Storage& data, DType dtype, const Index& dims) {
  // Bytes other than 0 and 1 would be no values of C++'s bool.
  if (data.owner && data.bytes > 0 && !is_bool(dtype) && is_aligned(data.data, dtype))
    return Tensor::view_of(std::make_shared<const Storage>(data), dtype, dims, contiguous_strides(dims), 0);
  Tensor tensor = Tensor::empty(dtype, dims);
  if (data.bytes == 0) return tensor;
  std::memcpy(tensor.mutable_bytes(), data.data, data.bytes);
  if (is_bool(dtype))
    for (std::size_t i = 0; i < data.bytes; ++i)
      tensor.mutable_bytes()[i] = std::byte{data.data[i] != std::byte{0}};
  return tensor;
}

Storage storage_of(Bytes bytes, std::shared_ptr<const void> owner) {
  // Never written: the storage says so.
  auto* data = const_cast<std::byte*>(bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return {.owner = std::move(owner), .data = data, .bytes = bytes.size(), .writable = false};
}

}  // namespace

std::optional<DType> dtype_from_onnx(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(onnx_types.size())) return std::nullopt;
  return onnx_types[static_cast<std::size_t>(number)].dtype;
}

std::string onnx_type_name(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(onnx_types.size())) return std::to_string(number);
  return std::string(onnx_types[static_cast<std::size_t>(number)].name);
}

NamedTensor parse_tensor_proto(Bytes bytes, std::shared_ptr<const void> owner,
                               const ExternalReader& external) {
  Message message;
  try {
    message = read_message(bytes);
  } catch (const Error& e) { throw error("this is no TensorProto, or a damaged one"); }
  if (message.data_type == 0) throw error("this is no TensorProto, or a damaged one");
  const auto dtype = dtype_from_onnx(message.data_type);
  if (!dtype)
    throw unsupported("the tensor '{}' has ONNX's element type {}, which Tenon does not have", message.name,
                      onnx_type_name(message.data_type));
  std::vector<std::byte> typed;
  Storage data;
  if (message.data_location != 0) {
    if (!external || !message.external)
      throw unsupported("the tensor '{}' keeps its data in another file", message.name);
    data = external(*message.external);
  } else if (message.raw) {
    data = storage_of(*message.raw, std::move(owner));
  } else {
    typed = element_bytes(message, *dtype);
    data = storage_of(typed, nullptr);
  }
  const std::size_t elements = data.bytes / size_of(*dtype);
  if (data.bytes % size_of(*dtype) != 0 || static_cast<std::size_t>(numel(message.dims)) != elements)
    throw error("the tensor '{}' has shape [{}] and {} bytes of {}", message.name,
                fmt::join(message.dims, ","), data.bytes, name(*dtype));
  return {message.name, tensor_of(data, *dtype, message.dims)};
}

NamedTensor load_tensor_proto(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    return parse_tensor_proto(file->bytes());
  } catch (Error& e) { throw e.at(path.string()); }
}

}  // namespace tenon
