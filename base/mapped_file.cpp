// A file mapped read-only into memory.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/environment.h"
#include "base/input_guard.h"

namespace tenon {

namespace {

constexpr int for_reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a pipe without a writer opens too

struct Descriptor {
  int fd;
  explicit Descriptor(int file) : fd(file) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

// Where the kernel has no openat2 (before 5.6): name by name, and no link is followed.
int open_without_links(int folder, const std::filesystem::path& path) {
  int at = ::dup(folder);
  for (auto name = path.begin(); name != path.end() && at >= 0; ++name) {
    const bool is_last = std::next(name) == path.end();
    const Descriptor above(at);
    if (name->is_absolute() || *name == "..") return errno = EXDEV, -1;
    at = ::openat(at, name->c_str(),
                  is_last ? for_reading | O_NOFOLLOW : O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
  }
  return at;
}

int open_inside(int folder, const std::filesystem::path& path) {
  const open_how how{.flags = for_reading, .mode = 0, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto file = static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
    if (file >= 0) return file;
    if (errno == ENOSYS || errno == EPERM) return open_without_links(folder, path);
    if (errno != EAGAIN && errno != EINTR) return -1;  // EAGAIN: a folder was renamed meanwhile
  }
  return -1;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), for_reading));
  if (file.fd < 0) throw cannot_open(path, errno);
  return map(file.fd, path);
}

std::shared_ptr<const MappedFile> MappedFile::open_beneath(const std::filesystem::path& folder,
                                                           const std::filesystem::path& path) {
  const Descriptor above(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (above.fd < 0) throw system_error(errno, "the folder cannot be opened").at(folder.string());
  const Descriptor file(open_inside(above.fd, path));
  if (file.fd < 0 && (errno == EXDEV || errno == ELOOP))
    throw error("the path leads out of the folder {}", folder.string()).at(path.string());
  if (file.fd < 0) throw cannot_open(folder / path, errno);
  return map(file.fd, folder / path);
}

std::shared_ptr<const MappedFile> MappedFile::map(int fd, const std::filesystem::path& path) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) throw system_error(errno, "the file cannot be read").at(path.string());
  if (S_ISDIR(info.st_mode)) throw error("this is a folder, not a file").at(path.string());
  if (!S_ISREG(info.st_mode)) {
    throw error("this is not a regular file").at(path.string()).hint("copy it to disk first");
  }
  remember_input(path, info);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}));

  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) throw system_error(errno, "the file cannot be mapped").at(path.string());
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, {static_cast<const std::byte*>(start), size}));
}

void give_back_pages(std::span<const std::byte> bytes) {
  if (!MappedRange::holds(bytes)) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes.size()) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tenon
