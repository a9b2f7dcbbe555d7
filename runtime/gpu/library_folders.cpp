#include "runtime/gpu/library_folders.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

namespace tenon::gpu {
namespace {

namespace fs = std::filesystem;

class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code none;
    const bool is_new = std::ranges::find(found_, folder) == found_.end();
    if (is_new && fs::is_directory(folder, none)) found_.push_back(folder);
  }

  void add_toolkit(const fs::path& root) {
    add(root / "lib64");
    add(root / "lib");
  }

  /// The vendor's packages of PyPI: <root>/lib/python3.11/site-packages/nvidia/cu13/lib. Debian's Python
  /// calls it dist-packages.
  void add_python(const fs::path& root) {
    for (const fs::path& python : sorted(root / "lib"))
      if (python.filename().string().starts_with("python3"))
        for (const char* packages : {"site-packages", "dist-packages"})
          for (const fs::path& package : sorted(python / packages / "nvidia")) add(package / "lib");
  }

  std::vector<fs::path> take() { return std::move(found_); }

 private:
  static std::vector<fs::path> sorted(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
    std::ranges::sort(entries);
    return entries;
  }

  std::vector<fs::path> found_;
};

fs::path named_by(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// <root>/bin/python3; empty: there is none.
fs::path python_on_path() {
  std::istringstream path(named_by("PATH").string());
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (!folder.empty() && access(python.c_str(), X_OK) == 0) return python;
  }
  return {};
}

fs::path root_of(const fs::path& program) { return program.parent_path().parent_path(); }

}  // namespace

std::vector<fs::path> library_folders() {
  Folders folders;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const fs::path root = named_by(variable); !root.empty()) folders.add_python(root);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"})
    if (const fs::path root = named_by(variable); !root.empty()) folders.add_toolkit(root);
  if (const fs::path python = python_on_path(); !python.empty()) {
    std::error_code none;
    folders.add_python(root_of(python));  // an environment's python3 is a link to another one
    const fs::path linked = fs::canonical(python, none);
    folders.add_python(root_of(linked));
    if (root_of(linked) == "/usr") folders.add_python("/usr/local");  // where Debian's pip installs
  }
  if (const fs::path home = named_by("HOME"); !home.empty()) folders.add_python(home / ".local");
  folders.add_toolkit("/usr/local/cuda");
  folders.add_toolkit("/opt/rocm");
  return folders.take();
}

}  // namespace tenon::gpu
