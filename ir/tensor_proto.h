// ONNX's form of a tensor: a TensorProto, as in test_data_set_0/input_0.pb and inside models.
// Source: onnx.proto (message TensorProto).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ir/named_tensor.h"

namespace tenon {

/// Where a tensor's data is when its message does not hold it.
struct ExternalData {
  std::string location;  // relative to the model's folder
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};
/// The bytes of external data, with their owner. Throws Error.
using ExternalReader = std::function<Storage(const ExternalData&)>;

/// Reads raw, typed and, with a reader for it, external data of every dtype that Tenon has. Aligned raw data
/// with an owner is not copied. Throws Error when the bytes are damaged or do not fill the shape; unsupported
/// without a reader for data kept in another file.
NamedTensor parse_tensor_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = {},
                               const ExternalReader& external = {});

/// The same for a file, which the Error names.
NamedTensor load_tensor_proto(const std::filesystem::path& path);

/// The dtype with this number in TensorProto.DataType, or nullopt when Tenon has none. Types of less than 16
/// bits that Tenon does not compute in are held as the values they stand for: float8, float6 and float4 as
/// f16, float8e8m0 (powers of two) as f32, int4 and int2 as i8, uint4 and uint2 as u8.
std::optional<DType> dtype_from_onnx(std::int64_t number);
/// True for a type that is held in a wider one.
bool is_narrow(std::int64_t number);
/// "FLOAT8E4M3FN"; the number as text when ONNX has no such type.
std::string onnx_type_name(std::int64_t number);

}  // namespace tenon
