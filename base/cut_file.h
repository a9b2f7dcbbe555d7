// A mapped file that is cut while it is read: one message and exit code 4 instead of a bus error.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

namespace tenon {

/// Installs a handler for SIGBUS that names the file, removes the temporary paths of this process and ends it
/// with exit code 4: its environment failed. Tools call it once, at the start.
void report_cut_files();

/// Tells the handler which file some mapped bytes are of. The path must outlive the entry.
class MappedRange {
 public:
  MappedRange(std::span<const std::byte> bytes, const std::filesystem::path& path);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  /// Whether they are of one such file.
  static bool holds(std::span<const std::byte> bytes);
  /// The handler.
  static void on_bus_error(int number, void* address);

 private:
  struct Slot;
  Slot* slot_;  // null where there are more files than slots
};

}  // namespace tenon
