// Resource limits, Landlock and the filter of system calls.
#include "converter/libtorch/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "converter/libtorch/system_calls.h"

namespace tenon::libtorch {
namespace {

constexpr std::size_t kStack = std::size_t{512} << 20;

void limit(int resource, std::uint64_t most) {
  rlimit value = {};
  getrlimit(static_cast<__rlimit_resource>(resource), &value);
  if (value.rlim_max != RLIM_INFINITY && value.rlim_max < most) most = value.rlim_max;
  value = {most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &value);
}

std::uint64_t address_space_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// linux/landlock.h of today's distributions knows fewer fields and rights than today's kernels.
struct LandlockRules {
  std::uint64_t files, network, scopes;
};
constexpr std::uint64_t bits(int count) { return (std::uint64_t{1} << count) - 1; }

// Every right that the kernel can take away: each version of Landlock has more of them.
LandlockRules everything_of(long version) {
  const int files = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return {.files = bits(files), .network = bits(version >= 4 ? 2 : 0), .scopes = bits(version >= 6 ? 2 : 0)};
}

// Landlock, for this thread and those it starts; kernels before 5.13 have none.
void allow_reading_only(const std::vector<std::string>& paths) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version <= 0) return;
  const LandlockRules rules = everything_of(version);
  const auto ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0));
  if (ruleset < 0) throw std::runtime_error("Landlock refuses its rules");
  for (const std::string& path : paths) {
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) continue;
    const landlock_path_beneath_attr rule{.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = file};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(file);
  }
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    throw std::runtime_error("Landlock's rules cannot be entered");
  close(ruleset);
}

}  // namespace

void enter_sandbox(const Limits& limits, const std::vector<std::string>& files) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::signal(SIGXFSZ, SIG_IGN);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 64);
  if (limits.memory > 0) limit(RLIMIT_AS, address_space_in_use() + kStack + limits.memory);
  if (limits.cpu_seconds > 0) limit(RLIMIT_CPU, limits.cpu_seconds);
  // LibTorch chooses its kernels by the caches it finds.
  std::vector<std::string> readable = files;
  readable.insert(readable.end(), {"/proc/cpuinfo", "/sys/devices/system/cpu"});
  allow_reading_only(readable);
  allow_needed_system_calls();
}

void on_big_stack(const std::function<void()>& work) {
  struct Task {
    const std::function<void()>& work;
    std::exception_ptr failure;
  } task{work, nullptr};
  const auto run = [](void* argument) -> void* {
    auto& t = *static_cast<Task*>(argument);
    try {
      t.work();
    } catch (...) { t.failure = std::current_exception(); }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, &task) != 0)
    throw std::runtime_error("no thread can be started");
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
  if (task.failure) std::rethrow_exception(task.failure);
}

}  // namespace tenon::libtorch
