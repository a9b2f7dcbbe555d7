// Memory that someone owns: of the host, or of a device.
#pragma once
#include <cstddef>
#include <functional>
#include <utility>

namespace tenon {

/// Bytes and how they are given back.
class Memory {
 public:
  using Release = std::function<void(std::byte* data, std::size_t bytes)>;

  Memory() = default;
  Memory(std::byte* data, std::size_t bytes, Release release)
      : data_(data), bytes_(bytes), release_(std::move(release)) {}
  ~Memory() {
    if (data_) release_(data_, bytes_);
  }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  void swap(Memory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
  }
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Release release_;
};

/// Memory of the host: 64-byte aligned bytes that are zero. From 4 MiB on, on 2 MiB boundaries with huge
/// pages advised. Throws std::bad_alloc.
Memory host_memory(std::size_t bytes);
/// The same, its pages made now, so that no page fault is left for the first run.
Memory touched_host_memory(std::size_t bytes);

}  // namespace tenon
