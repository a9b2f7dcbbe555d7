#include "base/input_guard.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Inputs {
  std::mutex mutex;
  InputGuard guard = InputGuard::off;
  std::map<FileId, std::filesystem::path> files;
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
  if (all.files.emplace(FileId{info.st_dev, info.st_ino}, path).second) all.recent.push_back(path);
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
  const bool same_name = input->second == output;
  throw error("the output would replace {}, which this run reads",
              same_name ? "this file" : input->second.string())
      .at(output.string())
      .hint("give the output another name");
}

}  // namespace tenon
