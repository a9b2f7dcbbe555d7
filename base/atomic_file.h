// A file that appears whole or not at all: written beside its target, then renamed.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/temporary_path.h"

namespace tenon {

/// The file that is written under this name: symbolic links are followed, also where they lead to nothing
/// yet.
std::filesystem::path behind_links(const std::filesystem::path&);

/// A device, a pipe or a name of an open file (/dev/stdout): bytes go there as they come, and nothing is
/// replaced.
bool is_written_directly(const std::filesystem::path&);

/// Throws Error when an AtomicFile of this target could not be opened: its folder is missing or may not be
/// written to, its name is too long, its links lead in a circle, it is a folder itself, or an input of this
/// run (base/input_guard.h). Nothing is written.
void check_writable(const std::filesystem::path& target);

/// Writes to a temporary file in the target's folder; commit() makes it the target. The file behind a
/// symbolic link is replaced, not the link. Without commit() the target stays as it was and the
/// temporary file is removed. Some targets are written directly, as above. A target that this run reads is
/// refused (base/input_guard.h). Every failure throws Error with the target's path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Bytes written so far.
  std::size_t size() const { return size_; }

  /// Makes the bytes durable and renames. Nothing may be written afterwards.
  void commit();

 private:
  void open_temporary();
  void close();

  std::filesystem::path target_;
  std::optional<TemporaryPath> temporary_;  // none when the target is written directly, and after commit
  int file_ = -1;
  std::size_t size_ = 0;
};

}  // namespace tenon
