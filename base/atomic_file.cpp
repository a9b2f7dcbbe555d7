// Temporary file, fsync, rename.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/input_guard.h"

namespace tenon {

namespace {
Error cannot_write(const std::filesystem::path& target, int reason) {
  return system_error(reason, "the file cannot be written").at(target.string());
}

// A name of an open file: what it stands for (a redirected standard output) belongs to somebody else.
bool is_device_name(const std::filesystem::path& path) {
  const std::string text = path.lexically_normal().string();
  return text.starts_with("/dev/std") || text.starts_with("/dev/fd/") || text.starts_with("/proc/");
}

// The file behind a symbolic link is replaced, not the link.
std::filesystem::path resolved(const std::filesystem::path& path) {
  std::error_code failed;
  if (is_device_name(path) || !std::filesystem::is_symlink(path, failed)) return path;
  const auto target = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : target;
}
}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(resolved(target)) {
  struct stat info = {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) throw error("this is a folder, not a file").at(target_.string());
  if (exists && (!S_ISREG(info.st_mode) || is_device_name(target_))) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) throw cannot_write(target_, errno);
    return;
  }
  if (exists) refuse_to_replace_input(target_);
  if (is_device_name(target_)) throw cannot_write(target_, ENOENT);  // closed
  if (exists && ::access(target_.c_str(), W_OK) != 0) throw cannot_write(target_, errno);
  open_temporary();
  if (exists) static_cast<void>(::fchmod(file_, info.st_mode & 07777));
}

// The name is random: one that a killed process left behind must not be in the way of the next.
void AtomicFile::open_temporary() {
  constexpr int attempts = 100;
  std::random_device random;
  int reason = EEXIST;
  for (int attempt = 0; attempt < attempts && reason == EEXIST; ++attempt) {
    const std::string name =
        fmt::format(".{:.200}.{:08x}{:08x}.tmp", target_.filename().string(), random(), random());
    temporary_.emplace((target_.parent_path() / name).string());
    file_ = ::open(temporary_->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) return;
    reason = errno;
    temporary_->release();
    temporary_.reset();
  }
  throw cannot_write(target_, reason);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  TENON_CHECK(file_ >= 0);
  constexpr std::size_t most_at_once = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), most_at_once));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot_write(target_, errno);
    size_ += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::close() {
  const int result = ::close(std::exchange(file_, -1));
  if (result != 0 && errno != EINTR) throw cannot_write(target_, errno);
}

void AtomicFile::commit() {
  TENON_CHECK(file_ >= 0);
  check_inputs_unchanged();
  const bool flushed = ::fsync(file_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  if (!flushed) throw cannot_write(target_, errno);
  close();
  if (!temporary_) return;
  if (::rename(temporary_->c_str(), target_.c_str()) != 0) throw cannot_write(target_, errno);
  temporary_->release();
  temporary_.reset();
  // The rename itself becomes durable with the folder; where a folder cannot be synced, it stands anyway.
  const auto folder_path = target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
  const int folder = ::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace tenon
