// tenon-torch: LibTorch in a process of its own, so that a hostile or damaged file cannot harm tenon.
//   tenon-torch read FILE    the program of a TorchScript file as JSON on standard output
//   tenon-torch serve FILE   runs the model for the requests on standard input (torch_protocol.h)
// Started by tenon, not by users. Exit codes: 0 done, 2 failed (standard output holds {"error": "…", "code":
// 2}).
#include <ATen/Context.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "converter/libtorch/commands.h"
#include "converter/libtorch/operators.h"
#include "converter/libtorch/sandbox.h"
#include "converter/libtorch/server.h"

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string error_json() {
  return tenon::libtorch::describe_current_exception().dump(-1, ' ', false,
                                                            nlohmann::json::error_handler_t::replace);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("LibTorch for tenon");
  app.require_subcommand(1);
  tenon::libtorch::ServerOptions options;
  std::vector<std::string> libraries;
  tenon::libtorch::Limits limits{.memory = 0, .cpu_seconds = 0};
  CLI::App* read = app.add_subcommand("read", "the program as JSON");
  CLI::App* serve = app.add_subcommand("serve", "run the model on request");
  for (CLI::App* command : {read, serve}) {
    command->add_option("file", options.path)->required();
    command->add_option("--memory", limits.memory, "bytes beyond LibTorch itself; 0: no limit");
    command->add_option("--cpu-seconds", limits.cpu_seconds, "0: no limit");
    command->add_option("--operators", libraries, "operator libraries (include/tenon/operator.h)");
  }
  serve->add_option("--threads", options.threads);
  serve->add_option("--weights", options.weights, "a .safetensors file beside a .pt2");
  serve->add_flag("--keep-dropout", options.keep_dropout, "dropout in training mode drops nothing");
  CLI11_PARSE(app, argc, argv);

  // What the model or LibTorch prints must not end up in the answer.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    tenon::libtorch::register_operators(libraries);
    at::manual_seed(0);  // makes the generator, which reads /dev/urandom otherwise, behind the sandbox
    tenon::libtorch::enter_sandbox(limits, {options.path, options.weights});
    if (*serve) {
      tenon::libtorch::serve(options, STDIN_FILENO, out);
      ::_exit(0);  // LibTorch's destructors have nothing to add
    }
    const bool is_written = write_all(out, tenon::libtorch::read_command(options.path));
    ::_exit(is_written ? 0 : 2);
  } catch (...) {
    write_all(out, error_json());
    return 2;
  }
}
