// tenon manual: every verb and option, as Markdown (docs/cli.md holds it) or as a man page.
#include <fmt/format.h>

#include "base/version.h"
#include "tools/command.h"
#include "tools/exit_codes.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string usage(const CommandText& verb) {
  std::string text = "tenon " + verb.name;
  for (const OptionText& o : verb.options)
    if (o.positional) text += " " + o.usage();
  return text + " [options]";
}

// What stands behind "Example: ", a command a line.
std::string examples(const CommandText& verb) {
  constexpr std::string_view label = "Example: ";
  return verb.footer.starts_with(label) ? verb.footer.substr(label.size()) : std::string();
}

namespace markdown {

std::string cell(const std::string& text) { return replaced(text, "|", "\\|"); }

void print_verb(const CommandText& verb) {
  fmt::print("\n## tenon {}\n\n{}.\n\n```\n{}\n```\n\n", verb.name, verb.description, usage(verb));
  fmt::print("| option | meaning | default |\n| --- | --- | --- |\n");
  for (const OptionText& o : verb.options)
    fmt::print("| `{}` | {} | {} |\n", cell(o.usage()), cell(o.description),
               o.fallback.empty() ? "" : "`" + cell(o.fallback) + "`");
  if (!examples(verb).empty()) fmt::print("\n```console\n$ {}\n```\n", examples(verb));
}

void print_manual(const CommandText& tenon) {
  fmt::print("| verb | what it does |\n| --- | --- |\n");
  for (const CommandText& c : tenon.commands)
    fmt::print("| [`tenon {0}`](#tenon-{0}) | {1} |\n", c.name, c.description);
  for (const CommandText& c : tenon.commands) print_verb(c);
}

}  // namespace markdown

namespace man {

// A line that begins with a dot or a quote would be a request.
std::string text(const std::string& plain) {
  const std::string escaped = replaced(replaced(plain, "\\", "\\e"), "-", "\\-");
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

void print_verb(const CommandText& verb) {
  fmt::print(".SS {}\n{}.\n", text(usage(verb)), text(verb.description));
  for (const OptionText& o : verb.options)
    fmt::print(".TP\n.B {}\n{}{}\n", text(o.usage()), text(o.description),
               o.fallback.empty() ? "" : fmt::format(" (default: {})", text(o.fallback)));
  if (examples(verb).empty()) return;
  fmt::print(".PP\nExample:\n.PP\n.nf\n.RS\n");
  const std::string lines = replaced(examples(verb), "\n         ", "\n");
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    fmt::print("{}\n", text(lines.substr(at, end - at)));
    at = end + 1;
  }
  fmt::print(".RE\n.fi\n");
}

void print_manual(const CommandText& tenon) {
  fmt::print(
      ".TH TENON 1 \"\" \"tenon {}\" \"User Commands\"\n.SH NAME\ntenon \\- convert, verify and run models\n",
      version());
  fmt::print(".SH SYNOPSIS\n.B tenon\n.I verb\n[arguments]\n.SH DESCRIPTION\n");
  fmt::print("{}\n", text(replaced(tenon.description.substr(0, tenon.description.find("\nExit")), "\n\n",
                                   "\n.PP\n")));
  fmt::print(".SH VERBS\n");
  for (const CommandText& c : tenon.commands) print_verb(c);
  fmt::print(".SH EXIT STATUS\n");
  for (std::size_t code = 0; code < exit_codes.size(); ++code)
    fmt::print(".TP\n.B {}\n{}\n", code, text(std::string(exit_codes[code])));
  fmt::print(".SH ENVIRONMENT\n");
  constexpr std::pair<const char*, const char*> variables[] = {
      {"TENON_PYTHON", "The Python that has the package onnxruntime"},
      {"NO_COLOR", "When it is set, no colours"},
      {"TMPDIR", "The folder for temporary files"},
      {"TENON_DEVICE", "Where models run, as --device"},
      {"TENON_FALLBACK", "Where operators run for which that device has no kernel, as --fallback"},
      {"XDG_CACHE_HOME",
       "Where tenon/roofline.json is kept, what this machine can do at most, and tenon/kernels, compiled for "
       "GPUs"},
  };
  for (const auto& [name, meaning] : variables) fmt::print(".TP\n.B {}\n{}\n", name, text(meaning));
}

}  // namespace man

}  // namespace

void add_manual(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("manual", "Print every verb with its options, as Markdown or as a man page");
  auto is_man = std::make_shared<bool>(false);
  verb->add_flag("--man", *is_man, "As a man page");
  verb->footer("Example: tenon manual --man > tenon.1");
  verb->callback([&app, &exit_code, is_man] {
    (*is_man ? man::print_manual : markdown::print_manual)(describe(app));
    exit_code = 0;
  });
}

}  // namespace tenon::tools
