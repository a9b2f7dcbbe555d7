// Where the libraries of a GPU's vendor may lie, but for where the system looks.
#pragma once
#include <filesystem>
#include <vector>

namespace tenon::gpu {

/// Folders that are there, the most particular first: of an active Python environment, of the toolkits that
/// variables name (CUDA_HOME, CUDA_PATH, ROCM_PATH), of the packages of the python3 on PATH and of the user,
/// of toolkits in their usual places.
std::vector<std::filesystem::path> library_folders();

}  // namespace tenon::gpu
