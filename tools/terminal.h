// What goes to a terminal or a log: guarded against what files say, with colours and progress (tables are
// report/table.h).
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

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

/// One line on stderr: what is done, how much of it (base/progress.h) and for how long, such as "evaluating
/// the imported graph: 213 of 512 nodes, 12 s". Nothing when stderr is no terminal. Cleared at the end.
class Progress {
 public:
  Progress();
  ~Progress();
  /// The stage that begins; empty: none, the line is cleared for other text.
  void say(std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;
  void refresh(std::stop_token);
  void draw();  // under the lock

  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_, drawn_;
  Clock::time_point begin_ = Clock::now();
  std::jthread clock_;  // runs on terminals only
};

}  // namespace tenon::tools
