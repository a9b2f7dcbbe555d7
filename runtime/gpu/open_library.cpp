#include "runtime/gpu/open_library.h"

#include <fmt/ranges.h>
#include <link.h>

#include <filesystem>

#include "runtime/gpu/library_folders.h"

namespace tenon::gpu {
namespace {

namespace fs = std::filesystem;

// A library in a folder where the system does not look does not find its own parts there (libnvrtc.so.13
// opens libnvrtc-builtins.so.13.0 by its name alone): they are opened before it.
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
  const std::vector<fs::path> folders = library_folders();
  for (const std::string& name : names) {
    library.found = name;
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    for (const fs::path& folder : folders) {
      library.found = (folder / name).string();
      if (void* handle = open_in(folder, name)) return handle;
    }
  }
  library.found.clear();
  return nullptr;
}

std::string folder_of(const Library& library) {
  void* const handle = dlopen(library.found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!handle) return {};
  link_map* entry = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&entry)) == 0 && entry;
  std::string folder = known ? fs::path(entry->l_name).parent_path().string() : "";
  dlclose(handle);
  return folder;
}

}  // namespace tenon::gpu
