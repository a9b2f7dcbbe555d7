// Words of 64 bits, one for each element. Built once per ISA.
#include "kernels/cpu/set_bits.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Bit i: whether flag i is not zero, all of whose bits are the same.
TENON_INLINE std::uint64_t signs(const std::uint8_t* flags) {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(flags + 16 * i));
    bits |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(v))) << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i) bits |= static_cast<std::uint64_t>(flags[i] & 1) << i;
#endif
  return bits;
}

template <class Word, int Words>
TENON_INLINE bool is_set(const Word* x, Word mask) {
  Word found = x[0];
  for (int i = 1; i < Words; ++i) found |= x[i];
  return (found & mask) != 0;
}

/// The bits of 64 elements.
template <class Word, int Words>
TENON_INLINE std::uint64_t whole_word(const Word* x, Word mask) {
#if defined(__AVX512BW__)
  constexpr int step = 64 / sizeof(Word);
  if constexpr (Words == 1) {
    std::uint64_t bits = 0;
    TENON_UNROLL
    for (int i = 0; i < 64; i += step) {
      const __m512i v = _mm512_loadu_si512(x + i);
      std::uint64_t part;
      if constexpr (sizeof(Word) == 1)
        part = _mm512_test_epi8_mask(v, _mm512_set1_epi8(static_cast<char>(mask)));
      else if constexpr (sizeof(Word) == 2)
        part = _mm512_test_epi16_mask(v, _mm512_set1_epi16(static_cast<short>(mask)));
      else if constexpr (sizeof(Word) == 4)
        part = _mm512_test_epi32_mask(v, _mm512_set1_epi32(static_cast<int>(mask)));
      else
        part = _mm512_test_epi64_mask(v, _mm512_set1_epi64(static_cast<long long>(mask)));
      bits |= part << i;
    }
    return bits;
  }
#endif
  alignas(64) std::uint8_t flags[64];
  for (int i = 0; i < 64; ++i) flags[i] = is_set<Word, Words>(x + i * Words, mask) ? 0xff : 0;
  return signs(flags);
}

template <class Word, int Words = 1>
long write_bits(const WordsToTest& test, std::uint64_t* words) {
  const auto* const x = static_cast<const Word*>(test.x);
  const auto mask = static_cast<Word>(test.mask);
  long count = 0, i = 0;
  for (; i + 64 <= test.n; i += 64) {
    const std::uint64_t bits = whole_word<Word, Words>(x + i * Words, mask);
    count += __builtin_popcountll(bits);
    words[i / 64] = bits;
  }
  if (i == test.n) return count;
  std::uint64_t bits = 0;
  for (long k = i; k < test.n; ++k)
    bits |= static_cast<std::uint64_t>(is_set<Word, Words>(x + k * Words, mask)) << (k - i);
  words[i / 64] = bits;
  return count + __builtin_popcountll(bits);
}

/// Whether an element differs from the one before; with LastDiffers all of whose bits set is one that does.
template <bool LastDiffers, class T>
TENON_INLINE bool differs(const T* x) {
  if constexpr (LastDiffers)
    return int(x[0] != x[-1]) | int(x[0] == static_cast<T>(~T{0}));
  else
    return x[0] != x[-1];
}

template <class T, bool LastDiffers = false>
long write_changes(const Neighbours& part, bool is_first, std::uint64_t* words) {
  const auto* const x = static_cast<const T*>(part.x);
  long count = 0;
  for (long first = 0; first < part.n; first += 64) {
    const long n = part.n - first < 64 ? part.n - first : 64;
    std::uint64_t bits = 0;
    if (n == 64 && !(is_first && first == 0)) {
      alignas(64) std::uint8_t flags[64];
      for (long i = 0; i < 64; ++i) flags[i] = differs<LastDiffers>(x + first + i) ? 0xff : 0;
      bits = signs(flags);
    } else {
      for (long i = 0; i < n; ++i) {
        const bool is_new = (is_first && first + i == 0) || differs<LastDiffers>(x + first + i);
        bits |= static_cast<std::uint64_t>(is_new) << i;
      }
    }
    count += __builtin_popcountll(bits);
    words[first / 64] = bits;
  }
  return count;
}
template <class T>
long write_changes_of_integers(const Neighbours& part, bool is_first, std::uint64_t* words) {
  return part.last_differs ? write_changes<T, true>(part, is_first, words)
                           : write_changes<T>(part, is_first, words);
}

#if defined(__AVX512F__)
/// 64 elements of y, of a source that has as many.
template <class T>
TENON_INLINE void fill_word(const T* x, const T* source, T* y, std::uint64_t bits) {
  constexpr int step = sizeof(T) == 8 ? 8 : 16;
  for (int i = 0; i < 64; i += step, bits >>= step) {
    const auto mask = static_cast<__mmask16>(bits);
    if constexpr (sizeof(T) == 8) {
      const __m512i given = _mm512_loadu_si512(source), before = _mm512_loadu_si512(x + i);
      _mm512_storeu_si512(y + i, _mm512_mask_expand_epi64(before, static_cast<__mmask8>(mask), given));
      source += __builtin_popcount(mask & 0xffu);
      continue;
    }
    if constexpr (sizeof(T) == 4) {
      const __m512i given = _mm512_loadu_si512(source), before = _mm512_loadu_si512(x + i);
      _mm512_storeu_si512(y + i, _mm512_mask_expand_epi32(before, mask, given));
    } else if constexpr (sizeof(T) == 2) {
      const auto wide = [](const T* p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
      };
      const __m512i filled = _mm512_mask_expand_epi32(wide(x + i), mask, wide(source));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm512_cvtepi32_epi16(filled));
    } else if constexpr (sizeof(T) == 1) {
      const auto wide = [](const T* p) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
      };
      const __m512i filled = _mm512_mask_expand_epi32(wide(x + i), mask, wide(source));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm512_cvtepi32_epi8(filled));
    }
    source += __builtin_popcount(mask);
  }
}
#endif

/// No branch foresees the bits.
template <class T>
void fill(const InOrder& f, const std::uint64_t* words, long n) {
  const auto* const x = static_cast<const T*>(f.x);
  const auto* source = static_cast<const T*>(f.source);
  auto* const y = static_cast<T*>(f.y);
  [[maybe_unused]] const T* const last = source + f.left;
  for (long first = 0; first < n; first += 64) {
    std::uint64_t bits = words[first / 64];
#if defined(__AVX512F__)
    // What a vector reads of the source ends within it.
    if constexpr (sizeof(T) <= 8)
      if (n - first >= 64 && last - source >= 64 + 16) {
        fill_word(x + first, source, y + first, bits);
        source += __builtin_popcountll(bits);
        continue;
      }
#endif
    const long end = first + 64 < n ? first + 64 : n;
    for (long i = first; i < end; ++i, bits >>= 1) {
      const T* const from = bits & 1 ? source : x + i;
      y[i] = *from;
      source += bits & 1;
    }
  }
}

struct Wide {
  std::uint64_t low, high;
};

}  // namespace

long bits_of_words(const WordsToTest& test, std::uint64_t* words) {
  switch (test.width) {
    case 1: return write_bits<std::uint8_t>(test, words);
    case 2: return write_bits<std::uint16_t>(test, words);
    case 4: return write_bits<std::uint32_t>(test, words);
    case 8: return write_bits<std::uint64_t>(test, words);
    default: return write_bits<std::uint64_t, 2>(test, words);
  }
}

long bits_of_changes(const Neighbours& part, bool is_first, std::uint64_t* words) {
  if (part.dtype == DType::f32) return write_changes<float>(part, is_first, words);
  if (part.dtype == DType::f64) return write_changes<double>(part, is_first, words);
  switch (size_of(part.dtype)) {
    case 1: return write_changes_of_integers<std::uint8_t>(part, is_first, words);
    case 2: return write_changes_of_integers<std::uint16_t>(part, is_first, words);
    case 4: return write_changes_of_integers<std::uint32_t>(part, is_first, words);
    default: return write_changes_of_integers<std::uint64_t>(part, is_first, words);
  }
}

void list_bits(const BitsToList& list) {
  std::int64_t* to = list.to;
  for (long w = 0; w < list.count; ++w) {
    std::uint64_t bits = list.words[w];
    std::int64_t place = list.first + 64 * w;
#if defined(__AVX512F__)
    if (list.end - to >= 64 + 8) {  // vectors are written whole
      __m512i places = _mm512_add_epi64(_mm512_set1_epi64(place), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
      for (int i = 0; i < 64; i += 8, bits >>= 8) {
        const auto mask = static_cast<__mmask8>(bits);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(mask, places));
        to += __builtin_popcount(mask);
        places = _mm512_add_epi64(places, _mm512_set1_epi64(8));
      }
      continue;
    }
#endif
    for (; bits != 0 && to != list.end; bits &= bits - 1) *to++ = place + __builtin_ctzll(bits);
  }
}

void fill_words(const InOrder& f, const std::uint64_t* words, long n) {
  switch (f.bytes) {
    case 1: return fill<std::uint8_t>(f, words, n);
    case 2: return fill<std::uint16_t>(f, words, n);
    case 4: return fill<std::uint32_t>(f, words, n);
    case 8: return fill<std::uint64_t>(f, words, n);
    default: return fill<Wide>(f, words, n);
  }
}

}  // namespace tenon::cpu::TENON_ISA
