// A file mapped read-only into memory.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/input_guard.h"

namespace tenon {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer opens too
  if (fd < 0) throw error("the file cannot be opened: {}", std::strerror(errno)).at(path.string());
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};

  struct stat info = {};
  if (::fstat(fd, &info) != 0)
    throw error("the file cannot be read: {}", std::strerror(errno)).at(path.string());
  if (S_ISDIR(info.st_mode)) throw error("this is a folder, not a file").at(path.string());
  if (!S_ISREG(info.st_mode)) {
    throw error("this is not a regular file").at(path.string()).hint("copy it to disk first");
  }
  remember_input(path, info);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}));

  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED)
    throw error("the file cannot be mapped: {}", std::strerror(errno)).at(path.string());
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, {static_cast<const std::byte*>(start), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tenon
