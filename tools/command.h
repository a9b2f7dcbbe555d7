// The command line as data, read from its CLI11 definition: for shell completion and the manual.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tenon::tools {

struct OptionText {
  std::string flag;                  // "--threads"; empty for a positional argument
  std::string short_flag;            // "-t"
  std::string name;                  // of a positional argument: "model"
  std::string value;                 // "N", "FILE"; empty for a flag
  std::vector<std::string> choices;  // the only values allowed; empty: any
  std::string description;
  std::string fallback;
  bool required = false, positional = false;
  bool repeats = false;            // may be given again, one value each time
  bool value_is_optional = false;  // --update and --update=graph

  /// "-t, --threads N"
  std::string usage() const;
};

struct CommandText {
  std::string name, description, footer;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

OptionText describe(const CLI::Option&);
/// Without hidden options (those of no group) and without --help.
CommandText describe(const CLI::App&);

}  // namespace tenon::tools
