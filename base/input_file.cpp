#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <new>

#include "base/environment.h"
#include "base/input_guard.h"

namespace tenon {

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) != 0) throw cannot_open(path_, errno);
  if (S_ISDIR(info.st_mode)) throw error("this is a folder, not a file").at(path_.string());
  if (!S_ISREG(info.st_mode))
    throw error("this is not a regular file").at(path_.string()).hint("copy it to disk first");
  remember_input(path_, info);
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw cannot_open(path_, errno);
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::~InputFile() {
  if (file_ >= 0) ::close(file_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto got =
        ::pread(file_, bytes.data(), std::min(bytes.size(), most_at_once), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(errno, "the file cannot be read").at(path_.string());
    if (got == 0) throw error("the file ends too early").at(path_.string()).hint("copy or download it again");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::byte> InputFile::read_all() const {
  try {
    std::vector<std::byte> bytes(size_);
    read(0, bytes);
    return bytes;
  } catch (const std::bad_alloc&) {
    throw environment_error("there is no memory for the {} bytes of the file", size_).at(path_.string());
  }
}

std::string read_text(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) throw error("this is a folder, not a file").at(path.string());
  std::ifstream in(path, std::ios::binary);
  if (!in) throw cannot_open(path, errno);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tenon
