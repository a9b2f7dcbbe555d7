// Files and folders that do not outlive their owner, nor the process when a signal ends it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tenon {

/// Installs handlers for SIGINT, SIGTERM and SIGHUP that remove the temporary paths of this process and
/// then let the signal end it. Signals that are ignored stay ignored. Tools call it once, at the start.
void remove_temporary_paths_on_signals();
/// Removes them now: the process is about to end. Async-signal-safe.
void remove_temporary_paths();

/// A path that is removed (a file, an empty folder, or nothing) when its owner goes.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::string path);
  ~TemporaryPath();
  TemporaryPath(TemporaryPath&&) noexcept;
  TemporaryPath& operator=(TemporaryPath&&) = delete;

  const char* c_str() const;
  /// The file stays: it has become something else by now.
  void release();

 private:
  friend void remove_temporary_paths_on_signals();
  friend void remove_temporary_paths();
  struct Entry;
  Entry* entry_;  // null after release
};

/// A new folder, removed with all that was put into it. When a signal ends the process, that is what `file`
/// named.
class TemporaryFolder {
 public:
  /// Makes a folder inside `parent`. Throws Error when it cannot.
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  /// The path of a file inside, which need not exist yet.
  std::filesystem::path file(const std::string& name);

 private:
  int process_;
  std::filesystem::path path_;
  std::vector<TemporaryPath> entries_;  // the folder, then its files
};

}  // namespace tenon
