#include "base/image/library.h"

#include <dlfcn.h>

#include "base/environment.h"

namespace tenon::image {

Library::Library(const char* file, std::string_view format, std::string_view package)
    : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)), file_(file) {
  if (!handle_)
    throw environment_error("{} images need {}, which is not installed", format, file)
        .hint(fmt::format("on Debian: apt-get install {}", package));
}

Library::Symbol Library::operator[](const char* name) const {
  void* const found = ::dlsym(handle_, name);
  if (!found)
    throw environment_error("{} has no function {}: it is another version than Tenon knows", file_, name);
  return {found};
}

}  // namespace tenon::image
