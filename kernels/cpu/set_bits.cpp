#include "kernels/cpu/set_bits.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace tenon::cpu {
namespace {

/// What of each 8 bytes, or of an element, is zero where the element is zero: all but the signs of floats.
/// Two of float8's forms have no -0; the bits that it would have are a NaN.
std::uint64_t bits_that_count(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
    case DType::f8e5m2: return 0x7f;
    case DType::f16:
    case DType::bf16: return 0x7fff;
    case DType::f32: return 0x7fffffff;
    case DType::c64: return 0x7fffffff7fffffff;
    case DType::f64:
    case DType::c128: return 0x7fffffffffffffff;
    default: return ~std::uint64_t{0};
  }
}

/// Walks a dense tensor line by line. Rank 0: it is known when it runs.
template <int Rank>
class Walk {
 public:
  explicit Walk(std::span<const long> sizes) : sizes_(sizes), line_(sizes.size()), columns_(sizes.back()) {}

  int rank() const { return Rank ? Rank : static_cast<int>(sizes_.size()); }
  /// Writes the indices of an element that lies behind those before.
  void write(long place, std::int64_t* to) {
    if (place >= begin_ + columns_) go_to(place);
    const int last = rank() - 1;
    for (int d = 0; d < last; ++d) to[d] = line_[static_cast<std::size_t>(d)];
    to[last] = place - begin_;
  }

 private:
  void go_to(long place) {
    const bool is_next = place < begin_ + 2 * columns_;
    long lines = is_next ? 1 : (place - begin_) / columns_;
    begin_ += lines * columns_;
    for (std::size_t d = line_.size() - 1; lines > 0 && d-- > 0;) {
      line_[d] += lines;
      lines = 0;
      if (line_[d] < sizes_[d] || d == 0) break;
      lines = line_[d] / sizes_[d];
      line_[d] %= sizes_[d];
    }
  }

  std::span<const long> sizes_;
  std::vector<std::int64_t> line_;
  long columns_, begin_ = 0;  // of the line
};

void list_row(const SetBits& set, long chunk, long most, std::int64_t* places) {
  const long begin = chunk * SetBits::words_of_chunk;
  list_bits({.words = set.words + begin,
             .count = std::min(SetBits::words_of_chunk, SetBits::words_of(set.n) - begin),
             .first = 64 * begin,
             .to = places + set.before[chunk],
             .end = places + std::min<long>(most, set.before[chunk + 1])});
}

template <int Rank>
void list_chunk(const SetBits& set, std::span<const long> sizes, long chunk, long most,
                std::int64_t* places) {
  Walk<Rank> walk(sizes);
  const long begin = chunk * SetBits::words_of_chunk;
  const long end = std::min(begin + SetBits::words_of_chunk, SetBits::words_of(set.n));
  std::int64_t* to = places + set.before[chunk] * walk.rank();
  std::int64_t* const last = places + std::min<long>(most, set.before[chunk + 1]) * walk.rank();
  for (long w = begin; w < end; ++w)
    for (std::uint64_t bits = set.words[w]; bits != 0; bits &= bits - 1, to += walk.rank()) {
      if (to == last) return;
      walk.write(64 * w + std::countr_zero(bits), to);
    }
}

/// `write` gives the bits of so many elements from the first on, and returns how many are set.
SetBits found_bits(long n, void* memory, ThreadPool& pool,
                   FunctionRef<long(long first, long count, std::uint64_t* words)> write) {
  SetBits set{.n = n, .words = static_cast<std::uint64_t*>(memory)};
  set.before = reinterpret_cast<std::int64_t*>(set.words + SetBits::words_of(n));
  const long chunks = SetBits::chunks_of(n), elements = 64 * SetBits::words_of_chunk;
  pool.parallel_for(chunks, [&](long chunk, int) {
    const long first = chunk * elements;
    set.before[chunk] =
        write(first, std::min(elements, n - first), set.words + chunk * SetBits::words_of_chunk);
  });
  set.before[chunks] = 0;
  std::exclusive_scan(set.before, set.before + chunks + 1, set.before, std::int64_t{0});
  return set;
}

const std::byte* element(const void* x, DType dtype, long place) {
  return static_cast<const std::byte*>(x) + static_cast<std::size_t>(place) * size_of(dtype);
}

}  // namespace

SetBits find_set_bits(const void* x, DType dtype, long n, void* memory, ThreadPool& pool) {
  return found_bits(n, memory, pool, [&](long first, long count, std::uint64_t* words) {
    return bits_of_words({element(x, dtype, first), size_of(dtype), bits_that_count(dtype), count}, words);
  });
}

SetBits find_changes(const Neighbours& row, void* memory, ThreadPool& pool) {
  return found_bits(row.n, memory, pool, [&](long first, long count, std::uint64_t* words) {
    return bits_of_changes({element(row.x, row.dtype, first), row.dtype, row.last_differs, count}, first == 0,
                           words);
  });
}

void list_places(const SetBits& set, std::span<const long> sizes, long most, std::int64_t* places,
                 ThreadPool& pool) {
  if (sizes.empty() || set.n == 0) return;
  pool.parallel_for(SetBits::chunks_of(set.n), [&](long chunk, int) {
    if (set.before[chunk] >= most) return;
    switch (sizes.size()) {
      case 1: return list_row(set, chunk, most, places);
      case 2: return list_chunk<2>(set, sizes, chunk, most, places);
      case 3: return list_chunk<3>(set, sizes, chunk, most, places);
      case 4: return list_chunk<4>(set, sizes, chunk, most, places);
      default: return list_chunk<0>(set, sizes, chunk, most, places);
    }
  });
}

void fill_in_order(const SetBits& set, const InOrder& fill, ThreadPool& pool) {
  const long elements = 64 * SetBits::words_of_chunk;
  pool.parallel_for(SetBits::chunks_of(set.n), [&](long chunk, int) {
    const long first = chunk * elements;
    const auto bytes = [&](long count) { return static_cast<std::size_t>(count) * fill.bytes; };
    fill_words({.x = static_cast<const std::byte*>(fill.x) + bytes(first),
                .source = static_cast<const std::byte*>(fill.source) + bytes(set.before[chunk]),
                .y = static_cast<std::byte*>(fill.y) + bytes(first),
                .bytes = fill.bytes,
                .left = set.count() - set.before[chunk]},
               set.words + chunk * SetBits::words_of_chunk, std::min(elements, set.n - first));
  });
}

}  // namespace tenon::cpu
