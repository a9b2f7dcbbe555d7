// The text header of a .npy file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/dtype.h"
#include "ir/npy_strings.h"

namespace tenon {

struct NpyHeader {
  DType dtype = DType::f32;
  bool fortran_order = false;
  Index shape;
  NpyString string;  // of dtype string; its width is not 0

  std::size_t element_bytes() const { return is_string(dtype) ? string.bytes() : size_of(dtype); }
};

/// The magic string, the version, and the length of the text, whose field has two bytes in version 1.
constexpr std::size_t shortest_npy_prefix = 10, longest_npy_prefix = 12;

/// Where the text of the header lies in the file.
struct NpyTextPlace {
  std::size_t offset, size;
};

/// Reads the first bytes of a file (at least shortest_npy_prefix). Throws Error when they are not .npy's.
NpyTextPlace npy_text_place(std::span<const std::byte> begin);
/// Reads the Python dict {'descr': ..., 'fortran_order': ..., 'shape': ...}. Throws Error.
NpyHeader parse_npy_header(std::string_view text);
/// Prefix and text for an array in C order, padded to a multiple of 64 as NumPy does.
std::string npy_header(DType dtype, const Index& shape, const NpyString& string = {});

}  // namespace tenon
