// Resource limits of a tenon-torch process.
#include "converter/libtorch/sandbox.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <fstream>
#include <stdexcept>

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

}  // namespace

void enter_sandbox(const Limits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::signal(SIGXFSZ, SIG_IGN);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 64);
  if (limits.memory > 0) limit(RLIMIT_AS, address_space_in_use() + kStack + limits.memory);
  if (limits.cpu_seconds > 0) limit(RLIMIT_CPU, limits.cpu_seconds);
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
