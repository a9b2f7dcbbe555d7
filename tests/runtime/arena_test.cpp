// Buffers in the arena never share memory while both live, and take little more than what lives at once.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/device.h"

namespace tenon {
namespace {

// A buffer is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

ArenaLayout lay_out(const std::vector<Lifetime>& lives, const MemoryRules& rules) {
  std::vector<std::size_t> bytes;
  for (const Lifetime& life : lives) bytes.push_back(life.bytes);
  const auto meet = [&](std::size_t a, std::size_t b) {
    return lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
  };
  return tenon::lay_out(bytes, meet, rules);
}

class Arena : public testing::TestWithParam<MemoryRules> {};

TEST_P(Arena, LiveBuffersNeverOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lives;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(random() % 30);
      lives.push_back({random() % 20000, first, first + static_cast<int>(random() % 6)});
    }
    const ArenaLayout layout = lay_out(lives, GetParam());
    for (std::size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] % GetParam().alignment, 0u);
      EXPECT_LE(layout.offsets[a] + lives[a].bytes, layout.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
        const bool apart = layout.offsets[a] + lives[a].bytes <= layout.offsets[b] ||
                           layout.offsets[b] + lives[b].bytes <= layout.offsets[a];
        EXPECT_TRUE(apart || !meet);
      }
    }
  }
}

TEST_P(Arena, AChainTakesTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1 << 16, i, i + 1});
  EXPECT_LE(lay_out(chain, GetParam()).bytes, 2u * (1 << 16) + 4096);
}

INSTANTIATE_TEST_SUITE_P(Rules, Arena,
                         testing::Values(MemoryRules{}, MemoryRules{.alignment = 256}, cpu_device().memory));

TEST(ArenaOfTheCpu, LaysBuffersThatLiveTogetherAtOtherDistancesFromPages) {
  const std::vector<Lifetime> together{{8192, 0, 1}, {8192, 0, 1}, {8192, 0, 1}};
  const ArenaLayout plain = lay_out(together, {}), cpu = lay_out(together, cpu_device().memory);
  for (const std::size_t offset : plain.offsets) EXPECT_EQ(offset % 4096, 0u);
  EXPECT_EQ(cpu.offsets[0] % 4096, 0u);
  EXPECT_EQ(cpu.offsets[1] % 4096, 512u);
  EXPECT_EQ(cpu.offsets[2] % 4096, 1024u);
}

TEST(ArenaOfTheCpu, LaysNoLargeBufferAFewLinesFurtherFromPagesThanAnother) {
  const std::vector<Lifetime> lives{
      {65536, 0, 3}, {8192 + 64, 0, 1}, {16384 + 192, 1, 2}, {4096, 2, 3}, {64, 0, 3}};
  const ArenaLayout cpu = lay_out(lives, cpu_device().memory);
  for (std::size_t i = 0; i + 1 < lives.size(); ++i) EXPECT_EQ(cpu.offsets[i] % 512, 0u);
}

}  // namespace
}  // namespace tenon
