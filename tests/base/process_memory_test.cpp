// What the kernel counts of this process: memory of its own, and pages of files that are given back.
#include "base/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <vector>

#include "base/mapped_file.h"
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

TEST(MappedFile, PagesThatAreGivenBackAreReadAgain) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "tenon_pages";
  std::vector<char> data(100'000);
  std::iota(data.begin(), data.end(), char{0});
  std::ofstream(path, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
  const auto file = MappedFile::open(path);
  for (const auto& [first, count] : {std::pair{0, 100'000}, {1, 99'998}, {5000, 4096}, {7, 10}, {0, 0}}) {
    give_back_pages(file->bytes().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    EXPECT_EQ(std::memcmp(file->bytes().data(), data.data(), data.size()), 0);
  }
  std::filesystem::remove(path);
  give_back_pages(std::as_bytes(std::span(data)));  // of no file
  EXPECT_EQ(data[99'999], static_cast<char>(99'999));
}

}  // namespace
}  // namespace tenon
