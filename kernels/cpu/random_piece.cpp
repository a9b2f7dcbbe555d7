// Philox 4x32-10 of several counters at once: a word in each lane of 64 bits. Built once per ISA.
#include "kernels/cpu/random.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

typedef std::uint64_t Words __attribute__((vector_size(VL * 4)));
constexpr int lanes = VL / 2;
constexpr int together = 4;               // vectors, since each product waits for the one before
constexpr int blocks = together * lanes;  // of four words each
constexpr std::uint64_t of_word = ~0u;

/// Of the lower halves of the lanes.
TENON_INLINE Words product(Words a, Words b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<Words>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && TENON_VL == 4
  return reinterpret_cast<Words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & of_word) * (b & of_word);
#endif
}

/// words[k][b] is word k of block first + b, below garbage of 32 bits.
TENON_INLINE void philox_blocks(const RandomRun& run, std::uint64_t first, Words (&words)[4][together]) {
  TENON_UNROLL
  for (int i = 0; i < together; i++) {
    Words block{};
    for (int l = 0; l < lanes; l++) block[l] = first + static_cast<std::uint64_t>(i * lanes + l);
    words[0][i] = block;
    words[1][i] = block >> 32;
    words[2][i] = Words{} + run.stream;
    words[3][i] = Words{} + run.step;
  }
  auto key = static_cast<std::uint32_t>(run.seed), upper_key = static_cast<std::uint32_t>(run.seed >> 32);
  for (int round = 0; round < 10; round++) {
    TENON_UNROLL
    for (int i = 0; i < together; i++) {
      const Words a = product(words[0][i], Words{} + 0xD2511F53u),
                  b = product(words[2][i], Words{} + 0xCD9E8D57u);
      words[0][i] = (b >> 32) ^ words[1][i] ^ key;
      words[1][i] = b;
      words[2][i] = (a >> 32) ^ words[3][i] ^ upper_key;
      words[3][i] = a;
    }
    key += 0x9E3779B9u;
    upper_key += 0xBB67AE85u;
  }
}

/// `each` integers of a block.
template <int each>
void draw(const RandomRun& run) {
  constexpr int words_of_one = 4 / each;
  const int dropped = 32 * words_of_one - run.bits;
  for (long at = 0; at < run.count; at += each * blocks) {
    Words words[4][together];
    philox_blocks(run, static_cast<std::uint64_t>((run.first + at) / each), words);
    std::uint64_t numbers[each][blocks];
    TENON_UNROLL
    for (int k = 0; k < each; k++) {
      TENON_UNROLL
      for (int i = 0; i < together; i++) {
        Words number = words[k * words_of_one][i] & of_word;
        if constexpr (words_of_one == 2) number = number << 32 | (words[k * 2 + 1][i] & of_word);
        number >>= dropped;
        __builtin_memcpy(&numbers[k][i * lanes], &number, sizeof number);
      }
    }
    std::int64_t* const out = run.out + at;
    const long left = run.count - at;
    const int whole = left < each * blocks ? static_cast<int>(left / each) : blocks;
    for (int b = 0; b < whole; b++)
      for (int k = 0; k < each; k++) out[b * each + k] = static_cast<std::int64_t>(numbers[k][b]);
    if (whole < blocks)
      for (int k = 0; k < static_cast<int>(left % each); k++)
        out[whole * each + k] = static_cast<std::int64_t>(numbers[k][whole]);
  }
}

}  // namespace

void random_piece(const RandomRun& run) { run.bits > 32 ? draw<2>(run) : draw<4>(run); }

}  // namespace tenon::cpu::TENON_ISA
