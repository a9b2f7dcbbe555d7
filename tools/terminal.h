// What goes to a terminal: colours, progress (tables are report/table.h).
#pragma once
#include <cstdio>
#include <string_view>

#include "report/table.h"

namespace tenon::tools {

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
