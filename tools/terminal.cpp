#include "tools/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) || (cell[0] == '-' && cell.size() > 1));
}

}  // namespace

std::string Table::str() const {
  const std::size_t columns = rows_[0].size();
  std::vector<std::size_t> width(columns, 0);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      width[c] = std::max(width[c], rows_[r][c].size());
      if (r > 0 && !rows_[r][c].empty() && !is_number(rows_[r][c])) right[c] = false;
    }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c)
      line += (c ? "  " : "") +
              (right[c] ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace tenon::tools
