// tenon completion: scripts that let a shell complete verbs, options and their values.
#include <fmt/format.h>

#include "tools/command.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

std::string words(const std::vector<std::string>& list) { return fmt::format("{}", fmt::join(list, " ")); }

std::vector<std::string> flags(const CommandText& command) {
  std::vector<std::string> out = {"--help"};
  for (const OptionText& o : command.options)
    for (const std::string& flag : {o.flag, o.short_flag})
      if (!flag.empty()) out.push_back(flag);
  return out;
}

std::vector<std::string> verb_names(const CommandText& tenon) {
  std::vector<std::string> out;
  for (const CommandText& c : tenon.commands) out.push_back(c.name);
  return out;
}

// "verb:--option" to the words that may follow it.
void each_choice(const CommandText& tenon, auto&& f) {
  for (const CommandText& c : tenon.commands)
    for (const OptionText& o : c.options)
      if (!o.choices.empty()) f(c, o);
}

void bash(const CommandText& tenon) {
  fmt::print(R"(# tenon completion bash > ~/.local/share/bash-completion/completions/tenon
_tenon() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{} --help --version" -- "$word")
    return
  fi
  if [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  if [[ $word == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 1]}}
    word=
  fi
  case $verb:$before in
)",
             words(verb_names(tenon)));
  each_choice(tenon, [](const CommandText& c, const OptionText& o) {
    if (!o.positional)
      fmt::print("    {0}:{1}) mapfile -t COMPREPLY < <(compgen -W \"{2}\" -- \"$word\"); return ;;\n",
                 c.name, o.flag, words(o.choices));
  });
  fmt::print("  esac\n  if [[ $word == -* ]]; then\n    case $verb in\n");
  for (const CommandText& c : tenon.commands)
    fmt::print("      {}) mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$word\") ;;\n", c.name,
               words(flags(c)));
  fmt::print("    esac\n    return\n  fi\n  case $verb in\n");
  each_choice(tenon, [](const CommandText& c, const OptionText& o) {
    if (o.positional)
      fmt::print("    {}) mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$word\"); return ;;\n", c.name,
                 words(o.choices));
  });
  fmt::print(
      "  esac\n  mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n}}\ncomplete -o filenames -F _tenon "
      "tenon\n");
}

// With a backslash before each of these characters, a quote as the shell has it inside of quotes.
std::string quoted(std::string_view text, std::string_view escaped, std::string_view quote = "'\\''") {
  std::string out;
  for (const char c : text) {
    if (escaped.find(c) != std::string_view::npos) out += '\\';
    if (c == '\'')
      out += quote;
    else
      out += c;
  }
  return out;
}

void zsh(const CommandText& tenon) {
  fmt::print(
      "#compdef tenon\n# tenon completion zsh > \"${{fpath[1]}}/_tenon\"\n_tenon() {{\n  local -a verbs=(\n");
  for (const CommandText& c : tenon.commands) fmt::print("    '{}:{}'\n", c.name, quoted(c.description, ":"));
  fmt::print(
      "  )\n  if ((CURRENT == 2)); then\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n"
      "  shift words\n  ((CURRENT--))\n  case $verb in\n");
  for (const CommandText& c : tenon.commands) {
    fmt::print("    {})\n      _arguments", c.name);
    for (const OptionText& o : c.options) {
      const std::string action =
          o.value.empty() ? ""
                          : fmt::format(":{}:{}", quoted(o.value, ":[]"),
                                        o.choices.empty() ? "_files" : "(" + words(o.choices) + ")");
      if (o.positional)
        fmt::print(" \\\n        '*:{}:{}'", o.name,
                   o.choices.empty() ? "_files" : "(" + words(o.choices) + ")");
      else
        fmt::print(" \\\n        '*{}[{}]{}'", o.flag + (o.value.empty() ? "" : "="),
                   quoted(o.description, "[]:"), action);
    }
    fmt::print(" \\\n        '--help[Show the options]'\n      ;;\n");
  }
  fmt::print(
      "  esac\n}}\nif [[ $funcstack[1] == _tenon ]]; then _tenon \"$@\"; else compdef _tenon tenon; fi\n");
}

std::string in_fish(std::string_view text) { return quoted(text, "\\", "\\'"); }

void fish(const CommandText& tenon) {
  fmt::print(
      "# tenon completion fish > ~/.config/fish/completions/tenon.fish\ncomplete -c tenon -n "
      "__fish_use_subcommand -f\n");
  for (const CommandText& c : tenon.commands)
    fmt::print("complete -c tenon -n __fish_use_subcommand -a {} -d '{}'\n", c.name, in_fish(c.description));
  for (const CommandText& c : tenon.commands)
    for (const OptionText& o : c.options) {
      const std::string when = fmt::format("complete -c tenon -n '__fish_seen_subcommand_from {}'", c.name);
      if (o.positional) {
        if (!o.choices.empty()) fmt::print("{} -f -a '{}'\n", when, words(o.choices));
        continue;
      }
      fmt::print("{} -l {}{}{} -d '{}'\n", when, o.flag.substr(2),
                 o.short_flag.empty() ? "" : " -s " + o.short_flag.substr(1),
                 o.value.empty()     ? ""
                 : o.choices.empty() ? " -r"
                                     : " -x -a '" + words(o.choices) + "'",
                 in_fish(o.description));
    }
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer("Example: source <(tenon completion bash)");
  verb->callback([&app, &exit_code, shell] {
    const CommandText tenon = describe(app);
    if (*shell == "bash") bash(tenon);
    if (*shell == "zsh") zsh(tenon);
    if (*shell == "fish") fish(tenon);
    exit_code = 0;
  });
}

}  // namespace tenon::tools
