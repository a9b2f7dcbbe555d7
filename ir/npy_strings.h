// NumPy's strings of a fixed width, '<U5' (code points of four bytes) and '|S5' (bytes), as strings.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace tenon {

/// How elements of a file that are strings are written.
struct NpyString {
  std::size_t width = 0;     // characters; shorter strings are filled up with zeros
  bool code_points = false;  // of four bytes each; else bytes of UTF-8

  std::size_t bytes() const { return code_points ? 4 * width : width; }
};

/// The narrowest form that holds every element as code points. Throws Error when an element ends with a zero,
/// which the form cannot say.
NpyString npy_string_for(const Tensor& strings);
std::vector<std::byte> encode(const Tensor& strings, const NpyString& form);
/// Sets the elements of a dense tensor. Throws Error for what is no text.
void decode(std::span<const std::byte> bytes, const NpyString& form, Tensor& strings);

}  // namespace tenon
