// --by and --depth: what a line of a table of times is.
#pragma once
#include <CLI/CLI.hpp>

#include "report/profile.h"

namespace tenon::tools {

struct TimesOption {
  TimesBy by = TimesBy::step;
  int depth = 0;

  void add(CLI::App& verb);
  /// Throws Error where --depth was given, which does nothing for this --by.
  void check(const CLI::App& verb) const;
};

}  // namespace tenon::tools
