#include "base/input_guard.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/atomic_file.h"
#include "base/environment.h"
#include "base/error.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

using FileId = std::pair<dev_t, ino_t>;

// Without a mode where nothing is there.
struct stat status_of(const fs::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) info = {};
  return info;
}
bool is_there(const struct stat& info) { return info.st_mode != 0; }
FileId id_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

struct Input {
  std::filesystem::path path;
  timespec written;
  off_t size;

  bool is_unchanged(const struct stat& now) const {
    return now.st_size == size && now.st_mtim.tv_sec == written.tv_sec &&
           now.st_mtim.tv_nsec == written.tv_nsec;
  }
};

struct Folder {
  FileId id;
  std::function<bool(const std::string&)> is_input;
};

struct Inputs {
  std::mutex mutex;
  InputGuard guard = InputGuard::off;
  std::map<FileId, Input> files;
  std::vector<Folder> folders;
  std::vector<fs::path> recent;
  std::set<fs::path> outputs;  // to be written yet
};
Inputs& inputs() {
  static Inputs all;
  return all;
}

void refuse(const fs::path& output, const fs::path& input) {
  throw error("the output would replace {}, which this run reads",
              input == output ? "this file" : input.string())
      .at(output.string())
      .hint("give the output another name");
}

void check_output(const Inputs& all, const fs::path& output) {
  if (all.guard != InputGuard::refuse) return;
  const struct stat info = status_of(output);
  if (const auto input = all.files.find(id_of(info)); is_there(info) && input != all.files.end())
    refuse(output, input->second.path);
  const fs::path file = behind_links(output);
  const struct stat folder = status_of(file.has_parent_path() ? file.parent_path() : ".");
  for (const Folder& f : all.folders)
    if (is_there(folder) && f.id == id_of(folder) && f.is_input(file.filename())) refuse(output, output);
}

void check_outputs(const Inputs& all) {
  for (const fs::path& output : all.outputs) check_output(all, output);
}

}  // namespace

void guard_inputs(InputGuard guard) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  all.guard = guard;
  if (guard != InputGuard::off) return;
  all.files.clear();
  all.folders.clear();
  all.recent.clear();
  all.outputs.clear();
}

void expect_output(const fs::path& output) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  if (all.guard != InputGuard::refuse) return;
  check_output(all, output);
  all.outputs.insert(behind_links(output));
}

void output_is_written(const fs::path& output) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  all.outputs.erase(output);
}

void remember_input(const fs::path& path) {
  if (const struct stat info = status_of(path); S_ISREG(info.st_mode)) remember_input(path, info);
}

void remember_input(const fs::path& path, const struct stat& info) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  if (all.guard == InputGuard::off) return;
  const Input input{path, info.st_mtim, info.st_size};
  if (!all.files.emplace(id_of(info), input).second) return;
  all.recent.push_back(path);
  check_outputs(all);
}

void remember_inputs_in(const fs::path& folder, std::function<bool(const std::string&)> is_input) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (is_input(at->path().filename())) remember_input(at->path());
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  const struct stat info = status_of(folder);
  if (all.guard == InputGuard::off || !is_there(info)) return;
  all.folders.push_back({id_of(info), std::move(is_input)});
  check_outputs(all);
}

std::vector<fs::path> take_remembered_inputs() {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.recent, {});
}

void refuse_to_replace_input(const fs::path& output) {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  check_output(all, output);
}

void check_inputs_unchanged() {
  Inputs& all = inputs();
  const std::lock_guard lock(all.mutex);
  for (const auto& [id, input] : all.files) {
    const struct stat now = status_of(input.path);
    if (is_there(now) && id_of(now) == id && !input.is_unchanged(now))
      throw environment_error("the file was overwritten while this run read it")
          .at(input.path.string())
          .hint("run again; write a new version beside it and rename it, so that a run sees one of the two");
  }
}

}  // namespace tenon
