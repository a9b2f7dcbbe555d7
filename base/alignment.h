// Where memory for elements begins.
#pragma once
#include <cstddef>

namespace tenon {

inline constexpr std::size_t line_bytes = 64, page_bytes = 4096;

/// A load waits for a recent store whose address is the same but for whole pages, as if it read what was
/// stored: a stream that is read and one that is written a few lines further from a page boundary take up to
/// twice as long. Long streams therefore begin at multiples of this many bytes.
inline constexpr std::size_t stream_skew = 512;

/// Memory of so many bytes begins at a multiple of this: small blocks would waste the rest of a page.
constexpr std::size_t alignment_of(std::size_t bytes) {
  return bytes < 4 * page_bytes ? line_bytes : page_bytes;
}

constexpr std::size_t aligned_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace tenon
