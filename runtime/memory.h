// Aligned memory for arenas and packed weights, on huge pages where it is large.
#pragma once
#include <cstddef>
#include <utility>

namespace tenon {

/// 64-byte aligned bytes that are zero. From 4 MiB on, on 2 MiB boundaries with huge pages advised. Throws
/// std::bad_alloc.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Has the pages made now, so that no page fault is left for the first run.
  void touch();
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  bool is_large() const;
  void swap(Memory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tenon
