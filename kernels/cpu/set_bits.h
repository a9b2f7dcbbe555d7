// Elements that are not zero: found and counted once, then listed, or filled from a dense row.
#pragma once
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Which of n elements are not zero: bit i % 64 of word i / 64. Threads share them in chunks.
struct SetBits {
  static constexpr long words_of_chunk = 256;

  long n = 0;
  std::uint64_t* words = nullptr;
  std::int64_t* before = nullptr;  // how many are set in front of each chunk, and at last how many there are

  static constexpr long words_of(long n) { return (n + 63) / 64; }
  static constexpr long chunks_of(long n) { return (words_of(n) + words_of_chunk - 1) / words_of_chunk; }
  long count() const { return before[chunks_of(n)]; }
};

/// Bytes that the bits of n elements take.
constexpr std::size_t set_bits_bytes(long n) {
  return sizeof(std::int64_t) * static_cast<std::size_t>(SetBits::words_of(n) + SetBits::chunks_of(n) + 1);
}
/// Of x, which is dense and not of strings. `memory` has set_bits_bytes(n), aligned to 8.
SetBits find_set_bits(const void* x, DType dtype, long n, void* memory, ThreadPool& pool);

/// The elements of x that differ from the one before, and the first. NaN differs from NaN, -0 does not from
/// 0; with `last_differs` the largest unsigned integer differs from itself. x is dense, f32, f64 or of
/// integers.
struct Neighbours {
  const void* x = nullptr;
  DType dtype = DType::f32;
  bool last_differs = false;
  long n = 0;
};
SetBits find_changes(const Neighbours& row, void* memory, ThreadPool& pool);

/// The indices of the first `most` set elements, or of all, in a dense tensor of these sizes: rows of
/// sizes.size() numbers.
void list_places(const SetBits& set, std::span<const long> sizes, long most, std::int64_t* places,
                 ThreadPool& pool);

/// y = x, but for the set elements, which are those of the source, one after the other: it has count() of
/// them. Elements of so many bytes: a power of two up to 16.
struct InOrder {
  const void* x = nullptr;
  const void* source = nullptr;
  void* y = nullptr;
  std::size_t bytes = 4;
  long left = 0;  // elements of the source from here on: set by fill_in_order
};
void fill_in_order(const SetBits& set, const InOrder& fill, ThreadPool& pool);

/// Whether (word & mask) is not zero, of n elements of `width` bytes, as bits; those of two words (16 bytes)
/// where one of them is so.
struct WordsToTest {
  const void* x;
  std::size_t width;
  std::uint64_t mask;
  long n;
};
/// Writes words_of(n) words; returns how many bits are set.
using BitsOfWords = long(const WordsToTest& test, std::uint64_t* words);
TENON_PER_ISA(BitsOfWords, bits_of_words, bits_of_words)
/// The same of a part of a row, whose element -1 is another one of it unless the part is the first.
using BitsOfChanges = long(const Neighbours& part, bool is_first, std::uint64_t* words);
TENON_PER_ISA(BitsOfChanges, bits_of_changes, bits_of_changes)

/// The numbers of the set bits of some words, the first of which is `first`, up to `end`.
struct BitsToList {
  const std::uint64_t* words;
  long count;
  std::int64_t first;
  std::int64_t *to, *end;
};
using ListBits = void(const BitsToList& bits);
TENON_PER_ISA(ListBits, list_bits, list_bits)

/// The same as fill_in_order for the elements of some words; `fill` begins there.
using FillWords = void(const InOrder& fill, const std::uint64_t* words, long n);
TENON_PER_ISA(FillWords, fill_words, fill_words)

}  // namespace tenon::cpu
