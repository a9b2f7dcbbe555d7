// A lock, and the old length where writing fails.
#include "base/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/atomic_file.h"
#include "base/environment.h"

namespace tenon {
namespace {

/// Closed, and with it unlocked, in the end.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// A file that may not be read is taken as it is.
bool ends_a_line(const std::filesystem::path& file, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return true;
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  char last = '\n';
  return in.number < 0 || ::pread(in.number, &last, 1, status.st_size - 1) != 1 || last == '\n';
}

}  // namespace

void append_to_file(const std::filesystem::path& file, std::string_view text) {
  const auto failed = [&] { return system_error(errno, "the file cannot be written").at(file.string()); };
  check_writable(file);
  const Descriptor out{::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)};
  if (out.number < 0) throw failed();
  while (::flock(out.number, LOCK_EX) != 0)
    if (errno != EINTR) throw failed();
  struct stat before = {};
  if (::fstat(out.number, &before) != 0) throw failed();
  if (!ends_a_line(file, before))
    throw error("the last line of the file has no end")
        .at(file.string())
        .hint("it is cut: remove that line, or name another file");
  while (!text.empty()) {
    const ssize_t written = ::write(out.number, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error error = failed();
      static_cast<void>(::ftruncate(out.number, before.st_size) == 0);
      throw error;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(out.number) != 0 && errno != EINVAL && errno != ENOTSUP) throw failed();
}

}  // namespace tenon
