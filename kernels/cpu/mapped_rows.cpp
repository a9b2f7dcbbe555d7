// Rows of a copy by tables. Built once per ISA.
#include "kernels/cpu/mapped_rows.h"

#include <cstdint>

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// An element of that many bytes, which lies anywhere: several together keep the alignment of one.
template <class T>
struct [[gnu::packed]] Block {
  T bytes;
};

/// Blocks of `size` bytes that lie anywhere, the last of which overlaps the one before.
template <long size>
TENON_INLINE void copy_blocks(const std::byte* from, long count, std::byte* to) {
  typedef unsigned char Bytes __attribute__((vector_size(size), aligned(1), may_alias));
  const auto move = [&](long at) {
    *reinterpret_cast<Bytes*>(to + at) = *reinterpret_cast<const Bytes*>(from + at);
  };
  for (long at = 0; at < count - size; at += size) move(at);
  move(count - size);
}

template <class T>
TENON_INLINE void copy_run(const T* from, long count, T* to) {
  constexpr long longest = 2048;  // the C library is quicker
  const auto bytes = static_cast<long>(sizeof(T)) * count;
  const auto* const source = reinterpret_cast<const std::byte*>(from);
  auto* const target = reinterpret_cast<std::byte*>(to);
  if (bytes > longest)
    __builtin_memcpy(target, source, static_cast<std::size_t>(bytes));
  else if (bytes >= 4 * VL)
    copy_blocks<4 * VL>(source, bytes, target);
  else if (bytes >= 16)
    copy_blocks<16>(source, bytes, target);
  else
    for (long i = 0; i < count; ++i) to[i] = from[i];
}

template <class T>
TENON_INLINE void fill(T* to, long count, T value) {
  for (long i = 0; i < count; ++i) to[i] = value;
}

template <class T>
TENON_INLINE void copy_line(const MappedLine& line, const T* source, T* target, T value) {
  if (line.piece_count == 0) {
    if (!line.has_outside) {
      for (long i = 0; i < line.length; ++i) target[i] = source[line.places[i]];
    } else {
      for (long i = 0; i < line.length; ++i)
        target[i] = line.places[i] == mapped_outside ? value : source[line.places[i]];
    }
    return;
  }
  for (const MappedPiece* piece = line.pieces; piece < line.pieces + line.piece_count; ++piece) {
    const MappedPiece p = *piece;
    if (p.from == mapped_outside) {
      fill(target, p.repeats, value);
    } else if (p.count * p.repeats == 1) {
      *target = source[p.from];
    } else if (p.repeats == 1 && p.step == 1) {
      copy_run(source + p.from, p.count, target);
    } else if (p.repeats == 1) {
      for (long i = 0; i < p.count; ++i) target[i] = source[p.from + i * p.step];
    } else if (p.repeats == 2 && p.step == 1) {
      for (long i = 0; i < p.count; ++i) target[2 * i] = target[2 * i + 1] = source[p.from + i];
    } else {
      for (long i = 0; i < p.count; ++i) fill(target + i * p.repeats, p.repeats, source[p.from + i * p.step]);
    }
    target += p.count * p.repeats;
  }
}

/// A run, and what is before and behind it.
template <class T, bool has_outside>
TENON_INLINE void copy_around_run(const MappedLine& line, const T* source, T* target, T value) {
  const auto element = [&](long i) {
    const long place = line.places[i];
    target[i] = has_outside && place == mapped_outside ? value : source[place];
  };
  const MappedRun run = line.run;
  for (long i = 0; i < run.first; ++i) element(i);
  copy_run(source + run.from, run.count, target + run.first);
  for (long i = run.first + run.count; i < line.length; ++i) element(i);
}

template <class T, auto copy>
void copy_rows_by(const MappedLine& given, const std::byte* source, const long* offsets, long rows,
                  std::byte* target) {
  const MappedLine line = given;  // what is written may not lie here
  const T value = *static_cast<const T*>(line.fill);
  long before = mapped_outside;  // the offset of the row before
  for (long r = 0; r < rows; ++r) {
    T* const to = reinterpret_cast<T*>(target) + r * line.length;
    const long offset = offsets[r];
    if (offset == mapped_outside)
      fill(to, line.length, value);
    else if (offset == before)
      copy_run(to - line.length, line.length, to);
    else
      copy(line, reinterpret_cast<const T*>(source + offset), to, value);
    before = offset;
  }
}

template <class T>
void copy_rows(const MappedLine& line, const std::byte* source, const long* offsets, long rows,
               std::byte* target) {
  const auto copy = line.run.count == 0 ? copy_rows_by<T, copy_line<T>>
                    : line.has_outside  ? copy_rows_by<T, copy_around_run<T, true>>
                                        : copy_rows_by<T, copy_around_run<T, false>>;
  copy(line, source, offsets, rows, target);
}

}  // namespace

void copy_mapped_rows(const MappedLine& line, const std::byte* source, const long* offsets, long rows,
                      std::byte* target) {
  switch (line.size) {
    case 1: return copy_rows<Block<std::uint8_t>>(line, source, offsets, rows, target);
    case 2: return copy_rows<Block<std::uint16_t>>(line, source, offsets, rows, target);
    case 4: return copy_rows<Block<std::uint32_t>>(line, source, offsets, rows, target);
    default: return copy_rows<Block<std::uint64_t>>(line, source, offsets, rows, target);
  }
}

}  // namespace tenon::cpu::TENON_ISA
