#include "tools/times_option.h"

#include <map>

#include "tools/ranges.h"
#include "tools/usage.h"

namespace tenon::tools {
namespace {

const std::map<std::string, TimesBy> lines_by = {
    {"step", TimesBy::step}, {"module", TimesBy::module}, {"op", TimesBy::op}, {"kernel", TimesBy::kernel}};

}  // namespace

void TimesOption::add(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--by", [this](const std::string& what) { by = lines_by.at(what); },
          "What a line of the table is: step, module, op or kernel")
      ->check(CLI::IsMember(lines_by))
      ->type_name("WHAT")
      ->default_str("step");
  verb.add_option("--depth", depth, "Names of a module path for --by module (0: all)")
      ->capture_default_str()
      ->check(integer_from(0));
}

void TimesOption::check(const CLI::App& verb) const {
  if (by != TimesBy::module) refuse_unused(verb, "without --by module", {"--depth"});
}

}  // namespace tenon::tools
