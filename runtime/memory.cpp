#include "runtime/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tenon {
namespace {
constexpr std::size_t line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_huge_pages = 2 * huge_page;
}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const bool large = bytes >= worth_huge_pages;
  const std::size_t alignment = large ? huge_page : line;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (!data_) throw std::bad_alloc();
  if (large) madvise(data_, rounded, MADV_HUGEPAGE);
  std::memset(data_, 0, rounded);
}

Memory::~Memory() { std::free(data_); }

}  // namespace tenon
