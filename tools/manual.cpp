// tenon manual: every verb and option as Markdown; docs/cli.md holds its output.
#include <fmt/format.h>

#include "tools/command.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

void print_verb(const CommandText& verb) {
  std::string usage = "tenon " + verb.name;
  for (const OptionText& o : verb.options)
    if (o.positional) usage += " " + o.usage();
  fmt::print("\n## tenon {}\n\n{}.\n\n```\n{} [options]\n```\n\n", verb.name, verb.description, usage);
  fmt::print("| option | meaning | default |\n| --- | --- | --- |\n");
  for (const OptionText& o : verb.options)
    fmt::print("| `{}` | {} | {} |\n", cell(o.usage()), cell(o.description),
               o.fallback.empty() ? "" : "`" + cell(o.fallback) + "`");
  constexpr std::string_view label = "Example: ";
  if (verb.footer.starts_with(label))
    fmt::print("\n```console\n$ {}\n```\n", verb.footer.substr(label.size()));
}

void print_manual(const CommandText& tenon) {
  fmt::print("| verb | what it does |\n| --- | --- |\n");
  for (const CommandText& c : tenon.commands)
    fmt::print("| [`tenon {0}`](#tenon-{0}) | {1} |\n", c.name, c.description);
  for (const CommandText& c : tenon.commands) print_verb(c);
}

}  // namespace

void add_manual(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("manual", "Print every verb with its options, as Markdown");
  verb->footer("Example: tenon manual > options.md");
  verb->callback([&app, &exit_code] {
    print_manual(describe(app));
    exit_code = 0;
  });
}

}  // namespace tenon::tools
