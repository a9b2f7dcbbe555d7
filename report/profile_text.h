// A profile as people read it.
#pragma once
#include "report/profile.h"

namespace tenon {

struct TextOptions {
  TimesBy by = TimesBy::step;
  int depth = 0;  // of module paths; 0: all names
  int top = 20;   // lines of the table; 0: all
  std::size_t width = 100;
  std::string show_all = " (--top 0: all)";  // behind a line that says how many are not shown
};

/// The pipeline, the table of times, latency, memory, and advice where there is something to say. Estimates
/// are marked "~".
std::string to_text(const ProfileReport&, const TextOptions& = {});
std::string to_text(const Comparison&, const TextOptions& = {});

}  // namespace tenon
