#include "base/environment.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace tenon {
namespace {

constexpr std::string_view free_disk = "free some space, or write to another disk",
                           free_memory =
                               "give smaller inputs, close other programs, or use a machine with more memory",
                           raise_files = "raise the limit of open files: ulimit -n 4096",
                           check_disk = "the disk or its connection is broken: look into dmesg",
                           get_rights = "get the right to it (ls -ld says who has it), or use another place";

// What the machine, its disks or its rights deny, and what to do about it.
struct Lack {
  int reason;
  std::string_view hint;
};
constexpr std::array lacks = {
    Lack{EACCES, get_rights},
    Lack{EPERM, get_rights},
    Lack{EROFS, "the disk is mounted read-only: use another place"},
    Lack{ENOSPC, free_disk},
    Lack{EDQUOT, free_disk},
    Lack{EFBIG, "raise the limit of a file's size: ulimit -f unlimited"},
    Lack{ENOMEM, free_memory},
    Lack{EAGAIN, "raise the limit of processes and threads: ulimit -u 4096"},
    Lack{EMFILE, raise_files},
    Lack{ENFILE, raise_files},
    Lack{EIO, check_disk},
    Lack{ENXIO, check_disk},
    Lack{ESTALE, check_disk},
    Lack{ETIMEDOUT, check_disk},
    Lack{ENOSYS, "use a newer kernel"},
};
// Other names help here.
constexpr std::array mistakes = {
    Lack{ENAMETOOLONG, "give it a shorter name"},
    Lack{ELOOP, "its links lead in a circle: ls -l shows them"},
};

}  // namespace

Error system_error(int reason, std::string_view what) {
  const std::string message = fmt::format("{}: {}", what, std::strerror(reason));
  for (const Lack& lack : lacks)
    if (lack.reason == reason) return Error(message, environment_failed).hint(std::string(lack.hint));
  for (const Lack& mistake : mistakes)
    if (mistake.reason == reason) return Error(message).hint(std::string(mistake.hint));
  return Error(message);
}

Error cannot_open(const std::filesystem::path& path, int reason) {
  if (reason == ENOENT) return error("there is no such file").at(path.string());
  return system_error(reason, "the file cannot be opened").at(path.string());
}

}  // namespace tenon
