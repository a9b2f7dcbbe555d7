// Child processes: their answers, their ends, and that nothing of them stays.
#include "converter/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "tests/sanitized.h"

namespace tenon {
namespace {

using namespace std::chrono_literals;
using Clock = ChildProcess::Clock;
using Io = ChildProcess::Io;

std::vector<std::string> script(const std::string& text) { return {"-c", text}; }

TEST(ChildProcess, TalksOverStandardInputAndOutput) {
  ChildProcess child("/bin/cat", {});
  const std::string sent = "hello";
  std::string got(5, ' ');
  EXPECT_EQ(child.write(std::as_bytes(std::span(sent)), Clock::now() + 10s), Io::done);
  EXPECT_EQ(child.read(std::as_writable_bytes(std::span(got)), Clock::now() + 10s), Io::done);
  EXPECT_EQ(got, sent);
}

TEST(ChildProcess, ReadsToTheEndAndReportsTheExitCode) {
  ChildProcess child("/bin/sh", script("echo answer; echo trouble >&2; exit 3"));
  std::string text;
  EXPECT_EQ(child.read_all(text, 1000, Clock::now() + 10s), Io::closed);
  const auto status = child.wait(Clock::now() + 10s);
  EXPECT_EQ(text, "answer\n");
  EXPECT_FALSE(status.crashed);
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(child.complaints(), "trouble\n");
}

TEST(ChildProcess, ReportsTheSignalOfACrash) {
  ChildProcess child("/bin/sh", script("kill -SEGV $$"));
  const auto status = child.wait(Clock::now() + 10s);
  EXPECT_TRUE(status.crashed);
  EXPECT_EQ(status.code, SIGSEGV);
}

TEST(ChildProcess, WritingToAChildThatIsGoneIsNoSignalToUs) {
  ChildProcess child("/bin/true", {});
  child.wait(Clock::now() + 10s);
  const std::vector<std::byte> much(1 << 20);
  EXPECT_EQ(child.write(much, Clock::now() + 10s), Io::closed);
}

TEST(ChildProcess, GivesUpAtTheDeadline) {
  ChildProcess child("/bin/sleep", {"1000"});
  std::string text;
  EXPECT_EQ(child.read_all(text, 1000, Clock::now() + 50ms), Io::timed_out);
  EXPECT_TRUE(child.wait(Clock::now() + 50ms).crashed) << "wait kills at its deadline";
}

TEST(ChildProcess, StopsReadingAtTheLimit) {
  ChildProcess child("/bin/sh", script("while :; do echo yes; done"));
  std::string text;
  EXPECT_EQ(child.read_all(text, 10'000, Clock::now() + 10s), Io::done);
  EXPECT_EQ(text.size(), 10'000u);
}

TEST(ChildProcess, InheritsNoneOfOurOpenFiles) {
  const int secret = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a careless library does
  ChildProcess child("/bin/sh", script("ls /proc/$$/fd"));
  std::string text;
  child.read_all(text, 1000, Clock::now() + 10s);
  ::close(secret);
  EXPECT_EQ(text.find(std::to_string(secret) + "\n"), std::string::npos) << text;
}

std::string output_of(const std::string& text, const ChildOptions& options) {
  ChildProcess child("/bin/sh", script(text), options);
  std::string out;
  child.read_all(out, 1 << 20, Clock::now() + 5s);
  return out;
}

TEST(ChildProcess, StartsInTheFolderItIsGiven) { EXPECT_EQ(output_of("pwd", {.folder = "/usr"}), "/usr\n"); }

TEST(ChildProcess, GetsNoneOfOurVariablesWhereAskedFor) {
  ::setenv("TENON_SECRET", "key", 1);
  EXPECT_EQ(output_of("echo $TENON_SECRET", {}), "key\n");
  EXPECT_EQ(output_of("echo $TENON_SECRET", {.clear_environment = true}), "\n");
}

TEST(ChildProcess, LeadsAGroupOfItsOwnWhereAskedFor) {
  const std::string group = "read -r a b c d group rest </proc/$$/stat; echo $((group == $$))";
  EXPECT_EQ(output_of(group, {}), "0\n");
  EXPECT_EQ(output_of(group, {.own_group = true}), "1\n");
}

TEST(ChildProcess, KillsWhatItsGroupStarted) {
  std::string out(8, ' ');
  pid_t grandchild = 0;
  {
    ChildProcess child("/bin/sh", script("sleep 1000 & printf '%8d' $!; wait"), {.own_group = true});
    ASSERT_EQ(child.read(std::as_writable_bytes(std::span(out)), Clock::now() + 5s), Io::done);
    grandchild = std::stoi(out);
    EXPECT_EQ(::kill(grandchild, 0), 0);
  }
  for (int i = 0; i < 500 && ::kill(grandchild, 0) == 0; ++i) {
    // Killed, and perhaps not reaped by anybody in a container.
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    if (text.find(") Z") != std::string::npos) return;
    ::usleep(10'000);
  }
  EXPECT_NE(::kill(grandchild, 0), 0);
}

TEST(ChildProcess, HasNotTheLimitThatWeSetForOurself) {
  if (sanitized) GTEST_SKIP();
  const pid_t us = ::fork();
  if (us == 0) {
    rlimit limit = {};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = rlim_t{1} << 34;
    ::setrlimit(RLIMIT_DATA, &limit);
    const std::string childs = output_of("sleep 0.1; ulimit -Sd", {});
    ::getrlimit(RLIMIT_DATA, &limit);
    ::_exit(childs == "unlimited\n" && limit.rlim_cur == rlim_t{1} << 34 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(us, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ChildProcess, SaysWhenTheProgramIsMissing) { EXPECT_THROW(ChildProcess("/no/such/program", {}), Error); }

}  // namespace
}  // namespace tenon
