// What a model can do that has taken the LibTorch process over: nothing to files, processes or the network.
#include "converter/libtorch/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/temporary_path.h"
#include "converter/tenon_torch.h"

namespace tenon::libtorch {
namespace {

constexpr int worked = 0;

// The errno with which `act` fails in a sandbox that may read `file`; `worked` where it does not fail.
int inside(const std::string& file, const std::function<long()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      enter_sandbox({.memory = std::uint64_t{1} << 30}, {file});
      errno = 0;
      ::_exit(act() < 0 ? errno : worked);
    } catch (...) { ::_exit(255); }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct Attack {
  const char* name;
  std::function<long(const std::string& other)> act;  // on a file that it was not given
  bool needs_seccomp = true;
};
void PrintTo(const Attack& a, std::ostream* out) { *out << a.name; }

class Sandbox : public testing::TestWithParam<Attack> {
 protected:
  void SetUp() override { std::ofstream(other_) << "precious"; }
  TemporaryFolder folder_{std::filesystem::temp_directory_path()};
  const std::string other_ = (folder_.path() / "other").string();
};

TEST_P(Sandbox, Forbids) {
  const KernelGuards guards = kernel_guards();
  if (GetParam().needs_seccomp ? !guards.seccomp : guards.landlock == 0)
    GTEST_SKIP() << "the kernel lacks it: " << guards.missing();
  EXPECT_EQ(inside("/dev/null", [&] { return GetParam().act(other_); }) == worked, false);
  struct stat info = {};
  ASSERT_EQ(::stat(other_.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 8) << "it was cut";
  EXPECT_NE(info.st_mode & 0777, 0U) << "its mode was changed";
}

long file_call(const std::string& path, int flags) { return ::open(path.c_str(), flags, 0600); }

INSTANTIATE_TEST_SUITE_P(
    Attacks, Sandbox,
    testing::Values(
        Attack{"read", [](const auto& f) { return file_call(f, O_RDONLY); }, false},
        Attack{"read_password_file", [](const auto&) { return file_call("/etc/passwd", O_RDONLY); }, false},
        Attack{"read_environment", [](const auto&) { return file_call("/proc/self/environ", O_RDONLY); },
               false},
        Attack{"write", [](const auto& f) { return file_call(f, O_WRONLY); }, false},
        Attack{"create", [](const auto& f) { return file_call(f + "2", O_WRONLY | O_CREAT); }, false},
        Attack{"cut_open", [](const auto& f) { return file_call(f, O_RDONLY | O_TRUNC); }},
        Attack{"truncate", [](const auto& f) { return long{::truncate(f.c_str(), 0)}; }},
        Attack{"change_mode", [](const auto& f) { return long{::chmod(f.c_str(), 0)}; }},
        Attack{"change_owner", [](const auto& f) { return long{::chown(f.c_str(), 1, 1)}; }},
        Attack{"rename", [](const auto& f) { return long{::rename(f.c_str(), (f + "2").c_str())}; }},
        Attack{"remove", [](const auto& f) { return long{::unlink(f.c_str())}; }},
        Attack{"link", [](const auto& f) { return long{::link(f.c_str(), (f + "2").c_str())}; }},
        Attack{"make_folder", [](const auto& f) { return long{::mkdir((f + "2").c_str(), 0700)}; }},
        Attack{"set_times", [](const auto& f) { return long{::utimensat(AT_FDCWD, f.c_str(), nullptr, 0)}; }},
        Attack{"memory_file", [](const auto&) { return long{::memfd_create("x", 0)}; }},
        Attack{"internet_socket", [](const auto&) { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }},
        Attack{"local_socket", [](const auto&) { return long{::socket(AF_UNIX, SOCK_STREAM, 0)}; }},
        Attack{"datagram_socket", [](const auto&) { return long{::socket(AF_INET6, SOCK_DGRAM, 0)}; }},
        Attack{"send_files_to_parent", [](const auto&) { return ::send(0, "", 0, 0); }},
        Attack{"kill_parent", [](const auto&) { return long{::kill(::getppid(), 0)}; }},
        Attack{"kill_everybody", [](const auto&) { return long{::kill(-1, 0)}; }},
        Attack{"kill_thread_of_another",
               [](const auto&) { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }},
        Attack{"signal_by_file_owner", [](const auto&) { return long{::fcntl(0, F_SETOWN, ::getppid())}; }},
        Attack{"fork",
               [](const auto&) {
                 const pid_t child = ::fork();
                 if (child == 0) ::_exit(0);
                 return long{child};
               }},
        Attack{"vfork", [](const auto&) { return ::syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0); }},
        Attack{"clone3", [](const auto&) { return ::syscall(SYS_clone3, nullptr, 0); }},
        Attack{"start_a_program", [](const auto&) { return long{::execl("/bin/true", "true", nullptr)}; }},
        Attack{"trace_parent", [](const auto&) { return ::ptrace(PTRACE_ATTACH, ::getppid(), 0, 0); }},
        Attack{"read_memory_of_parent",
               [](const auto&) {
                 return ::syscall(SYS_process_vm_readv, ::getppid(), nullptr, 0, nullptr, 0, 0);
               }},
        Attack{"type_into_the_terminal",
               [](const auto&) {
                 char c = 'x';
                 return long{::ioctl(0, TIOCSTI, &c)};
               }},
        Attack{"raise_limits",
               [](const auto&) {
                 const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
                 return long{::setrlimit(RLIMIT_AS, &all)};
               }},
        Attack{"user_namespace", [](const auto&) { return long{::unshare(CLONE_NEWUSER)}; }},
        Attack{"io_uring", [](const auto&) { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
        Attack{"load_kernel_program", [](const auto&) { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
        Attack{"outlive_its_parent", [](const auto&) { return long{::setsid()}; }}),
    [](const auto& attack) { return std::string(attack.param.name); });

TEST(SandboxAllows, WhatLibTorchNeeds) {
  EXPECT_EQ(inside("/proc/version", [] { return file_call("/proc/version", O_RDONLY); }), worked);
  EXPECT_EQ(inside("", [] { return file_call("/proc/cpuinfo", O_RDONLY); }), worked);
  EXPECT_EQ(inside("",
                   [] {
                     int done = 0;
                     std::thread([&] { done = 1; }).join();
                     return done - 1;
                   }),
            worked);
  EXPECT_EQ(inside("", [] { return std::malloc(std::size_t{1} << 26) ? 0 : -1; }), worked);
}

TEST(SandboxAllows, NoMoreMemoryThanItWasGiven) {
  EXPECT_EQ(inside("", [] { return std::malloc(std::size_t{8} << 30) ? 0 : -1; }), ENOMEM);
}

TEST(Sandbox, AnAbortIsStillACrash) {
  EXPECT_EQ(inside("", []() -> long { std::abort(); }), -SIGABRT);
}

TEST(KernelGuards, SayWhatTheyLack) {
  EXPECT_EQ((KernelGuards{7, true}.missing()), "");
  EXPECT_EQ(describe({7, true}), "Landlock 7, seccomp");
  EXPECT_NE((KernelGuards{0, true}.missing()).find("could read other files"), std::string::npos);
  EXPECT_NE(describe({7, false}).find("Landlock 7; a model that takes LibTorch over is not fully shut in"),
            std::string::npos);
  EXPECT_NE((KernelGuards{0, false}.missing()).find("; no seccomp filters"), std::string::npos);
}

}  // namespace
}  // namespace tenon::libtorch
