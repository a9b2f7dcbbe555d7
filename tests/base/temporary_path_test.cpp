// What is temporary goes with its owner, and with the process when a signal ends it.
#include "base/temporary_path.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

void write(const fs::path& path) { std::ofstream(path) << "x"; }

TEST(TemporaryFolder, GoesWithItsFiles) {
  fs::path path;
  {
    TemporaryFolder folder(fs::temp_directory_path());
    path = folder.path();
    EXPECT_TRUE(fs::is_directory(path));
    write(folder.file("a"));
    write(folder.file("b"));
    folder.file("never written");
    write(path / "of another program");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, GoesWithTheProcess) {
  const TemporaryFolder parent(fs::temp_directory_path());
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    remove_temporary_paths_on_signals();
    TemporaryFolder folder(parent.path());
    write(folder.file("a"));
    std::raise(SIGTERM);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(TemporaryPath, TakesNoMemoryForThosePast) {
  const auto use_some = [] {
    for (int i = 0; i < 20000; ++i) TemporaryPath("/no/such/folder/file " + std::to_string(i));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(use_some);
  for (std::thread& t : threads) t.join();
  const auto before = ::mallinfo2().uordblks;  // of this thread's heap
  use_some();
  EXPECT_LT(::mallinfo2().uordblks, before + (1 << 18));
}

TEST(TemporaryFolder, ThatReusesAnEntryGoesWithTheProcessToo) {
  const TemporaryFolder parent(fs::temp_directory_path());
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    remove_temporary_paths_on_signals();
    { const TemporaryFolder first(parent.path()), second(parent.path()); }
    TemporaryFolder folder(parent.path());
    write(folder.file("a"));
    write(folder.file("b"));
    std::raise(SIGTERM);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(TemporaryFolder, WhereNoneCanBeMade) { EXPECT_THROW(TemporaryFolder("/no/such/folder"), Error); }

}  // namespace
}  // namespace tenon
