#include "kernels/cpu/split_bytes.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::cpu {
namespace {

constexpr int most = 128;  // 255 * 128 and 255 * -128 fit 16 bits
constexpr long bytes_of_word = 4;

// What has to go from a byte that has this neighbour.
int beyond(int byte, int neighbour) {
  const bool has_one_sign = (byte < 0) == (neighbour < 0);
  const int excess = std::abs(byte) + std::abs(neighbour) - most;
  if (!has_one_sign || excess <= 0) return 0;
  return byte < 0 ? -excess : excess;
}

// Takes from the first byte of each pair in a word what is beyond; gives it in two halves.
std::int32_t split_word(std::int8_t* word) {
  const int low = beyond(word[0], word[1]), high = beyond(word[2], word[3]);
  word[0] = static_cast<std::int8_t>(word[0] - low);
  word[2] = static_cast<std::int8_t>(word[2] - high);
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(high) << 16) |
                                   (static_cast<std::uint32_t>(low) & 0xffffU));
}

}  // namespace

void split_bytes(std::int8_t* panels, long panel_width, long width, long depth, std::int32_t* rest) {
  const long strips = width / RestOfBytes::columns;
  std::int32_t *const begin = rest, *const words = begin + strips + 1, *const rows = words + strips * depth;
  std::int32_t count = 0;
  for (long strip = 0; strip < strips; strip++) {
    begin[strip] = count;
    const long column = strip * RestOfBytes::columns;
    std::int8_t* const panel = panels + column / panel_width * panel_width * depth * bytes_of_word;
    for (long word = 0; word < depth; word++) {
      std::int8_t* const at = panel + (word * panel_width + column % panel_width) * bytes_of_word;
      std::int32_t row[RestOfBytes::columns];
      bool any = false;
      for (long n = 0; n < RestOfBytes::columns; n++) {
        row[n] = split_word(at + n * bytes_of_word);
        any |= row[n] != 0;
      }
      if (!any) continue;
      std::copy_n(row, RestOfBytes::columns, rows + count * RestOfBytes::columns);
      words[count++] = static_cast<std::int32_t>(word);
    }
  }
  begin[strips] = count;
}

}  // namespace tenon::cpu
