#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tenon {

// Levenshtein's distance, row by row.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  const auto best = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  return best == known.end() ? std::string_view{} : *best;
}

std::string_view similar_name(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t most_edits = 3;
  const std::string_view close = nearest(name, known);
  return edit_distance(name, close) <= std::min(most_edits, name.size() / 2) ? close : std::string_view{};
}

}  // namespace tenon
