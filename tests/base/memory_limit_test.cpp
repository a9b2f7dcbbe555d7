// A process that is allowed so much gets no more, and afterwards as much as before.
#include "base/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "tests/sanitized.h"

namespace tenon {
namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

bool can_allocate(std::uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, bytes);
  return true;
}

TEST(MemoryLimit, HoldsWhileItLives) {
  {
    const MemoryLimit limit(64 * MiB);
    EXPECT_TRUE(limit.is_lowest());
    EXPECT_TRUE(can_allocate(32 * MiB));
    EXPECT_FALSE(can_allocate(256 * MiB));
  }
  EXPECT_TRUE(can_allocate(256 * MiB));
}

TEST(MemoryLimit, IsRememberedWhenReached) {
  if (sanitized) GTEST_SKIP();
  const MemoryLimit limit(64 * MiB);
  EXPECT_FALSE(limit.was_reached());
  EXPECT_THROW(std::vector<char>(256 * MiB), std::bad_alloc);
  EXPECT_TRUE(limit.was_reached());
  EXPECT_THROW(std::vector<char>(256 * MiB), std::bad_alloc);  // it still holds
}

TEST(MemoryLimit, GivesAsMuchAgainOnceOnly) {
  if (sanitized) GTEST_SKIP();
  const MemoryLimit limit(64 * MiB);
  for (int i = 0; i < 8; ++i) EXPECT_THROW(std::vector<char>(256 * MiB), std::bad_alloc);
  EXPECT_TRUE(can_allocate(96 * MiB));
  EXPECT_FALSE(can_allocate(192 * MiB));
}

TEST(MemoryLimit, IsExtendedByWhatTheUserGave) {
  MemoryLimit::extend(MiB);  // none stands
  const MemoryLimit limit(64 * MiB);
  MemoryLimit::extend(512 * MiB);
  EXPECT_TRUE(can_allocate(256 * MiB));
}

TEST(MemoryLimit, TheLowestOfSeveralHolds) {
  const MemoryLimit outer(64 * MiB);
  {
    const MemoryLimit inner(1024 * MiB);
    EXPECT_FALSE(inner.is_lowest());
    EXPECT_FALSE(can_allocate(256 * MiB));
    MemoryLimit::extend(1024 * MiB);
    EXPECT_FALSE(can_allocate(256 * MiB));
  }
  {
    const MemoryLimit inner(16 * MiB);
    EXPECT_TRUE(inner.is_lowest());
    EXPECT_FALSE(can_allocate(48 * MiB));
  }
  EXPECT_TRUE(can_allocate(32 * MiB));
}

TEST(MemoryLimit, AnyAmountMayBeAllowed) {
  const MemoryLimit limit(UINT64_MAX);
  EXPECT_FALSE(limit.is_lowest());
  EXPECT_TRUE(can_allocate(256 * MiB));
}

TEST(MemoryLimit, AmountsHaveUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("1 KiB"), 1024u);
  EXPECT_EQ(parse_bytes("1.5MiB"), 1572864u);
  EXPECT_EQ(parse_bytes("2GB"), 2000000000u);
  for (const char* text : {"0B", "1000B", "1KiB", "64MiB", "1.5GiB", "16GiB", "100TiB"})
    EXPECT_EQ(memory_text(*parse_bytes(text)), text);
  EXPECT_EQ(memory_text(123456789), "117.7MiB");
  for (const char* text : {"", "MiB", "1 XB", "-1", "1e30 GiB", "nan", "1 MiB more"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

}  // namespace
}  // namespace tenon
