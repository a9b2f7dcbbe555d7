// Limits on the memory that this process may take.
#pragma once
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// While it lives, the process can allocate at most `bytes` more than it held at the start; what goes beyond
/// is std::bad_alloc. Memory that only maps a file does not count (RLIMIT_DATA of Linux). Limits nest, and
/// the lowest holds. They are made and ended by one thread. A limit that was reached gives as much again,
/// once: what was made may need memory to be taken apart.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// False where the process was allowed less already: std::bad_alloc then does not mean that this limit is
  /// reached.
  bool is_lowest() const { return limit_ < before_; }
  /// True once an allocation failed under this limit, whatever became of the std::bad_alloc.
  bool was_reached() const { return reached_; }

  /// Leaves the innermost limit, if there is one, `bytes` more, as far as the limits around it allow.
  static void extend(std::uint64_t bytes);

 private:
  static void on_exhausted();

  std::uint64_t bytes_, before_, limit_;
  bool reached_ = false;
  MemoryLimit* around_;
  std::new_handler handler_before_;
};

/// "512 MiB", "2GB", "4096": bytes. nullopt for anything else.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
/// "512MiB", "1.5GiB": rounded, and read back by parse_bytes.
std::string memory_text(std::uint64_t bytes);

}  // namespace tenon
