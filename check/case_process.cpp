#include "check/case_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/input_guard.h"
#include "base/memory_limit.h"
#include "converter/process.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t longest_answer = std::size_t{256} << 20;

// What the process said until its end, or until it was stopped.
struct Answer {
  std::string stage = "starting";
  std::optional<CaseResult> result;
  bool complete = false;  // the result is the last word, not the one before the search
};

Answer read_answer(std::string_view text) {
  Answer answer;
  while (true) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return answer;
    const auto line = ordered_json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    text.remove_prefix(end + 1);
    if (line.contains("reads")) remember_input(line["reads"].get<std::string>());
    if (line.contains("stage")) answer.stage = line["stage"].get<std::string>();
    if (line.contains("verdict")) answer.result = case_result(line["verdict"]);
    if (!line.contains("result")) continue;
    answer.result = case_result(line["result"]);
    answer.complete = true;
  }
}

std::string quoted_end(const std::string& complaints) {
  return complaints.empty() ? "" : "it said: " + complaints + (complaints.ends_with('\n') ? "" : "\n");
}

Failure timed_out(std::chrono::milliseconds timeout, const std::string& stage) {
  return {.kind = failure::timeout,
          .message = fmt::format("not done after {:g} s, while {}",
                                 static_cast<double>(timeout.count()) / 1e3, stage),
          .file = {}};
}

Failure crashed(int signal, const std::string& stage, const std::string& complaints) {
  const char* name = ::sigabbrev_np(signal);
  Failure f{.kind = failure::crash,
            .message = fmt::format("crashed with SIG{} ({}) while {}", name ? name : std::to_string(signal),
                                   ::strsignal(signal), stage),
            .details = quoted_end(complaints)};
  if (signal == SIGKILL) f.details += "perhaps the system ended it for lack of memory\n";
  f.data["signal"] = signal;
  return f;
}

Failure ended(int code, const std::string& stage, const std::string& complaints) {
  return {.kind = failure::error,
          .message = fmt::format("its process ended with exit code {} while {}", code, stage),
          .details = quoted_end(complaints)};
}

void say(const char* what, const ordered_json& value) {
  const auto print = [](const ordered_json& line) {
    const std::string text = line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
  for (const auto& file : take_remembered_inputs()) print({{"reads", file.string()}});
  print({{what, value}});
  std::fflush(stdout);
}

void end_with_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::raise(SIGTERM);
}

}  // namespace

CaseResult run_in_process(const Case& c, const SuiteOptions& options) {
  const auto begin = ChildProcess::Clock::now();
  const auto timeout = c.settings.timeout.value_or(options.timeout);
  const auto memory = c.settings.memory_bytes.value_or(options.memory_bytes);
  std::vector<std::string> arguments{"check-case"};
  if (options.allow_libraries) arguments.emplace_back("--allow-libraries");
  const auto& [device, fallback, precision] = options.device;
  for (const auto& [flag, value] :
       {std::pair("--device", device), {"--fallback", fallback}, {"--precision", precision}})
    if (!value.empty()) arguments.insert(arguments.end(), {flag, value});
  arguments.insert(arguments.end(), {"--", c.folder.string(), c.name, std::to_string(memory)});
  for (const auto& [name, kind] : update_kinds)
    if (options.update.*kind) arguments.emplace_back(name);
  ChildProcess child(options.program, arguments);
  std::string text;
  const auto io = child.read_all(text, longest_answer, begin + timeout);
  if (io != ChildProcess::Io::closed) child.stop();
  const auto status = child.wait(begin + timeout);
  const Answer answer = read_answer(text);

  CaseResult result = answer.result.value_or(CaseResult{.name = c.name, .model = c.model.string()});
  result.seconds = std::chrono::duration<double>(ChildProcess::Clock::now() - begin).count();
  if (answer.complete) return result;
  const Failure end = io == ChildProcess::Io::timed_out ? timed_out(timeout, answer.stage)
                      : status.crashed ? crashed(status.code, answer.stage, child.complaints())
                                       : ended(status.code, answer.stage, child.complaints());
  // A verdict without its search is worth more than the search's end.
  if (answer.result)
    result.failures.front().details += "the search for the first difference was " + end.message + "\n";
  else
    result.fail(end);
  return result;
}

void serve_case(const Case& c, Update update) {
  end_with_parent();
  // Mapped model files do not count; tenon-torch has a limit of its own.
  const MemoryLimit limit(c.settings.memory_bytes.value_or(UINT64_MAX));
  say("result", to_json(run_case(c, update,
                                 {.stage = [](std::string_view stage) { say("stage", stage); },
                                  .verdict = [](const CaseResult& r) { say("verdict", to_json(r)); }})));
}

}  // namespace tenon
