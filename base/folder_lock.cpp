#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace tenon {
namespace {

// Of the file that a link leads to.
std::filesystem::path folder_of(const std::filesystem::path& file) {
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(file, failed), failed);
  return failed ? file.parent_path() : real.parent_path();
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& file)
    : folder_(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (folder_ >= 0 && ::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {}
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace tenon
