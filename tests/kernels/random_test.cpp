// Random integers are what Philox's words say, however many there are.
#include "kernels/cpu/random.h"

#include <vector>

#include "base/philox.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Random : public OnEveryIsa {};
TENON_EVERY_ISA(Random);

std::int64_t number_of(const RandomRun& run, std::uint64_t place) {
  const unsigned words = run.bits > 32 ? 2 : 1, each = 4 / words;
  const std::uint64_t block = place / each, k = place % each * words;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const PhiloxBlock w =
      philox({low(block), low(block >> 32), run.stream, run.step}, {low(run.seed), low(run.seed >> 32)});
  const std::uint64_t number = words == 1 ? w[k] : std::uint64_t{w[k]} << 32 | w[k + 1];
  return static_cast<std::int64_t>(number >> (32 * static_cast<int>(words) - run.bits));
}

TEST_P(Random, EveryCountAndWidth) {
  ThreadPool pool(2);
  for (const int bits : {1, 8, 24, 31, 32, 33, 53, 63})
    for (const long count : {1L, 2L, 3L, 4L, 5L, 63L, 64L, 127L, 131L, 4096L, 9001L}) {
      RandomRun run{
          .seed = 0xfedcba9876543210, .stream = 0xffffffffu, .step = 7, .bits = bits, .count = count};
      std::vector<std::int64_t> out(static_cast<std::size_t>(count) + 1, -5);
      run.out = out.data();
      random_bits(run, pool);
      for (std::size_t i = 0; i + 1 < out.size(); ++i)
        ASSERT_EQ(out[i], number_of(run, i)) << bits << " " << i;
      ASSERT_EQ(out.back(), -5);
    }
}

// Counters have a second word from here on.
TEST_P(Random, CountersBeyond32Bits) {
  constexpr long first = (1L << 34) - 40;
  std::vector<std::int64_t> out(100);
  const RandomRun run{.seed = 3, .bits = 24, .first = first, .count = 100, .out = out.data()};
  random_piece(run);
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], number_of(run, static_cast<std::uint64_t>(first) + i));
}

}  // namespace
}  // namespace tenon::cpu
