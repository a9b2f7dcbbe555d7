// Philox 4x32-10: random words as a function of a counter and a key (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", 2011). A run-time compiler for GPUs takes this text as it stands.
#pragma once
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define TENON_WORDS __device__ constexpr
#else
#define TENON_WORDS constexpr
#endif

namespace tenon {

/// Turns the four words of a counter into random ones.
TENON_WORDS void philox_rounds(unsigned* words, unsigned key, unsigned upper_key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long a = 0xD2511F53ul * words[0], b = 0xCD9E8D57ul * words[2];
    words[0] = static_cast<unsigned>(b >> 32) ^ words[1] ^ key;
    words[1] = static_cast<unsigned>(b);
    words[2] = static_cast<unsigned>(a >> 32) ^ words[3] ^ upper_key;
    words[3] = static_cast<unsigned>(a);
    key += 0x9E3779B9u;
    upper_key += 0xBB67AE85u;
  }
}

}  // namespace tenon
