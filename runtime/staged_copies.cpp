#include "runtime/staged_copies.h"

#include <algorithm>
#include <cstring>

#include "base/alignment.h"

namespace tenon {
namespace {

constexpr std::size_t most = 16 << 20;
// Of an upload: the host copies it in about 20 us, some times what it takes to enqueue it. Downloads wait for
// each piece.
constexpr std::size_t piece_bytes = 256 << 10, most_downloaded = 1 << 20;

}  // namespace

std::size_t stage_bytes(std::size_t bytes) { return std::min(aligned_up(bytes, line_bytes), most); }

void Uploads::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    if (used_ >= stage_.size()) {
      queue_.wait();
      used_ = 0;
    }
    const std::size_t piece = std::min({bytes, piece_bytes, stage_.size() - used_});
    std::byte* const staged = stage_.data() + used_;
    std::memcpy(staged, from, piece);
    queue_.copy(to, staged, piece);
    used_ += aligned_up(piece, line_bytes);
    to += piece;
    from += piece;
    bytes -= piece;
  }
}

void download(Queue& queue, std::span<std::byte> stage, std::byte* to, const std::byte* from,
              std::size_t bytes) {
  const bool is_one = bytes <= std::min(piece_bytes, stage.size());
  const std::size_t piece = is_one ? bytes : std::min(stage.size() / 2, most_downloaded);
  const auto piece_at = [&](std::size_t begin) { return std::min(bytes - begin, piece); };
  const auto stage_of = [&](std::size_t begin) { return stage.data() + begin / piece % 2 * piece; };
  const auto enqueue = [&](std::size_t begin) {
    if (begin < bytes) queue.copy(stage_of(begin), from + begin, piece_at(begin));
  };
  enqueue(0);
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    queue.wait();
    enqueue(begin + piece);
    std::memcpy(to + begin, stage_of(begin), piece_at(begin));
  }
}

}  // namespace tenon
