#include "converter/libtorch/system_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace tenon::libtorch {
namespace {

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), &seccomp_release) {
    if (!context_) throw std::runtime_error("no filter of system calls can be made");
  }

  void allow(int call) { need(seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 0, nullptr)); }
  /// Only where these bits of the argument have this value.
  void allow(int call, unsigned argument, std::uint64_t bits, std::uint64_t value) {
    const scmp_arg_cmp condition{argument, SCMP_CMP_MASKED_EQ, bits, value};
    need(seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 1, &condition));
  }
  void deny(int call, int reason) {
    need(seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(reason)), call, 0,
                                nullptr));
  }
  void enter() {
    need(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    need(seccomp_load(context_.get()));
  }

 private:
  static void need(int result) {
    if (result < 0)
      throw std::runtime_error("the filter of system calls cannot be set: " +
                               std::string(std::strerror(-result)));
  }
  std::unique_ptr<void, decltype(&seccomp_release)> context_;
};

constexpr std::uint64_t all_bits = UINT64_MAX, int_bits = UINT32_MAX;
constexpr std::uint64_t temporary_file = O_TMPFILE & ~O_DIRECTORY;

}  // namespace

bool allow_needed_system_calls() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) return false;
  Filter filter;
  for (const int call :
       {// its files and the socket to its parent
        SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
        SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(stat), SCMP_SYS(lstat),
        SCMP_SYS(newfstatat), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
        SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(poll), SCMP_SYS(ppoll),
        // memory; oneDNN compiles kernels into it
        SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect),
        SCMP_SYS(madvise),
        // threads
        SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
        SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getcpu),
        SCMP_SYS(membarrier),
        // time, chance, and what the machine is
        SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
        SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(getrusage), SCMP_SYS(sysinfo),
        SCMP_SYS(uname), SCMP_SYS(getrlimit),
        // signals to itself, and its end
        SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
        SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)})
    filter.allow(call);
  // Files for reading only, threads but no processes, signals to nobody else, limits only looked at.
  filter.allow(SCMP_SYS(open), 1, O_ACCMODE | O_CREAT | O_TRUNC | temporary_file, O_RDONLY);
  filter.allow(SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC | temporary_file, O_RDONLY);
  filter.allow(SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD);
  filter.deny(SCMP_SYS(clone3), ENOSYS);  // its flags lie in memory: the C library then uses clone
  filter.allow(SCMP_SYS(tgkill), 0, int_bits, static_cast<std::uint64_t>(::getpid()));
  filter.allow(SCMP_SYS(prlimit64), 2, all_bits, 0);
  filter.allow(SCMP_SYS(sched_setaffinity), 0, int_bits, 0);  // of the calling thread
  filter.allow(SCMP_SYS(prctl), 0, int_bits, PR_SET_NAME);
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC})
    filter.allow(SCMP_SYS(fcntl), 1, int_bits, static_cast<std::uint64_t>(command));
  filter.enter();
  return true;
}

}  // namespace tenon::libtorch
