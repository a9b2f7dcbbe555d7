// Reading a TensorProto: the fields of the message, then its data as elements.
#include "converter/onnx/tensor_proto.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "converter/onnx/cut.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/onnx.pb.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {
namespace {

using google::protobuf::RepeatedField;

// Elements of less than 8 bits follow each other bit by bit, the first in the low bits of the first byte.
Tensor unpacked(Bytes data, DType dtype, const NarrowFormat& format, const Index& dims) {
  Tensor t = Tensor::empty(dtype, dims);
  const auto bits = static_cast<std::size_t>(format.bits);
  const auto byte = [&](std::size_t i) { return i < data.size() ? static_cast<unsigned>(data[i]) : 0u; };
  std::size_t at_bit = 0;
  for_each_index(dims, [&](std::span<const std::int64_t> at) {
    const std::size_t first = at_bit / 8;
    const unsigned both = byte(first) | byte(first + 1) << 8;
    t.set_double(at, format.value((both >> at_bit % 8) & ((1u << bits) - 1)));
    at_bit += bits;
  });
  return t;
}

std::uint64_t size_from(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    throw error("'{}' is no place in a file of external data", text);
  return value;
}

std::optional<ExternalData> external_data(const TensorProto& t) {
  if (t.external_data().empty()) return std::nullopt;
  ExternalData external;
  for (const StringStringEntryProto& entry : t.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() == "offset") external.offset = size_from(entry.value());
    if (entry.key() == "length") external.length = size_from(entry.value());
  }
  return external;
}

// Elements that are no larger than T: where they stand, or else their low bytes, which `made` holds.
template <class T>
Bytes elements(const RepeatedField<T>& list, std::size_t size, std::vector<std::byte>& made) {
  const Bytes all = std::as_bytes(std::span(list.data(), static_cast<std::size_t>(list.size())));
  if (size >= sizeof(T)) return all;
  made.resize(all.size() / sizeof(T) * size);
  for (std::size_t i = 0; i * size < made.size(); ++i)
    std::memcpy(made.data() + i * size, all.data() + i * sizeof(T), size);
  return made;
}

// Typed data as the elements' own bytes: floats of 16 bits and all small integers travel as int32.
Bytes typed_data(const TensorProto& t, DType dtype, std::vector<std::byte>& made) {
  const std::size_t size = size_of(dtype);
  switch (dtype) {
    case DType::f32:
    case DType::c64: return elements(t.float_data(), size, made);
    case DType::f64:
    case DType::c128: return elements(t.double_data(), size, made);
    case DType::i64: return elements(t.int64_data(), size, made);
    case DType::u32:
    case DType::u64: return elements(t.uint64_data(), size, made);
    default: return elements(t.int32_data(), size, made);
  }
}

// Typed data of a narrow type as its packed bytes. Those of 6 bits travel one by one.
Bytes packed_data(const TensorProto& t, std::size_t bits, std::vector<std::byte>& made) {
  constexpr std::size_t one_by_one = 6;
  const Bytes codes = elements(t.int32_data(), 1, made);
  if (bits != one_by_one) return codes;
  std::vector<std::byte> packed((codes.size() * bits + 7) / 8);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto code = (static_cast<unsigned>(codes[i]) & 0x3f) << i * bits % 8;
    packed[i * bits / 8] |= static_cast<std::byte>(code);
    if (code > 0xff) packed[i * bits / 8 + 1] |= static_cast<std::byte>(code >> 8);
  }
  made = std::move(packed);
  return made;
}

Tensor strings_of(const TensorProto& t, const Index& dims, bool has_raw_data) {
  if (has_raw_data || t.data_location() != 0)
    throw error("the tensor '{}' of strings keeps them as raw data", t.name());
  const std::vector<std::string> strings(t.string_data().begin(), t.string_data().end());
  if (static_cast<std::size_t>(numel(dims)) != strings.size())
    throw error("the tensor '{}' has shape [{}] and {} strings", t.name(), fmt::join(dims, ","),
                strings.size());
  return string_tensor(dims, strings);
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

NamedTensor parse_tensor_proto(Bytes bytes, std::shared_ptr<const void> owner,
                               const ExternalReader& external) {
  TensorProto t;
  std::optional<Bytes> raw;
  std::optional<ExternalData> elsewhere;
  try {
    raw = parse_around_raw_data(bytes, t);
    elsewhere = external_data(t);
  } catch (const Error& e) {
    if (e.code() == Exit::unsupported) throw;
    throw error("this is no TensorProto, or a damaged one");
  }
  if (t.data_type() == 0) throw error("this is no TensorProto, or a damaged one");
  const auto dtype = dtype_from_onnx(t.data_type());
  if (!dtype)
    throw unsupported("the tensor '{}' has ONNX's element type {}, which Tenon does not have", t.name(),
                      onnx_type_name(t.data_type()));
  const Index dims(t.dims().begin(), t.dims().end());
  if (is_string(*dtype)) return {t.name(), strings_of(t, dims, raw.has_value())};
  const NarrowFormat* narrow = narrow_format(t.data_type());
  std::vector<std::byte> made;
  Storage data;
  if (t.data_location() != 0) {
    if (!external || !elsewhere)
      throw unsupported("the tensor '{}' keeps its data in another file", t.name());
    data = external(*elsewhere);
  } else if (raw) {
    data = storage_of(*raw, std::move(owner));
  } else {
    data = storage_of(
        narrow ? packed_data(t, static_cast<std::size_t>(narrow->bits), made) : typed_data(t, *dtype, made),
        nullptr);
  }
  if (narrow) {
    const auto bits = static_cast<std::uint64_t>(narrow->bits);
    const auto count = static_cast<std::uint64_t>(numel(dims));  // of 8 elements `bits` bytes
    if (count / 8 * bits + (count % 8 * bits + 7) / 8 != data.bytes)
      throw error("the tensor '{}' has shape [{}] and {} bytes of {}", t.name(), fmt::join(dims, ","),
                  data.bytes, onnx_type_name(t.data_type()));
    return {t.name(), unpacked({data.data, data.bytes}, *dtype, *narrow, dims)};
  }
  const std::size_t count = data.bytes / size_of(*dtype);
  if (data.bytes % size_of(*dtype) != 0 || static_cast<std::size_t>(numel(dims)) != count)
    throw error("the tensor '{}' has shape [{}] and {} bytes of {}", t.name(), fmt::join(dims, ","),
                data.bytes, name(*dtype));
  return {t.name(), tensor_of(data, *dtype, dims)};
}

NamedTensor load_tensor_proto(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    return parse_tensor_proto(file->bytes());
  } catch (Error& e) { throw e.at(path.string()); }
}

}  // namespace tenon::converter::onnx
