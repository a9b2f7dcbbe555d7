#include "tools/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace tenon::tools {

Style style(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!isatty(fileno(stream)) || (no_color && *no_color)) return {};
  return {.plain = "\033[0m", .bold = "\033[1m", .dim = "\033[2m", .red = "\033[31m", .green = "\033[32m"};
}

Progress::Progress() : terminal_(isatty(fileno(stderr))) {}
Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}
void Progress::say(std::string_view what) {
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K{}", what);
  std::fflush(stderr);
}

}  // namespace tenon::tools
