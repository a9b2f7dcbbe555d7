// One process at a time reads and replaces the files of a folder.
#pragma once
#include <filesystem>

namespace tenon {

/// Waits while another process has a lock of the folder in which `file`, or what it links to, lies. It keeps
/// nobody else from the files, and leaves nothing behind. Where the file system has no locks, it does not
/// wait.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

}  // namespace tenon
