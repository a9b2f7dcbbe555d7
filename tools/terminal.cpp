#include "tools/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/progress.h"
#include "base/utf8.h"

namespace tenon::tools {
namespace {

std::size_t columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

const std::string clear_line = "\r\033[K";

constexpr Style colours{
    .plain = "\033[0m", .bold = "\033[1m", .dim = "\033[2m", .red = "\033[31m", .green = "\033[32m"};

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// What passes between a stream and its file.
class Guard {
 public:
  explicit Guard(int file) : file_(file), terminal_(isatty(file)) {}

  bool write(std::string_view text) {
    out_.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (const std::size_t length = colour(text.substr(i))) {
        out_ += text.substr(i, length);
        i += length - 1;
      } else {
        put(text[i]);
      }
    }
    return write_all(file_, out_) || file_ == STDERR_FILENO;  // there is nowhere to complain
  }

 private:
  std::size_t colour(std::string_view text) const {
    if (!terminal_ || text.front() != '\033') return 0;
    for (const char* c : {colours.plain, colours.bold, colours.dim, colours.red, colours.green})
      if (text.starts_with(c)) return std::strlen(c);
    return 0;
  }
  void put(char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool ends_c1 = begins_c1_ && byte >= 0x80 && byte < 0xa0;
    if (begins_c1_ && !ends_c1) out_ += '\xc2';
    begins_c1_ = byte == 0xc2;
    if (begins_c1_) return;
    // "::" begins a line, "##[" and "##vso[" stand anywhere.
    const bool commands = (c == ':' && only_blanks_ && before_.ends_with(':')) ||
                          (c == '[' && (before_.ends_with("##") || before_.ends_with("##vso")));
    if (ends_c1 || commands || byte == 0x7f || (byte < 0x20 && c != '\n' && c != '\t'))
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    else
      out_ += c;
    only_blanks_ = c == '\n' || (only_blanks_ && (c == ' ' || c == '\t' || c == ':'));
    if (before_.size() == 5) before_.erase(0, 1);
    before_ += c;
  }

  int file_;
  bool terminal_;
  bool begins_c1_ = false, only_blanks_ = true;
  std::string before_;  // the last five
  std::string out_;
};

std::FILE* guarded(int file) {
  const auto write = [](void* guard, const char* text, std::size_t size) -> ssize_t {
    return static_cast<Guard*>(guard)->write({text, size}) ? static_cast<ssize_t>(size) : 0;
  };
  // Never freed: other threads may print until the process ends.
  static std::array<Guard*, 3> guards;
  Guard*& guard = guards[static_cast<std::size_t>(file)];
  guard = new Guard(file);
  return ::fopencookie(guard, "w", {.read = nullptr, .write = write, .seek = nullptr, .close = nullptr});
}

}  // namespace

void guard_standard_streams() {
  // A file that is opened while one of them is closed would take its number, and our messages.
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(file, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  if (std::FILE* out = guarded(STDOUT_FILENO)) {
    std::setvbuf(out, nullptr, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = out;
  }
  if (std::FILE* err = guarded(STDERR_FILENO)) {
    std::setvbuf(err, nullptr, _IONBF, 0);
    stderr = err;
  }
}

void print_commands(std::string_view text) {
  if (std::fflush(stdout) != 0 || !write_all(STDOUT_FILENO, text))
    throw std::system_error(errno, std::generic_category());
}

Style style(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!isatty(stream == stdout ? STDOUT_FILENO : STDERR_FILENO) || (no_color && *no_color)) return {};
  return colours;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO)) {
  if (!terminal_) return;
  try {
    clock_ = std::jthread([this](std::stop_token stop) { refresh(std::move(stop)); });
  } catch (const std::system_error&) {}  // a line that stands still
}

Progress::~Progress() {
  clock_ = {};  // joined
  if (terminal_) write_all(STDERR_FILENO, clear_line);
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
    text = shorten(printable(text), columns() - 1);
  }
  if (text == drawn_) return;
  drawn_ = text;
  std::fflush(stderr);
  write_all(STDERR_FILENO, clear_line + text);
}

}  // namespace tenon::tools
