// What the words of the command line mean where CLI11 leaves it open, and what is wrong with them.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace tenon::tools {

/// Throws Error for an option that the verb does not have, before the word behind it is taken for a file.
void check_options(const CLI::App&, const std::vector<std::string>& words);

/// "--update folder" is "--update=all folder" where a value is optional and the next word is none of its
/// choices. `words` are those behind the program's name.
std::vector<std::string> with_values(const CLI::App&, std::vector<std::string> words);

/// What CLI11 refused, as one sentence with what was perhaps meant.
Error usage_error(const CLI::App&, const CLI::ParseError&, const std::vector<std::string>& words);

/// The verb of the name. Throws Error with the nearest one, and what options and files given in its place
/// mean.
const CLI::App& verb_named(const CLI::App&, const std::string& word);

/// Throws Error where one of the options was given, which do nothing in this use: "with --check".
void refuse_unused(const CLI::App& verb, std::string_view use, std::initializer_list<const char*> options);

/// --help: options as `tenon manual` has them.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option*) const override;
};

}  // namespace tenon::tools
