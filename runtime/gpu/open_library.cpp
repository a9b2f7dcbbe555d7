#include "runtime/gpu/open_library.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

namespace tenon::gpu {
namespace {

namespace fs = std::filesystem;

// Where PyPI's packages of the vendor's libraries lie:
// <environment>/lib/python3.11/site-packages/nvidia/cu13/lib.
std::vector<fs::path> python_folders() {
  std::vector<fs::path> folders;
  std::error_code none;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* root = std::getenv(variable);
    if (!root || !*root) continue;
    for (const auto& python : fs::directory_iterator(fs::path(root) / "lib", none))
      for (const auto& package : fs::directory_iterator(python.path() / "site-packages/nvidia", none))
        folders.push_back(package.path() / "lib");
  }
  return folders;
}

// A library of such a folder does not find its own parts there (libnvrtc.so.13 opens
// libnvrtc-builtins.so.13.0 by its name alone): they are opened before it.
void* open_in(const fs::path& folder, const std::string& name) {
  std::error_code none;
  const std::string part = name.substr(0, name.find(".so")) + "-builtins.so";
  if (fs::exists(folder / name, none))
    for (const auto& file : fs::directory_iterator(folder, none))
      if (file.path().filename().string().starts_with(part))
        dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  return dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

void* open_first(const std::vector<std::string>& names, Library& library) {
  library.wanted = fmt::format("{}", fmt::join(names, ", "));
  for (const std::string& name : names) {
    library.found = name;
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    for (const fs::path& folder : python_folders()) {
      library.found = (folder / name).string();
      if (void* handle = open_in(folder, name)) return handle;
    }
  }
  library.found.clear();
  return nullptr;
}

}  // namespace tenon::gpu
