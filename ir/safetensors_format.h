// What the writer and the reader of safetensors share.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"

namespace tenon::safetensors {

inline constexpr std::size_t length_bytes = 8;
inline constexpr std::size_t alignment = 64;
/// The limit of the reference implementation.
inline constexpr std::size_t max_header_bytes = 100'000'000;

inline constexpr std::string_view checksums_key = "checksums";
inline constexpr std::string_view header_checksum_key = "header_checksum";
/// Stands in the header while its checksum is computed.
inline constexpr std::string_view blank_checksum = "00000000";

/// The format's name of a dtype ("F32"), nullopt when it has none.
std::optional<std::string_view> dtype_name(DType dtype);
std::optional<DType> dtype_of(std::string_view name);

std::string checksum(std::span<const std::byte> bytes);

/// The text of a header, padded, with its own checksum among its metadata.
std::string header_with_checksum(nlohmann::json header);

}  // namespace tenon::safetensors
