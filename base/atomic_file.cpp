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
#include "base/shell.h"

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

void check_folder(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  struct stat info = {};
  if (::stat(folder.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
    throw error("{} is a file, not a folder", folder.string())
        .at(target.string())
        .hint("give the output another name");
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  if (errno == ENOENT)
    throw error("there is no folder {}", folder.string())
        .at(target.string())
        .hint("mkdir -p " + in_shell(folder.string()));
  throw cannot_write(target, errno);
}

// What is there under the name, if anything, once it may be written.
std::optional<struct stat> checked(const std::filesystem::path& target) {
  struct stat info = {};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    throw error("this is a folder, not a file").at(target.string()).hint("name a file in it");
  const int reason = exists ? 0 : errno;
  if (!exists && is_device_name(target)) throw cannot_write(target, ENOENT);  // closed
  if (exists && ::access(target.c_str(), W_OK) != 0) throw cannot_write(target, errno);
  if (is_written_directly(target)) return info;
  refuse_to_replace_input(target);
  check_folder(target);
  if (!exists && reason != ENOENT) throw cannot_write(target, reason);
  return exists ? std::optional(info) : std::nullopt;
}
}  // namespace

std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // as the kernel follows
  std::filesystem::path file = path;
  std::error_code failed;
  for (int i = 0; i < most_links && !is_device_name(file) && std::filesystem::is_symlink(file, failed); ++i)
    file = file.parent_path() / std::filesystem::read_symlink(file, failed);
  return file;
}

bool is_written_directly(const std::filesystem::path& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) &&
         (!S_ISREG(info.st_mode) || is_device_name(path));
}

void check_writable(const std::filesystem::path& target) { checked(behind_links(target)); }

AtomicFile::AtomicFile(std::filesystem::path target) : target_(behind_links(target)) {
  const std::optional<struct stat> there = checked(target_);
  if (is_written_directly(target_)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) throw cannot_write(target_, errno);
    return;
  }
  open_temporary();
  if (there) static_cast<void>(::fchmod(file_, there->st_mode & 07777));
}

// The name is random: one that a killed process left behind must not be in the way of the next.
void AtomicFile::open_temporary() {
  constexpr int attempts = 100;
  constexpr std::size_t most_bytes = 200;  // of 255, beside what makes it random
  const std::string stem = target_.filename().string().substr(0, most_bytes);
  std::random_device random;
  int reason = EEXIST;
  for (int attempt = 0; attempt < attempts && reason == EEXIST; ++attempt) {
    const std::string name = fmt::format(".{}.{:08x}{:08x}.tmp", stem, random(), random());
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
  output_is_written(target_);
  // The rename itself becomes durable with the folder; where a folder cannot be synced, it stands anyway.
  const auto folder_path = target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
  const int folder = ::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace tenon
