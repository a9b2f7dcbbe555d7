#include "tools/command.h"

#include <fmt/format.h>

namespace tenon::tools {
namespace {

// CLI11 keeps the choices of an IsMember check in the type's name only: "TEXT:{torch,reference}".
std::vector<std::string> choices_in(std::string_view type) {
  std::vector<std::string> choices;
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos) return choices;
  std::string_view list = type.substr(open + 1, close - open - 1);
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const std::string_view choice = list.substr(0, comma);
    choices.emplace_back(choice.substr(0, choice.find("->")));  // "word->value" where words stand for values
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return choices;
}

}  // namespace

OptionText describe(const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  if (text.positional) text.name = option.get_name(true);
  if (!option.get_lnames().empty()) text.flag = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) text.short_flag = "-" + option.get_snames().front();
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) {
    text.choices = choices_in(type);
    text.value = text.choices.empty() ? type.substr(0, type.find(':'))
                                      : fmt::format("{}", fmt::join(text.choices, "|"));
  }
  text.description = option.get_description();
  text.fallback = option.get_default_str();
  text.required = option.get_required();
  text.repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  text.value_is_optional = option.get_items_expected_min() == 0 && option.get_items_expected_max() == 1;
  return text;
}

std::string OptionText::usage() const {
  if (positional) return required ? name : "[" + name + "]";
  const std::string names = short_flag + (short_flag.empty() || flag.empty() ? "" : ", ") + flag;
  if (value.empty()) return names;
  return names + (value_is_optional ? "[=" + value + "]" : " " + value);
}

CommandText describe(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == app.get_help_ptr()) continue;
    text.options.push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) text.commands.push_back(describe(*command));
  return text;
}

}  // namespace tenon::tools
