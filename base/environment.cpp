#include "base/environment.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/nearest.h"
#include "base/shell.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

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

// Where a file is missing: what else is there.
std::string what_is_there(const fs::path& path) {
  const fs::path parent = path.parent_path(), folder = parent.empty() ? "." : parent;
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    return fmt::format("there is no folder {} either", path_in_shell(folder.string()));
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  const std::string name = path.filename().string();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const std::string_view close = similar_name(name, known); !close.empty())
    return fmt::format("did you mean {}?", path_in_shell((parent / close).string()));
  return fmt::format("see what is there: ls {}", path_in_shell(folder.string()));
}

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
  if (reason == ENOENT) return error("there is no such file").at(path.string()).hint(what_is_there(path));
  return system_error(reason, "the file cannot be opened").at(path.string());
}

}  // namespace tenon
