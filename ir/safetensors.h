// The safetensors container: named tensors behind a JSON header. Written so that every reader of the format
// opens it; read as something that may be damaged or hostile.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ir/named_tensor.h"

namespace tenon {

using TextMap = std::map<std::string, std::string>;

/// Layout: u64 length of the header, the header, the data from a multiple of 64 on. Tensors whose size is a
/// multiple of 64 bytes come first, so that they are 64-byte aligned; the others are aligned to their
/// elements. The metadata gains "checksums" (CRC-32 of each tensor) and "header_checksum".
/// The file appears whole or not at all. Throws Error for a dtype the format does not know (c128). Returns
/// the file's size.
std::size_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                              TextMap metadata);

struct Safetensors {
  std::map<std::string, Tensor> tensors;  // views of the mapped file
  TextMap metadata;
  std::filesystem::path path;
};

/// Checks the header against its checksum (where there is one) and every length, offset, dtype and shape
/// against the file. Throws Error naming the file and what is damaged.
Safetensors read_safetensors(const std::filesystem::path& path);

/// Compares the data of every tensor with the checksums. Throws Error naming the first damaged tensor.
void verify_checksums(const Safetensors& file);

}  // namespace tenon
