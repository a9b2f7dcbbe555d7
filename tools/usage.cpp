#include "tools/usage.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/nearest.h"
#include "base/shell.h"
#include "tools/command.h"

namespace tenon::tools {
namespace {

/// The known word that was perhaps meant: at most two letters off, or a third of them.
std::string_view meant(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view close = nearest(word, views);
  const std::size_t most = std::max<std::size_t>(2, word.size() / 3);
  return edit_distance(word, close) <= most && close.size() > 1 ? close : std::string_view{};
}

std::vector<std::string> verb_names(const CommandText& tenon) {
  std::vector<std::string> names;
  for (const CommandText& c : tenon.commands) names.push_back(c.name);
  return names;
}

const CommandText* find(const CommandText& tenon, std::string_view name) {
  const auto it = std::find_if(tenon.commands.begin(), tenon.commands.end(),
                               [&](const CommandText& c) { return c.name == name; });
  return it == tenon.commands.end() ? nullptr : &*it;
}

const OptionText* find_option(const CommandText& verb, std::string_view word) {
  const std::string_view flag = word.substr(0, word.find('='));
  for (const OptionText& o : verb.options)
    if (!o.positional && (o.flag == flag || o.short_flag == flag)) return &o;
  return nullptr;
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

Error unknown_verb(const CommandText& tenon, const std::string& word) {
  const std::vector<std::string> verbs = verb_names(tenon);
  const std::string all = fmt::format("the verbs: {}", fmt::join(verbs, ", "));
  if (word == "-v" || word == "-V") return error("there is no option '{}'", word).hint("tenon --version");
  const std::string plain = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string_view close = meant(plain, verbs);
  if (!close.empty())
    return error("there is no {} '{}'", is_option(word) ? "option" : "verb", word)
        .hint(fmt::format("did you mean tenon {}?", close));
  if (is_option(word))
    return error("the option '{}' stands before a verb", word).hint("write the verb first; " + all);
  if (std::error_code failed; std::filesystem::is_regular_file(word, failed)) {
    const std::string file = path_in_shell(word);
    return error("a verb comes before the file '{}'", word)
        .hint(fmt::format("tenon inspect {0}, tenon run {0}; {1}", file, all));
  }
  return error("there is no verb '{}'", word).hint(all);
}

// A word too many behind the value of an option that is given once for each value.
Error extra_word(const CommandText& verb, const std::string& extra, const std::vector<std::string>& words) {
  const auto at = std::find(words.begin(), words.end(), extra);
  const auto before = std::find_if(std::make_reverse_iterator(at), words.rend(), is_option);
  const OptionText* option = before == words.rend() ? nullptr : find_option(verb, *before);
  Error e = error("'{}' is one word too many", extra);
  if (option && option->value_is_optional && before.base() == at)
    return e.hint(fmt::format("{} takes {}: {}={}", option->flag, fmt::join(option->choices, " or "),
                              option->flag, option->choices.front()));
  if (option && !option->value.empty() && std::prev(at) >= words.begin() && std::prev(at) != words.begin()) {
    const std::string first = *std::prev(at);
    if (!is_option(first))
      return option->repeats ? e.hint(fmt::format("{0} takes one value each time: {0} {1} {0} {2}", *before,
                                                  in_shell(first), in_shell(extra)))
                             : e.hint(fmt::format("{} takes one value", option->flag));
  }
  return e.hint(fmt::format("see tenon {} --help", verb.name));
}

Error unknown_option(const CommandText& verb, const std::string& word) {
  std::vector<std::string> flags = {"--help"};
  for (const OptionText& o : verb.options)
    if (!o.flag.empty()) flags.push_back(o.flag);
  const std::string flag = word.substr(0, word.find('='));
  const std::string_view close = meant(flag, flags);
  return error("tenon {} has no option '{}'", verb.name, flag)
      .hint(close.empty() ? fmt::format("see tenon {} --help", verb.name)
                          : fmt::format("did you mean {}?", close));
}

std::string usage(const CommandText& verb) {
  std::string text = "tenon " + verb.name;
  for (const OptionText& o : verb.options)
    if (o.positional) text += " " + o.usage();
  return text;
}

Error missing_argument(const CommandText& verb, const CLI::App& parsed,
                       const std::vector<std::string>& words) {
  bool is_first = true;
  for (const OptionText& o : verb.options) {
    if (!o.positional || !o.required) continue;
    if (parsed.get_option(o.name)->count() == 0) {
      const bool has_options = std::any_of(words.begin(), words.end(), is_option);
      Error e = is_first ? error("no {} is given{}", o.name, has_options ? " beside the options" : "")
                         : error("'{}' is missing ({})", o.name, o.description);
      return e.hint(usage(verb) + "; " + verb.footer);
    }
    is_first = false;
  }
  return error("something is missing").hint(usage(verb));
}

}  // namespace

const CLI::App& verb_named(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->get_name() == word && !verb->get_group().empty()) return *verb;
  throw unknown_verb(describe(app), word);
}

void check_options(const CLI::App& app, const std::vector<std::string>& words) {
  const CommandText tenon = describe(app);
  const CommandText* text = words.empty() ? nullptr : find(tenon, words.front());
  if (!text) return;
  const CLI::App* verb = app.get_subcommand(text->name);
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    const bool is_number = word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
    if (!is_option(word) || is_number) continue;
    const std::string flag = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = verb->get_option_no_throw(flag);
    if (!option) {
      if (std::error_code failed; !std::filesystem::exists(word, failed)) throw unknown_option(*text, word);
      continue;
    }
    const OptionText described = describe(*option);
    const bool is_alone = word == flag && !described.value.empty() && !described.value_is_optional;
    if (is_alone) ++i;  // its value may begin with '-'
  }
}

std::vector<std::string> with_values(const CLI::App& app, std::vector<std::string> words) {
  const CommandText tenon = describe(app);
  const CommandText* verb = words.empty() ? nullptr : find(tenon, words.front());
  for (std::size_t i = 1; verb && i < words.size(); ++i) {
    const OptionText* option = find_option(*verb, words[i]);
    if (option && !option->value.empty() && words[i] == option->flag + "=")
      throw error("{} is given no value", option->flag)
          .hint(fmt::format("{}={}", option->flag, option->value));
    if (!option || !option->value_is_optional || words[i].find('=') != std::string::npos) continue;
    const bool chosen = i + 1 < words.size() && std::find(option->choices.begin(), option->choices.end(),
                                                          words[i + 1]) != option->choices.end();
    if (!chosen) words[i] += "=" + option->fallback;
  }
  return words;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& words) {
  const CommandText tenon = describe(app);
  if (words.empty())
    return error("no verb is given").hint(fmt::format("the verbs: {}", fmt::join(verb_names(tenon), ", ")));
  const CommandText* verb = find(tenon, words.front());
  if (!verb) return unknown_verb(tenon, words.front());
  for (const std::string& word : words)
    if (std::error_code failed; is_option(word) && std::filesystem::is_regular_file(word, failed))
      return error("'{}' is taken for an option", word).hint("name the file so: " + in_shell("./" + word));
  const auto extra = app.get_subcommand(verb->name)->remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&e) && !extra.empty())
    return is_option(extra[0]) ? unknown_option(*verb, extra[0]) : extra_word(*verb, extra[0], words);
  if (dynamic_cast<const CLI::RequiredError*>(&e))
    return missing_argument(*verb, *app.get_subcommand(verb->name), words);
  return error("{}", e.what()).hint(fmt::format("see tenon {} --help", verb->name));
}

void refuse_unused(const CLI::App& verb, std::string_view use, std::initializer_list<const char*> options) {
  for (const char* option : options)
    if (verb.get_option(option)->count() > 0)
      throw error("{} does nothing {}", option, use).at("tenon " + verb.get_name()).hint("leave it out");
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const OptionText o = describe(*option);
  if (o.positional) return {};
  std::string text = o.value.empty() ? "" : o.value_is_optional ? "[=" + o.value + "]" : " " + o.value;
  if (!o.fallback.empty()) text += fmt::format(" ({})", o.fallback);
  return o.repeats ? text + " (repeatable)" : text;
}

}  // namespace tenon::tools
