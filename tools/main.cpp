// The tenon command: parses arguments, runs a verb, and turns every failure into one message and an exit
// code.
#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>

#include "base/cut_file.h"
#include "base/environment.h"
#include "base/input_guard.h"
#include "base/temporary_path.h"
#include "base/utf8.h"
#include "base/version.h"
#include "tools/exit_codes.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace {

using tenon::Error;
using tenon::printable;
using tenon::printable_lines;

// Nothing that a message quotes can begin a line of ours.
std::string indented(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    if (out.ends_with('\n') && c != ' ') out += "  ";
    out += c;
  }
  return out;
}

int report(const Error& e) {
  const auto style = tenon::tools::style(stderr);
  fmt::print(stderr, "{}error:{} {}\n", style.red, style.plain, indented(e.message()));
  if (!e.where().empty()) fmt::print(stderr, "  at: {}\n", printable(e.where()));
  if (!e.hint().empty()) fmt::print(stderr, "  try: {}\n", indented(e.hint()));
  return static_cast<int>(e.code());
}

std::string exit_codes_text() {
  std::string text = "Exit codes:";
  for (std::size_t code = 0; code < tenon::tools::exit_codes.size(); ++code)
    text += fmt::format("{} {} {}", code ? "," : "", code, tenon::tools::exit_codes[code]);
  return text + ".";
}

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App app(
      "Converts PyTorch models, fuses their operators and runs them.\n\n"
      "Every verb takes a source file (model.pt, model.pt2, model.onnx) or an artifact (model.tenon).\n" +
          exit_codes_text(),
      "tenon");
  app.set_version_flag("--version", fmt::format("tenon {}", tenon::version()));
  app.require_subcommand(1);
  app.formatter(std::make_shared<tenon::tools::HelpFormatter>());
  app.footer("Example: tenon convert resnet50.pt -o resnet50.tenon && tenon run resnet50.tenon");
  for (const auto add : tenon::tools::verbs) add(app, exit_code);
  tenon::guard_inputs(tenon::InputGuard::refuse);
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; }))
    verb->parse_complete_callback([verb] { tenon::tools::check_files(*verb); });
  const std::vector<std::string> given = {argv + 1, argv + argc};
  tenon::tools::check_options(app, given);
  const std::vector<std::string> words = tenon::tools::with_values(app, given);
  try {
    app.parse(std::vector(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw tenon::tools::usage_error(app, e, words);
    std::ostringstream text;  // of --help and --version
    const int code = app.exit(e, text, text);
    fmt::print("{}", text.str());
    return code;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  tenon::tools::guard_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is an error of its write
  tenon::remove_temporary_paths_on_signals();
  tenon::report_cut_files();
  try {
    const int code = run(argc, argv);
    tenon::check_inputs_unchanged();
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw tenon::system_error(errno ? errno : EIO, "the output cannot be written").at("standard output");
    return code;
  } catch (const Error& e) { return report(e); } catch (const std::bad_alloc&) {
    return report(tenon::system_error(ENOMEM, "there is not enough memory"));
  } catch (const std::filesystem::filesystem_error& e) {
    return report(tenon::system_error(e.code().value(), "this cannot be read").at(e.path1().string()));
  } catch (const std::system_error& e) {  // from printing
    return report(
        tenon::system_error(e.code().value(), "the output cannot be written").at("standard output"));
  } catch (const std::exception& e) {
    return report(tenon::error("{}", e.what())
                      .hint("this is a bug in tenon: please report it with the command you ran"));
  }
}
