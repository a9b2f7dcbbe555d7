// What the kernel counts of this process.
#include "base/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/sanitized.h"

namespace tenon {
namespace {

constexpr std::size_t many = std::size_t{64} << 20;

TEST(ProcessMemory, CountsWhatIsWritten) {
  if (sanitized) GTEST_SKIP() << "sanitizers keep memory that was freed";
  const ProcessMemory before = process_memory();
  ASSERT_GT(before.own, 0u);
  ASSERT_GE(before.peak, before.own);
  {
    std::vector<char> taken(many);
    std::memset(taken.data(), 1, taken.size());
    EXPECT_GE(process_memory().own, before.own + many / 2);
  }
  EXPECT_LT(process_memory().own, before.own + many / 2);
  EXPECT_GE(process_memory().peak, before.own + many / 2);
}

}  // namespace
}  // namespace tenon
