// The tenon command: parses arguments, runs a verb, and turns every failure into one message and an exit
// code.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/cut_file.h"
#include "base/error.h"
#include "base/temporary_path.h"
#include "base/version.h"
#include "tools/terminal.h"
#include "tools/verbs.h"

namespace {

using tenon::Error;
using tenon::Exit;

int report(const Error& e) {
  const auto style = tenon::tools::style(stderr);
  fmt::print(stderr, "{}error:{} {}\n", style.red, style.plain, e.message());
  if (!e.where().empty()) fmt::print(stderr, "  at: {}\n", e.where());
  if (!e.hint().empty()) fmt::print(stderr, "  try: {}\n", e.hint());
  return static_cast<int>(e.code());
}

Error unknown_verb(const CLI::App& app, std::string_view word) {
  std::string known;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!verb->get_group().empty()) known += (known.empty() ? "" : ", ") + verb->get_name();
  return tenon::error("there is no verb '{}'", word).hint("the verbs: " + known);
}

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App app(
      "Converts PyTorch models, fuses their operators and runs them.\n\n"
      "Every verb takes a source file (model.pt, model.pt2, model.onnx) or an artifact (model.tenon).\n"
      "Exit codes: 0 done, 1 results differ, 2 wrong usage or bad input, 3 not supported.",
      "tenon");
  app.set_version_flag("--version", fmt::format("tenon {}", tenon::version()));
  app.require_subcommand(1);
  app.footer("Example: tenon convert resnet50.pt -o resnet50.tenon && tenon run resnet50.tenon");
  for (const auto add : tenon::tools::verbs) add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') throw unknown_verb(app, argv[1]);
    fmt::print(stderr, "error: {}\n  try: tenon {}--help\n", e.what(),
               app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ");
    return static_cast<int>(Exit::bad_input);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  tenon::remove_temporary_paths_on_signals();
  tenon::report_cut_files();
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0) throw tenon::error("the output cannot be written").at("standard output");
    return code;
  } catch (const Error& e) { return report(e); } catch (const std::bad_alloc&) {
    return report(tenon::error("there is not enough memory"));
  } catch (const std::filesystem::filesystem_error& e) {
    return report(tenon::error("this cannot be read: {}", e.code().message()).at(e.path1().string()));
  } catch (const std::system_error& e) {  // from printing
    return report(tenon::error("the output cannot be written: {}", e.code().message()).at("standard output"));
  } catch (const std::exception& e) {
    return report(tenon::error("{}", e.what())
                      .hint("this is a bug in tenon: please report it with the command you ran"));
  }
}
