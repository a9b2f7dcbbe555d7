#include "kernels/cpu/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/cpu/sort_keys.h"

namespace tenon::cpu {
namespace {

constexpr long keys_at_once = 256;
constexpr long least_radix = 512;  // shorter lines are sorted by comparisons

/// A key and its place in one integer: in their order equal keys are in the order of their places.
template <class Key>
struct Packed;
template <>
struct Packed<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Packed<std::uint64_t> {
  __extension__ using type = unsigned __int128;
};

/// `count` entries, the first `wanted` of which are put in order.
template <class Entry>
struct Entries {
  Entry *at, *others;  // others: room for as many
  long count;

  void sort() { std::sort(at, at + count); }

  void take_first(long wanted, bool sorted) {
    std::nth_element(at, at + wanted - 1, at + count);
    if (sorted) std::sort(at, at + wanted);
  }

  /// Of keys of less than 2^key_bits. The least digit first, and each pass keeps the order of the one before.
  /// Digits that all keys share are left out.
  void sort_by_digits(int key_bits) {
    constexpr int bits = 11, digits = 1 << bits, place_bits = 4 * sizeof(Entry);
    for (int shift = place_bits; shift < place_bits + key_bits; shift += bits) {
      std::array<std::uint32_t, digits> counts{};
      const auto digit = [&](Entry e) { return static_cast<std::size_t>(e >> shift) & (digits - 1); };
      for (long i = 0; i < count; ++i) ++counts[digit(at[i])];
      if (counts[digit(at[0])] == static_cast<std::uint32_t>(count)) continue;
      std::uint32_t before = 0;
      for (std::uint32_t& c : counts) before += std::exchange(c, before);
      for (long i = 0; i < count; ++i) others[counts[digit(at[i])]++] = at[i];
      std::swap(at, others);
    }
  }
};

template <class Key>
std::uint64_t least_key(const Key* keys, long n) {
  if constexpr (sizeof(Key) == 4)
    return least_key_32(keys, n);
  else
    return least_key_64(keys, n);
}

long first_keys(std::uint32_t* keys, long n, long k, std::int64_t* places) {
  return first_keys_32(keys, n, k, places);
}
long first_keys(std::uint64_t* keys, long n, long k, std::int64_t* places) {
  return first_keys_64(keys, n, k, places);
}

long place_of_rank(std::uint32_t* keys, long n, long rank) { return place_of_rank_32(keys, n, rank); }
long place_of_rank(std::uint64_t* keys, long n, long rank) { return place_of_rank_64(keys, n, rank); }

bool order_of_few(const std::uint32_t* keys, long n, long k, std::int64_t* places) {
  return order_of_few_32(keys, n, k, places);
}
bool order_of_few(const std::uint64_t* keys, long n, long k, std::int64_t* places) {
  return order_of_few_64(keys, n, k, places);
}

template <class Key>
class LineSorter {
 public:
  using Entry = typename Packed<Key>::type;

  static std::size_t scratch_bytes(const SortLines& s) {
    return static_cast<std::size_t>(2 * entries_of(s)) * sizeof(Entry) +
           static_cast<std::size_t>(keys_of(s)) * sizeof(Key);
  }

  LineSorter(const SortLines& s, std::byte* scratch)
      : s_(s),
        entries_(reinterpret_cast<Entry*>(scratch)),
        others_(entries_ + entries_of(s)),
        keys_(reinterpret_cast<Key*>(others_ + entries_of(s))) {}

  void sort(long line) {
    x_ = static_cast<const std::byte*>(s_.x) + line * s_.length * static_cast<long>(size_of(s_.dtype));
    places_ = s_.places + line * s_.k;
    if (s_.part == LinePart::mode) {
      find_mode();
    } else if (s_.part == LinePart::one) {
      return take_one(line);
    } else if (s_.k == 1) {
      select_one();
    } else if (selects(s_)) {
      select();
    } else {
      take_whole();
    }
    write(line);
  }

 private:
  static constexpr int key_bits = 8 * sizeof(Key);

  static bool are_few(const SortLines& s) { return 4 * s.k < s.length; }
  /// Few of many are taken from a tree of the least keys, whose root grows with the line: not thousands.
  static bool selects(const SortLines& s) { return s.k > 1 && s.k <= 4096 && are_few(s); }
  static long entries_of(const SortLines& s) {
    const bool by_keys = s.part == LinePart::one || (s.part == LinePart::first && (s.k == 1 || selects(s)));
    return by_keys ? 0 : s.length;
  }
  static long keys_of(const SortLines& s) {
    if (s.part == LinePart::one) return blocks_of(s.length) * keys_of_block;
    return selects(s) ? room_of_first_keys(s.length) : keys_at_once;
  }
  static Key key_of(Entry e) { return static_cast<Key>(e >> key_bits); }
  static Entry entry(Key key, long place) { return Entry{key} << key_bits | static_cast<Key>(place); }

  long read_keys(long first, long most = keys_at_once) {
    const long n = std::min(most, s_.length - first);
    sort_keys(x_ + first * static_cast<long>(size_of(s_.dtype)), s_.dtype, s_.descending, n, keys_);
    return n;
  }

  void select_one() {
    long place = 0;
    Key least = 0;
    for (long first = 0; first < s_.length; first += keys_at_once) {
      const long n = read_keys(first);
      const Key here = least_key(keys_, n);
      if (first > 0 && here >= least) continue;
      least = here;
      place = first + (std::find(keys_, keys_ + n, here) - keys_);
    }
    places_[0] = place;
  }

  void take_one(long line) {
    const long n = read_keys(0, s_.length);
    const long rank = s_.ranks ? std::clamp<long>(s_.ranks[line], 0, s_.k - 1) : s_.k - 1;
    const long place = place_of_rank(keys_, n, rank);
    places_[rank] = place;
    const std::size_t size = size_of(s_.dtype);
    std::memcpy(static_cast<std::byte*>(s_.values) + static_cast<std::size_t>(line * s_.k + rank) * size,
                x_ + static_cast<std::size_t>(place) * size, size);
  }

  void select() {
    long found = first_keys(keys_, read_keys(0, s_.length), s_.k, places_);
    if (found == s_.k) return;
    read_keys(0, s_.length);
    for (long i = 0; found < s_.k; ++i)
      if (keys_[i] == static_cast<Key>(~Key{0})) places_[found++] = i;
  }

  void read_entries() {
    for (long first = 0; first < s_.length; first += keys_at_once) {
      const long n = read_keys(first);
      for (long i = 0; i < n; ++i) entries_[first + i] = entry(keys_[i], first + i);
    }
  }

  /// Integers of 64 bits are mostly numbers of a few: their distances from the least one are short keys.
  struct Near {
    Key least;
    int bits;
  };
  std::optional<Near> near_keys() {
    if (sizeof(Key) < 8 || is_float(s_.dtype)) return std::nullopt;
    Key least = ~Key{0}, largest = 0;
    for (long first = 0; first < s_.length; first += keys_at_once) {
      const long n = read_keys(first);
      for (long i = 0; i < n; ++i) least = std::min(least, keys_[i]), largest = std::max(largest, keys_[i]);
    }
    if (largest - least > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return Near{least, static_cast<int>(std::bit_width(largest - least))};
  }
  Entries<std::uint64_t> near_entries(const Near& near) {
    auto* const entries = reinterpret_cast<std::uint64_t*>(entries_);
    for (long first = 0; first < s_.length; first += keys_at_once) {
      const long n = read_keys(first);
      for (long i = 0; i < n; ++i)
        entries[first + i] =
            static_cast<std::uint64_t>(keys_[i] - near.least) << 32 | static_cast<std::uint64_t>(first + i);
    }
    return {entries, entries + s_.length, s_.length};
  }

  void find_mode() {
    struct Pair {
      Key key;
      Key place;
    };
    static_assert(sizeof(Pair) == sizeof(Entry));
    Pair *const begin = reinterpret_cast<Pair*>(entries_), *const end = begin + s_.length;
    for (long first = 0; first < s_.length; first += keys_at_once) {
      const long n = read_keys(first);
      for (long i = 0; i < n; ++i) begin[first + i] = {keys_[i], static_cast<Key>(first + i)};
    }
    constexpr Key nan = ~Key{0};
    const bool has_nan = is_float(s_.dtype) && std::any_of(begin, end, [](Pair p) { return p.key == nan; });
    if (has_nan)
      std::sort(begin, end, [](const Pair& a, const Pair& b) {
        return a.key < b.key || (a.key == b.key && a.place < b.place);
      });
    else
      std::sort(begin, end, [](const Pair& a, const Pair& b) { return a.key < b.key; });
    long most = 0, run = 0;
    for (const Pair* p = begin; p != end; ++p) {
      const bool goes_on = run > 0 && p[0].key == p[-1].key && !(has_nan && p->key == nan);
      run = goes_on ? run + 1 : 1;
      if (run <= most) continue;
      most = run;
      places_[0] = static_cast<std::int64_t>(p->place);
    }
  }

  void take_whole() {
    if (s_.sorted && s_.length <= keys_at_once && order_of_few(keys_, read_keys(0), s_.k, places_)) return;
    if (const auto near = near_keys()) return take_in_order(near_entries(*near), near->bits);
    read_entries();
    take_in_order(Entries<Entry>{entries_, others_, s_.length}, key_bits);
  }

  template <class E>
  void take_in_order(Entries<E> entries, int bits) {
    if (!s_.sorted || are_few(s_))
      entries.take_first(s_.k, s_.sorted);
    else if (s_.length >= least_radix)
      entries.sort_by_digits(bits);
    else
      entries.sort();
    for (long i = 0; i < s_.k; ++i) {
      using Place = std::conditional_t<sizeof(E) == 8, std::uint32_t, std::int64_t>;
      places_[i] = static_cast<std::int64_t>(static_cast<Place>(entries.at[i]));
    }
  }

  void write(long line) const {
    switch (size_of(s_.dtype)) {
      case 1: return write_values<std::uint8_t>(line);
      case 2: return write_values<std::uint16_t>(line);
      case 4: return write_values<std::uint32_t>(line);
      default: return write_values<std::uint64_t>(line);
    }
  }
  template <class T>
  void write_values(long line) const {
    T* const values = static_cast<T*>(s_.values) + line * s_.k;
    for (long i = 0; i < s_.k; ++i) values[i] = reinterpret_cast<const T*>(x_)[places_[i]];
  }

  const SortLines& s_;
  const std::byte* x_ = nullptr;
  std::int64_t* places_ = nullptr;
  Entry* entries_;
  Entry* others_;
  Key* keys_;
};

bool has_wide_keys(const SortLines& s) { return size_of(s.dtype) == 8; }
std::size_t worker_bytes(const SortLines& s) {
  const std::size_t bytes = has_wide_keys(s) ? LineSorter<std::uint64_t>::scratch_bytes(s)
                                             : LineSorter<std::uint32_t>::scratch_bytes(s);
  return (bytes + 63) / 64 * 64;
}

template <class Key>
void sort_all(const SortLines& s, std::byte* scratch, ThreadPool& pool) {
  constexpr long elements_together = 4096;
  const long together = std::max(1L, elements_together / std::max(1L, s.length));
  pool.parallel_for((s.lines + together - 1) / together, [&](long chunk, int worker) {
    for (long line = chunk * together; line < std::min(s.lines, (chunk + 1) * together); ++line)
      LineSorter<Key>(s, scratch + static_cast<std::size_t>(worker) * worker_bytes(s)).sort(line);
  });
}

}  // namespace

std::size_t sort_scratch_size(const SortLines& s, int threads) {
  return worker_bytes(s) * static_cast<std::size_t>(threads);
}

void sort_lines(const SortLines& s, void* scratch, ThreadPool& pool) {
  if (s.k == 0) return;
  auto* const bytes = static_cast<std::byte*>(scratch);
  has_wide_keys(s) ? sort_all<std::uint64_t>(s, bytes, pool) : sort_all<std::uint32_t>(s, bytes, pool);
}

}  // namespace tenon::cpu
