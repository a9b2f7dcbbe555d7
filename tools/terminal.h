// What goes to a terminal or a log: guarded against what files say, with colours and progress (tables are
// report/table.h).
#pragma once
#include <cstdio>
#include <string_view>

#include "report/table.h"

namespace tenon::tools {

/// From now on stdout and stderr write control characters as \uXXXX, but for line breaks and the sequences of
/// Style, and no line that a CI service takes for a command ("::error", "##[...]"): names of a model may hold
/// anything. What is written to stdout while it is closed fails; stderr never does. Nothing may have been
/// printed or opened before.
void guard_standard_streams();
/// Past the guard, to standard output: text that was escaped and may hold commands of a CI service.
void print_commands(std::string_view);

/// Escape sequences, empty where the stream is no terminal or NO_COLOR is set.
struct Style {
  const char *plain = "", *bold = "", *dim = "", *red = "", *green = "";
};
Style style(std::FILE*);

/// A line on stderr that the next one replaces; nothing when stderr is no terminal. Cleared at the end.
class Progress {
 public:
  Progress();
  ~Progress();
  void say(std::string_view what);

 private:
  bool terminal_;
};

}  // namespace tenon::tools
