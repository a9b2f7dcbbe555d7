// What the float32 numbers of a source become, where the caller asks for it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace tenon {

enum class Precision : std::uint8_t {
  kept,
  bf16,   // products and convolutions read and give bfloat16
  f16,    // float16
  bf16w,  // weights of linears, matmuls and convolutions alone
  f16w,
  int8w,  // weights of linears and matmuls: 8 bits, a scale for each column of the product
  int4w,  // 4 bits, a scale for each 32 consecutive rows of a column
};

/// As users name them: "bf16", "int8w"; nullopt for others.
std::optional<Precision> precision_from_name(std::string_view name);
/// "" for kept.
std::string_view name(Precision);
/// All but kept.
std::vector<std::string_view> precision_names();

/// The 16-bit type of what is narrowed; nullopt for integers and kept.
std::optional<DType> half_of(Precision);
/// Only weights become narrower: what is computed stays float32.
bool is_of_weights(Precision);

}  // namespace tenon
