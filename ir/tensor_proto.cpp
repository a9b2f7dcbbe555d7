// Reading a TensorProto: the fields of the message, then its data as elements.
#include "ir/tensor_proto.h"

#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/protobuf.h"
#include "ir/narrow.h"
#include "ir/string_tensor.h"

namespace tenon {
namespace {

using Bytes = std::span<const std::byte>;

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
  NarrowFormat narrow = {};
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
    {"STRING", DType::string},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", DType::c64},
    {"COMPLEX128", DType::c128},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", DType::f16, {8, 4, 3, 7, true, NarrowFormat::nan_at_end}},
    {"FLOAT8E4M3FNUZ", DType::f16, {8, 4, 3, 8, true, NarrowFormat::nan_at_minus_zero}},
    {"FLOAT8E5M2", DType::f16, {8, 5, 2, 15, true, NarrowFormat::ieee}},
    {"FLOAT8E5M2FNUZ", DType::f16, {8, 5, 2, 16, true, NarrowFormat::nan_at_minus_zero}},
    {"UINT4", DType::u8, {4, 0, 0, 0, false}},
    {"INT4", DType::i8, {4, 0, 0, 0, true}},
    {"FLOAT4E2M1", DType::f16, {4, 2, 1, 1, true}},
    {"FLOAT8E8M0", DType::f32, {8, 8, 0, 127, false, NarrowFormat::nan_at_end}},
    {"UINT2", DType::u8, {2, 0, 0, 0, false}},
    {"INT2", DType::i8, {2, 0, 0, 0, true}},
    {"FLOAT6E2M3", DType::f16, {6, 2, 3, 1, true}},
    {"FLOAT6E3M2", DType::f16, {6, 3, 2, 3, true}},
}};

const OnnxType* onnx_type(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(onnx_types.size())) return nullptr;
  return &onnx_types[static_cast<std::size_t>(number)];
}

// Elements of less than 8 bits follow each other bit by bit, the first in the low bits of the first byte.
Tensor unpacked(std::span<const std::byte> data, const OnnxType& type, const Index& dims) {
  Tensor t = Tensor::empty(*type.dtype, dims);
  const auto bits = static_cast<std::size_t>(type.narrow.bits);
  const auto byte = [&](std::size_t i) { return i < data.size() ? static_cast<unsigned>(data[i]) : 0u; };
  std::size_t at_bit = 0;
  for_each_index(dims, [&](std::span<const std::int64_t> at) {
    const std::size_t first = at_bit / 8;
    const unsigned both = byte(first) | byte(first + 1) << 8;
    t.set_double(at, type.narrow.value((both >> at_bit % 8) & ((1u << bits) - 1)));
    at_bit += bits;
  });
  return t;
}

struct Message {
  std::int64_t data_type = 0, data_location = 0;
  std::string name;
  Index dims;
  std::optional<Bytes> raw;
  std::vector<std::byte> floats;        // float_data and double_data: elements as they are
  std::vector<std::uint64_t> integers;  // int32_data, int64_data, uint64_data
  std::vector<std::string> strings;     // string_data
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
      case 6: message.strings.push_back(reader.text()); break;
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

// Typed data of a narrow type as its packed bytes. Those of 6 bits travel one by one.
std::vector<std::byte> packed_bytes(const Message& message, std::size_t bits) {
  constexpr std::size_t one_by_one = 6;
  std::vector<std::byte> bytes;
  if (bits != one_by_one) {
    for (const std::uint64_t v : message.integers) bytes.push_back(static_cast<std::byte>(v));
    return bytes;
  }
  bytes.resize((message.integers.size() * bits + 7) / 8);
  for (std::size_t i = 0; i < message.integers.size(); ++i) {
    const auto code = static_cast<unsigned>(message.integers[i] & 0x3f) << i * bits % 8;
    bytes[i * bits / 8] |= static_cast<std::byte>(code);
    if (code > 0xff) bytes[i * bits / 8 + 1] |= static_cast<std::byte>(code >> 8);
  }
  return bytes;
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

Tensor strings_of(const Message& message) {
  if (message.raw || message.data_location != 0)
    throw error("the tensor '{}' of strings keeps them as raw data", message.name);
  if (static_cast<std::size_t>(numel(message.dims)) != message.strings.size())
    throw error("the tensor '{}' has shape [{}] and {} strings", message.name, fmt::join(message.dims, ","),
                message.strings.size());
  return string_tensor(message.dims, message.strings);
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
  const OnnxType* type = onnx_type(number);
  return type ? type->dtype : std::nullopt;
}

const NarrowFormat* narrow_format(std::int64_t number) {
  const OnnxType* type = onnx_type(number);
  return type && type->narrow.bits > 0 ? &type->narrow : nullptr;
}

bool is_narrow(std::int64_t number) { return narrow_format(number) != nullptr; }

std::string onnx_type_name(std::int64_t number) {
  const OnnxType* type = onnx_type(number);
  return type ? std::string(type->name) : std::to_string(number);
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
  if (is_string(*dtype)) return {message.name, strings_of(message)};
  std::vector<std::byte> typed;
  Storage data;
  if (message.data_location != 0) {
    if (!external || !message.external)
      throw unsupported("the tensor '{}' keeps its data in another file", message.name);
    data = external(*message.external);
  } else if (message.raw) {
    data = storage_of(*message.raw, std::move(owner));
  } else {
    const NarrowFormat* narrow = narrow_format(message.data_type);
    typed = narrow ? packed_bytes(message, static_cast<std::size_t>(narrow->bits))
                   : element_bytes(message, *dtype);
    data = storage_of(typed, nullptr);
  }
  if (is_narrow(message.data_type)) {
    const OnnxType& type = *onnx_type(message.data_type);
    const auto bits = static_cast<std::uint64_t>(type.narrow.bits);
    const auto count = static_cast<std::uint64_t>(numel(message.dims));  // of 8 elements `bits` bytes
    if (count / 8 * bits + (count % 8 * bits + 7) / 8 != data.bytes)
      throw error("the tensor '{}' has shape [{}] and {} bytes of {}", message.name,
                  fmt::join(message.dims, ","), data.bytes, type.name);
    return {message.name, unpacked({data.data, data.bytes}, type, message.dims)};
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
