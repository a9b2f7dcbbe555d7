// Measures columns, then pads them.
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) ||
                           ((cell[0] == '-' || cell[0] == '~') && cell.size() > 1));
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

namespace {

std::string scaled(double value, double base, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  while (value >= base && unit + 1 != units.end()) {
    value /= base;
    ++unit;
  }
  const int digits = unit == units.begin() || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, digits, *unit);
}

}  // namespace

std::string count_text(double value) { return scaled(value, 1000, {"", " K", " M", " G", " T"}); }
std::string bytes_text(double value) { return scaled(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB"}); }

std::string shorten(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t head = (width - 2) / 2, tail = width - 2 - head;
  return text.substr(0, head) + ".." + text.substr(text.size() - tail);
}

}  // namespace tenon
