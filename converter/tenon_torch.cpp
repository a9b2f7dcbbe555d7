#include "converter/tenon_torch.h"

#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>

namespace tenon {

KernelGuards kernel_guards() {
  const auto landlock = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return {.landlock = static_cast<int>(std::max(landlock, 0L)),
          .seccomp = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0};
}

std::string KernelGuards::missing() const {
  std::string text;
  if (landlock == 0) text = "no Landlock (Linux 5.13 has it): it could read other files";
  if (!seccomp)
    text += fmt::format("{}no seccomp filters: it could start programs, send signals and use the network",
                        text.empty() ? "" : "; ");
  return text;
}

std::string describe(const KernelGuards& guards) {
  std::string text = guards.landlock ? fmt::format("Landlock {}", guards.landlock) : "";
  if (guards.seccomp) text += text.empty() ? "seccomp" : ", seccomp";
  const std::string missing = guards.missing();
  if (missing.empty()) return text;
  return fmt::format("{}a model that takes LibTorch over is not fully shut in: {}",
                     text.empty() ? "" : text + "; ", missing);
}

Error error_of(const nlohmann::json& record) {
  return Error(record.at("error").get<std::string>(), static_cast<Exit>(record.value("code", 2)));
}

std::uint64_t default_memory_limit() {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
  const auto machine = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::max(std::uint64_t{4} << 30, machine / 4 * 3);
}

std::unique_ptr<ChildProcess> start_tenon_torch(std::vector<std::string> arguments) {
  static std::once_flag warned;
  std::call_once(warned, [] {
    if (const std::string missing = kernel_guards().missing(); !missing.empty())
      fmt::print(stderr, "warning: LibTorch is not fully shut in, {}; open only files that you trust\n",
                 missing);
  });
  add_operator_libraries(arguments);
  return std::make_unique<ChildProcess>(find_tenon_torch(), arguments,
                                        ChildOptions{.clear_environment = true, .own_group = true});
}

}  // namespace tenon
