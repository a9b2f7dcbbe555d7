#include "base/cache_folder.h"

#include <cstdlib>

namespace tenon {

std::filesystem::path cache_folder() {
  const auto variable = [](const char* name) -> std::filesystem::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  const std::filesystem::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (!cache.empty()) return cache / "tenon";
  return home.empty() ? home : home / ".cache/tenon";
}

}  // namespace tenon
