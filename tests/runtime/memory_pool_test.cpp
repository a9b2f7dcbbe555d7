// A pool gives memory again that came back, and lives no longer than its session must.
#include "runtime/memory_pool.h"

#include <gtest/gtest.h>

#include "tests/far/far.h"

namespace tenon::testing {
namespace {

// The device far, counting what it was asked for.
struct Counted {
  Device device = far_device();
  int asked = 0, given_back = 0;

  Counted() {
    device.allocate = [this](std::size_t bytes, Space space) {
      if (++asked == fails_at) throw std::bad_alloc();
      auto* memory = new Memory(far_device().allocate(bytes, space));
      return Memory(memory->data(), bytes, [this, memory](std::byte*, std::size_t) {
        ++given_back;
        delete memory;
      });
    };
  }
  int fails_at = 0;
};

TEST(MemoryPool, GivesAgainWhatCameBack) {
  Counted counted;
  MemoryPool pool(counted.device, Space::device);
  const std::byte* place = pool.take(1000)->data();
  const auto again = pool.take(900);
  EXPECT_EQ(again->data(), place);
  EXPECT_GE(again->size(), 1000);
  EXPECT_NE(pool.take(1000)->data(), place);
  EXPECT_EQ(counted.asked, 2);
}

TEST(MemoryPool, KeepsNoMoreThanWasInUseAtOnce) {
  Counted counted;
  MemoryPool pool(counted.device, Space::device);
  for (std::size_t bytes = 1000; bytes < 100'000; bytes += 1000) (void)pool.take(bytes);
  EXPECT_GT(counted.asked, 20);
  EXPECT_GT(counted.given_back, 0);
}

TEST(MemoryPool, MayEndBeforeWhatItGave) {
  Counted counted;
  auto pool = std::make_unique<MemoryPool>(counted.device, Space::device);
  auto kept = pool->take(1);
  (void)pool->take(1);
  pool.reset();
  EXPECT_EQ(counted.given_back, 1);
  kept.reset();
  EXPECT_EQ(counted.given_back, 2);
}

TEST(MemoryPool, GivesUpWhatItKeepsWhenThereIsNoMore) {
  Counted counted;
  MemoryPool pool(counted.device, Space::device);
  (void)pool.take(1000);
  counted.fails_at = 2;
  EXPECT_NE(pool.take(5000)->data(), nullptr);
  EXPECT_EQ(counted.given_back, 1);
}

}  // namespace
}  // namespace tenon::testing
