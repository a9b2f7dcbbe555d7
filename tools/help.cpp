// tenon help and tenon version: what --help and --version say, as verbs.
#include <fmt/core.h>

#include "base/version.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {

void add_help(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("help", "Show the options of a verb, or the verbs");
  auto name = std::make_shared<std::string>();
  verb->add_option("verb", *name, "The verb");
  verb->footer("Example: tenon help convert");
  verb->callback([&app, &exit_code, name] {
    const CLI::App& shown = name->empty() ? app : verb_named(app, *name);
    const std::string full = name->empty() ? "tenon" : "tenon " + *name;
    fmt::print("{}", shown.get_formatter()->make_help(&shown, full, CLI::AppFormatMode::Normal));
    exit_code = 0;
  });
}

void add_version(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("version", "Print the version");
  verb->footer("Example: tenon version");
  verb->callback([&exit_code] {
    fmt::print("tenon {}\n", version());
    exit_code = 0;
  });
}

}  // namespace tenon::tools
