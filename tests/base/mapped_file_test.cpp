// A file beneath a folder: no path and no link leads out of it, even one that is put there meanwhile. Pages
// that are given back.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/temporary_path.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder / "data");
    std::ofstream(top / "secret") << "secret";
    std::ofstream(folder / "data/w.bin") << "weights";
  }

  std::string content(const fs::path& path) const {
    try {
      return MappedFile::open_beneath(folder, path)->bytes().size() == 7 ? "read" : "something else was read";
    } catch (const Error& e) { return e.message(); }
  }
  TemporaryFolder scratch{fs::temp_directory_path()};
  const fs::path top = scratch.path(), folder = top / "model";
};

TEST_F(Beneath, FilesAndLinksInsideAreRead) {
  fs::create_symlink("data/w.bin", folder / "link");
  fs::create_symlink("../data", folder / "data/up_and_down");
  for (const char* path : {"data/w.bin", "link", "data/up_and_down/w.bin"})
    EXPECT_EQ(content(path), "read") << path;
}

TEST_F(Beneath, NothingLeadsOut) {
  fs::create_symlink("../secret", folder / "relative");
  fs::create_symlink(top / "secret", folder / "absolute");
  fs::create_symlink("..", folder / "above");
  fs::create_symlink("/proc/self/root", folder / "magic");
  for (const fs::path& path :
       {fs::path("relative"), fs::path("absolute"), fs::path("above/secret"), fs::path("../secret"),
        fs::path("data/../../secret"), top / "secret", fs::path("magic/etc/passwd")})
    EXPECT_NE(content(path).find("leads out of the folder"), std::string::npos)
        << path << ": " << content(path);
}

TEST_F(Beneath, ALinkThatIsPutThereMeanwhileDoesNotLeadOut) {
  const fs::path swapped = folder / "swapped", file = folder / "file", link = folder / "link";
  std::ofstream(file) << "weights";
  fs::create_hard_link(file, swapped);
  fs::create_symlink("../secret", link);
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    for (int i = 0; !done; ++i) {
      const fs::path next = folder / "next";
      if (i % 2)
        fs::create_hard_link(file, next);
      else
        fs::create_symlink("../secret", next);
      fs::rename(next, swapped);
      fs::remove(next);
    }
  });
  int read = 0;
  for (int i = 0; i < 3000 || read == 0; ++i) {
    try {
      ASSERT_EQ(MappedFile::open_beneath(folder, "swapped")->bytes().size(), 7u) << "the secret was read";
      ++read;
    } catch (const Error&) {}  // the link
  }
  done = true;
  attacker.join();
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
