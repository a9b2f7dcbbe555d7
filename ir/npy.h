// NumPy's array files: .npy holds one array, .npz is a zip of them.
// Source: numpy.lib.format, versions 1.0, 2.0 and 3.0.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace tenon {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The array of a .npy file. An array in Fortran order comes as a permuted view. bfloat16 is what ml_dtypes
/// writes for it ('<V2'), and so is float8 ('<V1'), which does not say which one: it is read as f8e4m3fn.
/// Throws Error, naming the file, when it cannot be read, is damaged, big-endian, or of another dtype;
/// strings ('<U5', '|S5') are read as such; nothing is allocated that the file does not hold.
Tensor load_npy(const std::filesystem::path& path);

/// Writes an array in C order; for dtypes that NumPy has, the file is the one np.save writes. The file
/// appears whole or not at all. Throws Error when it cannot be written.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

/// The arrays of a .npz file (stored or deflated) in its order, without the ".npy" of their names.
NamedTensors load_npz(const std::filesystem::path& path);

/// Writes a .npz file of stored arrays. Throws Error when it cannot be written, or two names are equal.
void save_npz(const std::filesystem::path& path, std::span<const std::pair<std::string, Tensor>> arrays);

}  // namespace tenon
