// Copies by tables: lines in even pieces where they have such, equal lines copied from each other.
#include "kernels/cpu/mapped_copy.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tenon::cpu {
namespace {

/// A block of that many bytes, which lies anywhere: several elements together keep the alignment of one.
template <class T>
struct [[gnu::packed]] Block {
  T bytes;
};

/// Elements of an axis that are the source's in order.
bool is_dense(const std::vector<long>& offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != static_cast<long>(i)) return false;
  return !offsets.empty();
}

}  // namespace

MappedCopy::MappedCopy(std::size_t element_size, std::vector<std::vector<long>> offsets, const void* fill)
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
  if (offsets_.size() > 1 && is_dense(last) && fits) {
    block = last.size();
    offsets_.pop_back();
    for (auto& axis : offsets_)
      for (long& o : axis)
        if (o != outside) o /= length;
  }
  size_ *= block;
  for (std::size_t i = 0; i < block; ++i) {
    const auto* const from = static_cast<const std::byte*>(fill);
    fill_.insert(fill_.end(), from, from + element_size);
  }
  line_ = std::move(offsets_.back());
  offsets_.pop_back();
  has_outside_ = std::find(line_.begin(), line_.end(), outside) != line_.end();
  pieces_ = pieces_of(line_);
  constexpr std::size_t long_enough = 4;
  if (pieces_.size() * long_enough > line_.size()) pieces_.clear();
  for (auto& axis : offsets_) {
    rows_ *= static_cast<long>(axis.size());
    for (long& o : axis)
      if (o != outside) o *= static_cast<long>(size_);
  }
}

std::vector<MappedCopy::Piece> MappedCopy::pieces_of(const std::vector<long>& offsets) {
  std::vector<Piece> pieces;
  const auto n = static_cast<long>(offsets.size());
  const auto at = [&](long i) { return offsets[static_cast<std::size_t>(i)]; };
  const auto repeats_at = [&](long i) {
    long repeats = 1;
    while (i + repeats < n && at(i + repeats) == at(i)) ++repeats;
    return repeats;
  };
  for (long i = 0; i < n;) {
    Piece piece{.from = at(i), .step = 0, .count = 1, .repeats = repeats_at(i)};
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

/// Of rows first ... last - 1, calls visit(row, offset).
template <class Visit>
void MappedCopy::for_rows(long first, long last, Visit visit) const {
  if (offsets_.empty()) return visit(0, 0);
  const std::vector<long>& axis = offsets_.back();
  const auto size = static_cast<long>(axis.size());
  for (long row = first; row < last;) {
    long outer = 0, rest = row / size;
    for (std::size_t d = offsets_.size() - 1; d-- > 0 && outer != outside;) {
      const auto extent = static_cast<long>(offsets_[d].size());
      const long own = offsets_[d][static_cast<std::size_t>(rest % extent)];
      outer = own == outside ? outside : outer + own;
      rest /= extent;
    }
    for (long i = row % size; i < size && row < last; ++i, ++row) {
      const long own = axis[static_cast<std::size_t>(i)];
      visit(row, own == outside || outer == outside ? outside : outer + own);
    }
  }
}

template <class T>
void MappedCopy::fill_line(T* target) const {
  T value;
  std::memcpy(&value, fill_.data(), sizeof(T));
  std::fill_n(target, line_.size(), value);
}

template <class T>
void MappedCopy::copy_line(const T* source, T* target) const {
  T fill;
  std::memcpy(&fill, fill_.data(), sizeof(T));
  if (pieces_.empty()) {
    if (!has_outside_) {
      for (const long from : line_) *target++ = source[from];
    } else {
      for (const long from : line_) *target++ = from == outside ? fill : source[from];
    }
    return;
  }
  for (const Piece& p : pieces_) {
    if (p.from == outside) {
      std::fill_n(target, p.repeats, fill);
    } else if (p.count * p.repeats == 1) {
      *target = source[p.from];
    } else if (p.repeats == 1 && p.step == 1) {
      std::copy_n(source + p.from, p.count, target);
    } else if (p.repeats == 1) {
      for (long i = 0; i < p.count; ++i) target[i] = source[p.from + i * p.step];
    } else if (p.repeats == 2 && p.step == 1) {
      for (long i = 0; i < p.count; ++i) target[2 * i] = target[2 * i + 1] = source[p.from + i];
    } else {
      for (long i = 0; i < p.count; ++i)
        std::fill_n(target + i * p.repeats, p.repeats, source[p.from + i * p.step]);
    }
    target += p.count * p.repeats;
  }
}

template <class T>
void MappedCopy::copy_rows(const std::byte* source, std::byte* target, long first, long last) const {
  const auto length = static_cast<long>(line_.size());
  long before = outside;  // the offset of the row before
  for_rows(first, last, [&](long row, long offset) {
    T* const to = reinterpret_cast<T*>(target) + row * length;
    if (offset == outside) {
      fill_line(to);
    } else if (offset == before) {
      std::copy_n(to - length, length, to);
    } else {
      copy_line(reinterpret_cast<const T*>(source + offset), to);
    }
    before = offset;
  });
}

void MappedCopy::run(const void* source, void* target, ThreadPool& pool) const {
  if (rows_ == 0 || line_.empty()) return;
  constexpr long bytes_of_chunk = 1 << 16;
  const auto bytes = static_cast<long>(line_.size() * size_);
  const long per_chunk = std::max(1L, bytes_of_chunk / bytes);
  const auto* const from = static_cast<const std::byte*>(source);
  auto* const to = static_cast<std::byte*>(target);
  pool.parallel_for((rows_ + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    const long first = chunk * per_chunk, last = std::min(rows_, first + per_chunk);
    switch (size_) {
      case 1: return copy_rows<Block<std::uint8_t>>(from, to, first, last);
      case 2: return copy_rows<Block<std::uint16_t>>(from, to, first, last);
      case 4: return copy_rows<Block<std::uint32_t>>(from, to, first, last);
      case 8: return copy_rows<Block<std::uint64_t>>(from, to, first, last);
      default: break;
    }
    const auto size = static_cast<long>(size_);
    for_rows(first, last, [&](long row, long offset) {
      std::byte* block = to + row * bytes;
      for (const long place : line_) {
        const bool is_filled = place == outside || offset == outside;
        std::memcpy(block, is_filled ? fill_.data() : from + offset + place * size, size_);
        block += size;
      }
    });
  });
}

}  // namespace tenon::cpu
