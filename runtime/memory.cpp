#include "runtime/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/alignment.h"

namespace tenon {
namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_huge_pages = 2 * huge_page;

// Zero pages of the kernel, from a boundary of huge pages on. What lies in front and behind is given back.
std::byte* map_huge_pages(std::size_t bytes) {
  const std::size_t whole = bytes + huge_page;
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(mapped);
  const std::size_t front =
      aligned_up(reinterpret_cast<std::size_t>(first), huge_page) - reinterpret_cast<std::size_t>(first);
  if (front > 0) munmap(first, front);
  munmap(first + front + bytes, huge_page - front);
  madvise(first + front, bytes, MADV_HUGEPAGE);
  return first + front;
}

bool is_large(std::size_t bytes) { return bytes >= worth_huge_pages; }

void release(std::byte* data, std::size_t bytes) {
  if (is_large(bytes))
    munmap(data, aligned_up(bytes, huge_page));
  else
    std::free(data);
}

}  // namespace

Memory host_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  if (is_large(bytes)) return {map_huge_pages(aligned_up(bytes, huge_page)), bytes, release};
  const std::size_t alignment = alignment_of(bytes);
  auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, aligned_up(bytes, alignment)));
  if (!data) throw std::bad_alloc();
  std::memset(data, 0, bytes);
  return {data, bytes, release};
}

Memory touched_host_memory(std::size_t bytes) {
  Memory memory = host_memory(bytes);
  if (!is_large(bytes)) return memory;  // it was written
  std::byte* data = memory.data();
  if (madvise(data, aligned_up(bytes, huge_page), MADV_POPULATE_WRITE) == 0) return memory;
  for (std::size_t at = 0; at < bytes; at += page_bytes) const_cast<volatile std::byte&>(data[at]) = data[at];
  return memory;
}

}  // namespace tenon
