// Child processes: their answers, their ends, and that nothing of them stays.
#include "converter/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

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

TEST(ChildProcess, SaysWhenTheProgramIsMissing) { EXPECT_THROW(ChildProcess("/no/such/program", {}), Error); }

}  // namespace
}  // namespace tenon
