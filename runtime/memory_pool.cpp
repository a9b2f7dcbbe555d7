#include "runtime/memory_pool.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <optional>

namespace tenon {
namespace {

// Up to an eighth more, so that sizes that depend on data meet blocks of other runs.
std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t least = 256;
  if (bytes <= least) return bytes == 0 ? 0 : least;
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 8, least);
  return (bytes + step - 1) / step * step;
}

}  // namespace

class MemoryPool::Blocks {
 public:
  std::optional<Memory> find(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(bytes);
    if (found == kept_.end()) return std::nullopt;
    kept_bytes_ -= bytes;
    return std::move(kept_.extract(found).mapped());
  }

  void give(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
  }

  void put(Memory memory) {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = memory.size();
    used_ -= bytes;
    if (kept_bytes_ + bytes > most_used_) return;
    kept_bytes_ += bytes;
    kept_.emplace(bytes, std::move(memory));
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
    kept_bytes_ = 0;
  }

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, Memory> kept_;  // by size
  std::size_t kept_bytes_ = 0, used_ = 0, most_used_ = 0;
};

MemoryPool::MemoryPool(const Device& device, Space space)
    : device_(device), space_(space), blocks_(std::make_shared<Blocks>()) {}

std::shared_ptr<const Memory> MemoryPool::take(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  std::optional<Memory> memory = blocks_->find(size);
  try {
    if (!memory) memory = device_.allocate(size, space_);
  } catch (const std::bad_alloc&) {
    blocks_->forget();
    memory = device_.allocate(size, space_);
  }
  blocks_->give(size);
  const auto give_back = [blocks = std::weak_ptr(blocks_)](const Memory* given) {
    std::unique_ptr<Memory> owned(const_cast<Memory*>(given));
    if (const auto pool = blocks.lock()) pool->put(std::move(*owned));
  };
  return {new Memory(std::move(*memory)), give_back};
}

}  // namespace tenon
