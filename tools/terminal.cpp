#include "tools/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "base/progress.h"

namespace tenon::tools {
namespace {

bool is_terminal() { return isatty(fileno(stderr)) != 0; }

std::size_t columns() {
  winsize size{};
  const bool known = ioctl(fileno(stderr), TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

}  // namespace

Style style(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!isatty(fileno(stream)) || (no_color && *no_color)) return {};
  return {.plain = "\033[0m", .bold = "\033[1m", .dim = "\033[2m", .red = "\033[31m", .green = "\033[32m"};
}

Progress::Progress() : terminal_(is_terminal()) {
  if (!terminal_) return;
  try {
    clock_ = std::jthread([this](std::stop_token stop) { refresh(std::move(stop)); });
  } catch (const std::system_error&) {}  // a line that stands still
}

Progress::~Progress() {
  clock_ = {};  // joined
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::say(std::string_view what) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  what_ = what;
  begin_ = Clock::now();
  draw();
}

void Progress::refresh(std::stop_token stop) {
  constexpr std::chrono::milliseconds period{250};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait_for(lock, stop, period, [] { return false; });
    if (!what_.empty()) draw();
  }
}

void Progress::draw() {
  std::string text = what_;
  if (!text.empty()) {
    const std::string count = shown_count();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
    if (!count.empty()) text += ": " + count;
    if (seconds > 0) text += fmt::format(", {} s", seconds);
    text = shorten(text, columns() - 1);
  }
  if (text == drawn_) return;
  drawn_ = text;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

}  // namespace tenon::tools
