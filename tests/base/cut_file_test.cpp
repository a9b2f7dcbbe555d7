// A mapped file that is cut ends the process with a message that names it.
#include "base/cut_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/mapped_file.h"
#include "base/temporary_path.h"

namespace tenon {
namespace {

constexpr std::size_t size = 1 << 20;

class CutFile : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(path) << std::string(size, 'x'); }

  TemporaryFolder folder{std::filesystem::temp_directory_path()};
  const std::filesystem::path path = folder.path() / "file";
};

int sum_of(const MappedFile& file) {
  int sum = 0;
  for (const std::byte b : file.bytes()) sum += std::to_integer<int>(b);
  return sum;
}

void read_while_it_is_cut(const std::filesystem::path& path) {
  report_cut_files();
  const auto other = MappedFile::open("/proc/self/exe");
  const auto file = MappedFile::open(path);
  std::filesystem::resize_file(path, 100);
  std::_Exit(sum_of(*file) == 0 ? 1 : 0);
}

TEST_F(CutFile, IsNamed) {
  EXPECT_EXIT(read_while_it_is_cut(path), ::testing::ExitedWithCode(4),
              "error: the file was cut or overwritten while it was read\n  at: " + path.string());
}

TEST_F(CutFile, ThatIsReplacedByRenamingStaysReadable) {
  report_cut_files();
  const std::string other = path.string() + ".new";
  const auto file = MappedFile::open(path);
  std::ofstream(other) << "new";
  std::filesystem::rename(other, path);
  EXPECT_EQ(sum_of(*file), static_cast<int>(size) * 'x');
}

}  // namespace
}  // namespace tenon
