#include "base/input_guard.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/environment.h"
#include "base/error.h"

namespace tenon {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Input {
  std::filesystem::path path;
  timespec written;
  off_t size;

  bool is_unchanged(const struct stat& now) const {
    return now.st_size == size && now.st_mtim.tv_sec == written.tv_sec &&
           now.st_mtim.tv_nsec == written.tv_nsec;
  }
};

struct Inputs {
  std::mutex mutex;
  InputGuard guard = InputGuard::off;
  std::map<FileId, Input> files;
  std::vector<std::filesystem::path> recent;
};
Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

void guard_inputs(InputGuard guard) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  all.guard = guard;
  if (guard != InputGuard::off) return;
  all.files.clear();
  all.recent.clear();
}

void remember_input(const std::filesystem::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) remember_input(path, info);
}

void remember_input(const std::filesystem::path& path, const struct stat& info) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  if (all.guard == InputGuard::off) return;
  const Input input{path, info.st_mtim, info.st_size};
  if (all.files.emplace(FileId{info.st_dev, info.st_ino}, input).second) all.recent.push_back(path);
}

std::vector<std::filesystem::path> take_remembered_inputs() {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.recent, {});
}

void refuse_to_replace_input(const std::filesystem::path& output) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  struct stat info = {};
  if (all.guard != InputGuard::refuse || ::stat(output.c_str(), &info) != 0) return;
  const auto input = all.files.find({info.st_dev, info.st_ino});
  if (input == all.files.end()) return;
  const std::filesystem::path& path = input->second.path;
  throw error("the output would replace {}, which this run reads",
              path == output ? "this file" : path.string())
      .at(output.string())
      .hint("give the output another name");
}

void check_inputs_unchanged() {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  for (const auto& [id, input] : all.files) {
    struct stat now = {};
    const bool is_there = ::stat(input.path.c_str(), &now) == 0 && FileId{now.st_dev, now.st_ino} == id;
    if (is_there && !input.is_unchanged(now))
      throw environment_error("the file was overwritten while this run read it")
          .at(input.path.string())
          .hint("run again; write a new version beside it and rename it, so that a run sees one of the two");
  }
}

}  // namespace tenon
