// A file appears whole or not at all, and nothing is left beside it.
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/temporary_path.h"

namespace tenon {
namespace {
namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  // Runs f in a child process and returns how it ended.
  template <class F>
  static int in_child(F&& f) {
    const pid_t child = ::fork();
    if (child == 0) {
      f();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  TemporaryFolder scratch{fs::temp_directory_path()};
  const fs::path folder = scratch.path();
};

TEST_F(AtomicFileTest, AppearsOnCommit) {
  const fs::path path = folder / "y.npy";
  AtomicFile file(path);
  file.write("one ");
  EXPECT_FALSE(fs::exists(path));
  file.write("two");
  EXPECT_EQ(file.size(), 7u);
  file.commit();
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(files(), 1u);
}

// In a container every run is process 1: what a killed one left behind had the name that the next one wants.
TEST_F(AtomicFileTest, NamesOfTemporaryFilesAreNotGuessed) {
  AtomicFile one(folder / "y.npy"), two(folder / "y.npy");
  EXPECT_EQ(files(), 2u);
  for (const auto& file : fs::directory_iterator(folder))
    EXPECT_EQ(file.path().string().find(fmt::format(".{}-", ::getpid())), std::string::npos);
}

TEST_F(AtomicFileTest, WithoutCommitTheTargetStaysAsItWas) {
  const fs::path path = folder / "y.npy";
  std::ofstream(path) << "before";
  {
    AtomicFile file(path);
    file.write("after");
    EXPECT_EQ(files(), 2u);
  }
  EXPECT_EQ(content(path), "before");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, KeepsPermissionsOfWhatItReplaces) {
  const fs::path path = folder / "y.npy";
  std::ofstream(path) << "before";
  fs::permissions(path, fs::perms(0640));
  AtomicFile file(path);
  file.commit();
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, WritesBehindASymbolicLink) {
  std::ofstream(folder / "real") << "before";
  fs::create_symlink("real", folder / "link");
  AtomicFile file(folder / "link");
  file.write("after");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "real"), "after");
}

TEST_F(AtomicFileTest, DevicesAreWrittenNotReplaced) {
  AtomicFile file("/dev/null");
  file.write("gone");
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, FilesBelowDevAreFiles) {
  const fs::path shared = fs::path("/dev/shm") / folder.filename();
  if (!std::ofstream(shared).put('x')) GTEST_SKIP() << "/dev/shm cannot be written";
  for (const char* text : {"a longer text", "short"}) {
    AtomicFile file(shared);
    file.write(text);
    file.commit();
    EXPECT_EQ(content(shared), text);
  }
  fs::remove(shared);
}

TEST_F(AtomicFileTest, ErrorsNameTheTarget) {
  const fs::path missing = folder / "no" / "y.npy";
  try {
    AtomicFile file(missing);
    FAIL() << "the folder does not exist";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), "there is no folder " + missing.parent_path().string());
    EXPECT_EQ(e.where(), missing.string());
  }
  EXPECT_THROW(AtomicFile{folder}, Error);
}

TEST_F(AtomicFileTest, AFullDeviceIsAnError) {
  AtomicFile file("/dev/full");
  try {
    file.write("x");
    FAIL() << "the device is full";
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "the file cannot be written: No space left on device"); }
}

TEST_F(AtomicFileTest, AWriteThatFailsLeavesNothing) {
  const fs::path path = folder / "y.npy";
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1024, 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      AtomicFile file(path);
      file.write(std::string(4096, 'x'));
    } catch (const Error&) { ::_exit(7); }
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, ASignalRemovesTheTemporaryFileAndEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = in_child([&] {
      std::signal(signal, SIG_DFL);  // the tests may run where it is ignored: nohup
      remove_temporary_paths_on_signals();
      AtomicFile done(folder / "done");
      done.commit();
      AtomicFile file(folder / "y.npy");
      file.write("half");
      std::raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(fs::exists(folder / "done"));
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(AtomicFileTest, AChildLeavesTheFilesOfItsParent) {
  AtomicFile file(folder / "y.npy");
  in_child([] {
    remove_temporary_paths_on_signals();
    std::raise(SIGTERM);
  });
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, IgnoredSignalsStayIgnored) {
  const int status = in_child([] {
    std::signal(SIGHUP, SIG_IGN);
    remove_temporary_paths_on_signals();
    std::raise(SIGHUP);
  });
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace tenon
