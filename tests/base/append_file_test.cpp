// Lines are added whole, by several processes at once.
#include "base/append_file.h"

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

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AppendFile, MakesTheFileAndAddsToIt) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  append_to_file(folder.path() / "f", "one\n");
  append_to_file(folder.path() / "f", "two\n");
  EXPECT_EQ(content(folder.path() / "f"), "one\ntwo\n");
}

TEST(AppendFile, ALineThatWasCutIsNotGoneOn) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  std::ofstream(folder.path() / "f") << "one\ntw";
  EXPECT_THROW(append_to_file(folder.path() / "f", "three\n"), Error);
  EXPECT_EQ(content(folder.path() / "f"), "one\ntw");
}

TEST(AppendFile, SeveralProcessesDoNotMixTheirLines) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path file = folder.path() / "f";
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::string line(100000, static_cast<char>('a' + i));
    line.back() = '\n';
    for (int k = 0; k < 5; ++k) append_to_file(file, line);
    ::_exit(0);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  std::ifstream in(file);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    EXPECT_EQ(line, std::string(99999, line[0])) << lines;
  EXPECT_EQ(lines, 20);
}

TEST(AppendFile, WhatCannotBeWrittenWholeIsNotWritten) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path file = folder.path() / "f";
  append_to_file(file, "one\n");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{50, 50};
    ::setrlimit(RLIMIT_FSIZE, &most);
    try {
      append_to_file(file, std::string(100, 'x'));
    } catch (const Error&) { ::_exit(7); }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(content(file), "one\n");
}

}  // namespace
}  // namespace tenon
