// Operators that shared libraries bring (include/tenon/operator.h): loaded once, known to the whole process.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "include/tenon/operator.h"
#include "ir/operator_signature.h"

namespace tenon {

struct LibraryOperator {
  std::string name;  // "mylib::scaled_add"
  OperatorSignature signature;
  tenon_compute compute = nullptr;
  std::filesystem::path library;
};

/// How a GPU computes an operator of a library (tenon_kernel).
struct LibraryKernel {
  std::string name, source, function;
  std::size_t result = 0;
  std::filesystem::path library;
};

/// Loads a library; once more does nothing. Throws Error: no such file, not a shared library, another version
/// of the interface, a signature that is wrong, an operator that another library brings.
void load_operator_library(const std::filesystem::path& path);

/// The same of one that is part of this program; `kernels` may be null.
void add_operator_library(const tenon_operator_library& operators, const tenon_kernel_library* kernels,
                          const std::filesystem::path& name);

/// Null when no library has brought it.
const LibraryOperator* find_library_operator(std::string_view name);
/// The same of its kernel for GPUs.
const LibraryKernel* find_library_kernel(std::string_view name);
const std::vector<LibraryOperator>& library_operators();
/// The libraries, in the order in which they were loaded.
std::vector<std::filesystem::path> operator_libraries();

}  // namespace tenon
