// Copies by tables: lines in even pieces where they have such, equal lines copied from each other.
#include "kernels/cpu/mapped_copy.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tenon::cpu {
namespace {

/// Elements of an axis that are the source's in order.
bool is_dense(const std::vector<long>& offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != static_cast<long>(i)) return false;
  return !offsets.empty();
}

}  // namespace

MappedCopy::MappedCopy(std::size_t element_size, std::vector<std::vector<long>> offsets, const void* fill,
                       long row)
    : size_(element_size), offsets_(std::move(offsets)) {
  TENON_CHECK(!offsets_.empty());
  // What moves together is a block, if all other offsets are whole numbers of it.
  const std::vector<long>& last = offsets_.back();
  const auto length = static_cast<long>(last.size());
  const bool fits =
      length > 0 && std::all_of(offsets_.begin(), offsets_.end() - 1, [&](const std::vector<long>& axis) {
        return std::all_of(axis.begin(), axis.end(), [&](long o) { return o == outside || o % length == 0; });
      });
  std::size_t block = 1;
  const bool rows_are_blocks = offsets_.size() > 1 && is_dense(last) && fits;
  if (rows_are_blocks) {
    block = last.size();
    offsets_.pop_back();
    for (auto& axis : offsets_)
      for (long& o : axis)
        if (o != outside) o /= length;
  }
  size_ *= block;
  const long row_bytes = row * static_cast<long>(element_size);
  step_ = rows_are_blocks ? row_bytes : static_cast<long>(size_);
  for (std::size_t i = 0; i < block; ++i) {
    const auto* const from = static_cast<const std::byte*>(fill);
    fill_.insert(fill_.end(), from, from + element_size);
  }
  line_ = std::move(offsets_.back());
  line_step_ = rows_are_blocks ? static_cast<long>(line_.size()) * step_ : row_bytes;
  offsets_.pop_back();
  if (offsets_.empty()) offsets_.push_back({0});
  nowhere_.assign(offsets_.back().size(), outside);
  has_outside_ = std::find(line_.begin(), line_.end(), outside) != line_.end();
  pieces_ = pieces_of(line_);
  run_ = run_of(pieces_);
  constexpr std::size_t long_enough = 4;
  if (pieces_.size() * long_enough > line_.size()) pieces_.clear();
  for (auto& axis : offsets_) {
    rows_ *= static_cast<long>(axis.size());
    for (long& o : axis)
      if (o != outside) o *= static_cast<long>(size_);
  }
}

MappedRun MappedCopy::run_of(const std::vector<MappedPiece>& pieces) {
  MappedRun longest;
  long at = 0;
  for (const MappedPiece& p : pieces) {
    const bool is_run = p.from != outside && p.step == 1 && p.repeats == 1;
    if (is_run && p.count > longest.count) longest = {.first = at, .from = p.from, .count = p.count};
    at += p.count * p.repeats;
  }
  return 2 * longest.count >= at ? longest : MappedRun{};
}

std::vector<MappedPiece> MappedCopy::pieces_of(const std::vector<long>& offsets) {
  std::vector<MappedPiece> pieces;
  const auto n = static_cast<long>(offsets.size());
  const auto at = [&](long i) { return offsets[static_cast<std::size_t>(i)]; };
  const auto repeats_at = [&](long i) {
    long repeats = 1;
    while (i + repeats < n && at(i + repeats) == at(i)) ++repeats;
    return repeats;
  };
  for (long i = 0; i < n;) {
    MappedPiece piece{.from = at(i), .step = 0, .count = 1, .repeats = repeats_at(i)};
    i += piece.repeats;
    while (piece.from != outside && i < n && at(i) != outside && repeats_at(i) == piece.repeats) {
      const long step = at(i) - at(i - 1);
      if (piece.count > 1 && step != piece.step) break;
      piece.step = step;
      ++piece.count;
      i += piece.repeats;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

template <class Visit>
void MappedCopy::for_runs(long first, long last, Visit visit) const {
  const auto size = static_cast<long>(offsets_.back().size());
  for (long row = first; row < last;) {
    long outer = 0, rest = row / size;
    for (std::size_t d = offsets_.size() - 1; d-- > 0 && outer != outside;) {
      const auto extent = static_cast<long>(offsets_[d].size());
      const long own = offsets_[d][static_cast<std::size_t>(rest % extent)];
      outer = own == outside ? outside : outer + own;
      rest /= extent;
    }
    const long at = row % size, count = std::min(size - at, last - row);
    visit(row, outer, outer == outside ? nowhere_.data() : offsets_.back().data() + at, count);
    row += count;
  }
}

/// Of blocks that have no kernel of their own.
void MappedCopy::copy_blocks(const std::byte* source, std::byte* target, const long* offsets,
                             long rows) const {
  const auto size = static_cast<long>(size_);
  for (long r = 0; r < rows; ++r)
    for (const long place : line_) {
      const bool is_filled = place == outside || offsets[r] == outside;
      std::memcpy(target, is_filled ? fill_.data() : source + offsets[r] + place * size, size_);
      target += step_;
    }
}

void MappedCopy::run(const void* source, void* target, ThreadPool& pool) const {
  if (rows_ == 0 || line_.empty()) return;
  constexpr long bytes_of_chunk = 1 << 16;
  const auto bytes = static_cast<long>(line_.size() * size_);
  const long per_chunk = std::max(1L, bytes_of_chunk / bytes);
  const bool has_kernel =
      step_ == static_cast<long>(size_) && (size_ == 1 || size_ == 2 || size_ == 4 || size_ == 8);
  const MappedLine line{.size = size_,
                        .places = line_.data(),
                        .length = static_cast<long>(line_.size()),
                        .has_outside = has_outside_,
                        .run = run_,
                        .pieces = pieces_.data(),
                        .piece_count = static_cast<long>(pieces_.size()),
                        .fill = fill_.data()};
  pool.parallel_for((rows_ + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    const long first = chunk * per_chunk, last = std::min(rows_, first + per_chunk);
    for_runs(first, last, [&](long row, long outer, const long* offsets, long count) {
      const std::byte* const from = static_cast<const std::byte*>(source) + (outer == outside ? 0 : outer);
      std::byte* const to = static_cast<std::byte*>(target) + row * line_step_;
      if (!has_kernel)
        copy_blocks(from, to, offsets, count);
      else if (line_step_ == bytes)
        copy_mapped_rows(line, from, offsets, count, to);
      else
        for (long r = 0; r < count; ++r) copy_mapped_rows(line, from, offsets + r, 1, to + r * line_step_);
    });
  });
}

}  // namespace tenon::cpu
