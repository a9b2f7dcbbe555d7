// Tensors of strings: made of texts, read as texts, and as bytes of files that know numbers only.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "ir/graph.h"
#include "ir/safetensors.h"

namespace tenon {

/// Row-major elements. Throws Error when one is no UTF-8.
Tensor string_tensor(Index shape, std::span<const std::string> texts);
/// The elements in row-major order.
std::vector<std::string_view> texts_of(const Tensor& strings);

/// True when a value of the region, or of one inside, holds strings.
bool has_strings(const Region&);

/// Replaces tensors of strings by their bytes (u8: of each element a length of 8 bytes, then its text), and
/// notes their shapes in the metadata.
void pack_strings(std::vector<NamedTensor>& tensors, TextMap& metadata);
/// The inverse. Throws Error when bytes and metadata do not fit each other.
void unpack_strings(Safetensors& file);

}  // namespace tenon
