// What every kernel may use, on each target: CUDA (NVRTC), HIP (hipRTC, clang) and the emulation of the
// tests. No target's own headers: a kernel is one text that begins with this.
#pragma once
#if defined(__SOFTGPU__)
#define GPU_SOFT 1
#include "emulation.h"
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define GPU_CUDA 1
#else
#define GPU_HIP 1
#endif

#if GPU_SOFT
#define GPU_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(gpusim::dyn_shared())
#else
#define GPU_SHARED(T, name, dims) __shared__ T name dims
#define GPU_DYNAMIC_SHARED(T, name)                                               \
  extern __shared__ __attribute__((aligned(16))) unsigned char dynamic_shared_[]; \
  T* const name = reinterpret_cast<T*>(dynamic_shared_)
#endif
#define GPU_INLINE __device__ __forceinline__
// Threads of a block, and how many blocks of a processor there are registers for.
#if GPU_CUDA
#define GPU_BLOCK(threads, of_processor) __launch_bounds__(threads, of_processor)
#else
#define GPU_BLOCK(threads, of_processor) __launch_bounds__(threads)
#endif
#if GPU_CUDA
#define GPU_COPY(to, from, bytes) memcpy(to, from, bytes)
#else
#define GPU_COPY(to, from, bytes) __builtin_memcpy(to, from, bytes)
#endif

namespace tenon::gpu {

/// Lanes of a wave. Never __AMDGCN_WAVEFRONT_SIZE__, which newer compilers do not define.
#if GPU_SOFT
constexpr int wave_size = GPU_CPU_WARP;
#elif GPU_HIP && defined(__GFX9__)
constexpr int wave_size = 64;
#else
constexpr int wave_size = 32;
#endif

/// The bits of a value as another type of the same size.
template <class To, class From>
GPU_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  GPU_COPY(&to, &from, sizeof to);
  return to;
}

/// Moves a value of any type between lanes, word by word. All lanes of the wave take part.
template <class T, class Move>
GPU_INLINE T by_words(T value, Move move) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned bits[words] = {};
  GPU_COPY(bits, &value, sizeof value);
  for (int i = 0; i < words; ++i) bits[i] = move(bits[i]);
  GPU_COPY(&value, bits, sizeof value);
  return value;
}

/// The value of the lane whose number differs by the bits of `mask`.
template <class T>
GPU_INLINE T shuffle_xor(T value, int mask) {
  return by_words(value, [&](unsigned word) {
#if GPU_CUDA
    return __shfl_xor_sync(0xffffffffu, word, mask);
#else
    return static_cast<unsigned>(__shfl_xor(static_cast<int>(word), mask));
#endif
  });
}

/// The value of another lane.
template <class T>
GPU_INLINE T shuffle(T value, int lane) {
  return by_words(value, [&](unsigned word) {
#if GPU_CUDA
    return __shfl_sync(0xffffffffu, word, lane);
#else
    return static_cast<unsigned>(__shfl(static_cast<int>(word), lane));
#endif
  });
}

/// What the lanes of a wave wrote to shared memory before, each of them sees behind it.
GPU_INLINE void wave_barrier() {
#if GPU_HIP
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#else
  __syncwarp();
#endif
}

/// What the thread wrote to memory before, each thread of the device sees that has read what the thread
/// writes atomically behind it, and then fenced too.
GPU_INLINE void device_fence() {
#if GPU_HIP
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
#else
  __threadfence();
#endif
}

/// 0 -> 1; true for the one thread that changed it.
GPU_INLINE bool claim(long long* flag) {
#if GPU_SOFT
  long long free = 0;
  return __atomic_compare_exchange_n(flag, &free, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#else
  return atomicCAS(reinterpret_cast<unsigned long long*>(flag), 0ull, 1ull) == 0;
#endif
}

/// What a kernel found wrong in the data, as runtime/frame.h has it. The first one counts.
struct Fault {
  long long found, value, detail;
};
GPU_INLINE void report(Fault* fault, long long value, long long detail) {
  if (!claim(&fault->found)) return;
  fault->value = value;
  fault->detail = detail;
}

#if GPU_CUDA && __CUDA_ARCH__ >= 800
#define GPU_PAIRS 1  // floats are rounded to bfloat16, and to pairs of 16 bits
#endif

// Storage types of 16 and 8 bits. They convert to and from float, and round to nearest even.

struct half {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};

GPU_INLINE float to_float(half x) {
#if GPU_CUDA
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  return static_cast<float>(bits_as<_Float16>(x));
#endif
}
GPU_INLINE half to_half(float x) {
#if GPU_CUDA
  half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  return bits_as<half>(static_cast<_Float16>(x));
#endif
}
GPU_INLINE float to_float(bfloat16 x) { return bits_as<float>(static_cast<unsigned>(x.bits) << 16); }
GPU_INLINE bfloat16 to_bfloat16(float x) {
#if GPU_PAIRS
  unsigned pair;  // a pair takes a quarter of the time of one
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  return {static_cast<unsigned short>(pair)};
#else
  const unsigned bits = bits_as<unsigned>(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<unsigned short>(is_nan ? (bits >> 16) | 0x40u : rounded >> 16)};
#endif
}

/// Two floats, rounded at once where there is an instruction for it.
GPU_INLINE void to_pair(float first, float second, half* to) {
#if GPU_PAIRS
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  GPU_COPY(to, &pair, sizeof pair);
#else
  to[0] = to_half(first);
  to[1] = to_half(second);
#endif
}
GPU_INLINE void to_pair(float first, float second, bfloat16* to) {
#if GPU_PAIRS
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  GPU_COPY(to, &pair, sizeof pair);
#else
  to[0] = to_bfloat16(first);
  to[1] = to_bfloat16(second);
#endif
}

/// As base/float8.h has them: Nan and Beyond are codes, without a sign, of NaN and of what lies beyond the
/// largest finite number, whose code is Largest. With 0x80 as NaN there is no -0.
template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
struct float8 {
  unsigned char bits;
};
using float8_e4m3fn = float8<3, 7, 0x7e, 0x7e, 0x7f>;
using float8_e5m2 = float8<2, 15, 0x7b, 0x7c, 0x7f>;
using float8_e4m3fnuz = float8<3, 8, 0x7f, 0x80, 0x80>;
using float8_e5m2fnuz = float8<2, 16, 0x7f, 0x80, 0x80>;

template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
GPU_INLINE float to_float(float8<Mantissa, Bias, Largest, Beyond, Nan> x) {
  constexpr int shift = 23 - Mantissa;
  const unsigned sign = (x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
  if (Nan == 0x80u ? x.bits == Nan : magnitude > Largest)
    return bits_as<float>(sign | (magnitude == Beyond ? 0x7f800000u : 0x7fc00000u));
  // What is below the normal numbers counts units of the smallest one.
  const float subnormal =
      static_cast<float>(magnitude) * bits_as<float>(unsigned(128 - Bias - Mantissa) << 23);
  const unsigned normal = (magnitude << shift) + (unsigned(127 - Bias) << 23);
  return bits_as<float>(sign | (magnitude >> Mantissa ? normal : bits_as<unsigned>(subnormal)));
}
/// T is a float8.
template <class T>
struct Float8From;
template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
struct Float8From<float8<Mantissa, Bias, Largest, Beyond, Nan>> {
  static GPU_INLINE float8<Mantissa, Bias, Largest, Beyond, Nan> of(float x) {
    constexpr int shift = 23 - Mantissa;
    constexpr unsigned unit = unsigned(128 - Bias + shift) << 23, least_normal = unsigned(128 - Bias) << 23;
    const unsigned bits = bits_as<unsigned>(x), magnitude = bits & 0x7fffffffu;
    // In a float of this size the last bit is the smallest number: the addition rounds.
    const unsigned subnormal = bits_as<unsigned>(bits_as<float>(magnitude) + bits_as<float>(unit)) - unit;
    const unsigned half = (1u << (shift - 1)) - 1u + ((magnitude >> shift) & 1u);
    const unsigned normal = (magnitude + half - (unsigned(127 - Bias) << 23)) >> shift;
    unsigned code = magnitude < least_normal ? subnormal : normal;
    if (code > Largest) code = Beyond;
    if (magnitude > 0x7f800000u) code = Nan;
    const bool has_sign = Nan != 0x80u || (code != 0 && code != Nan);
    return {static_cast<unsigned char>(has_sign ? code | ((bits >> 24) & 0x80u) : code)};
  }
};

// Memory in pieces of up to 16 bytes.

template <int Bytes>
struct Piece;
template <>
struct Piece<16> {
  using type = uint4;
};
template <>
struct Piece<8> {
  using type = uint2;
};
template <>
struct Piece<4> {
  using type = unsigned;
};
template <>
struct Piece<2> {
  using type = unsigned short;
};
template <>
struct Piece<1> {
  using type = unsigned char;
};

__device__ constexpr int piece_bytes(int bytes) { return bytes < 16 ? bytes : 16; }

/// Is an address fit for pieces of `Count` elements of T?
template <int Count, class T>
GPU_INLINE bool is_aligned(const T* address) {
  return reinterpret_cast<unsigned long>(address) % piece_bytes(Count * sizeof(T)) == 0;
}
/// `Count` elements at an aligned address. Count is a power of two.
template <int Count, class T>
GPU_INLINE void read_pieces(const T* from, T (&to)[Count]) {
  using P = typename Piece<piece_bytes(Count * sizeof(T))>::type;
  P pieces[Count * sizeof(T) / sizeof(P)];
  for (int i = 0; i < int(Count * sizeof(T) / sizeof(P)); ++i)
    pieces[i] = reinterpret_cast<const P*>(from)[i];
  GPU_COPY(to, pieces, sizeof pieces);
}
template <int Count, class T>
GPU_INLINE void write_pieces(T* to, const T (&from)[Count]) {
  using P = typename Piece<piece_bytes(Count * sizeof(T))>::type;
  P pieces[Count * sizeof(T) / sizeof(P)];
  GPU_COPY(pieces, from, sizeof pieces);
  for (int i = 0; i < int(Count * sizeof(T) / sizeof(P)); ++i) reinterpret_cast<P*>(to)[i] = pieces[i];
}
/// The same to the device's memory. NVCC may divide a piece of 16 bytes that it stores, and what it divides
/// is written sector by sector.
template <int Count, class T>
GPU_INLINE void write_whole_pieces(T* to, const T (&from)[Count]) {
#if GPU_CUDA
  constexpr int bytes = Count * int(sizeof(T));
  if constexpr (bytes % 16 == 0) {
    unsigned words[bytes / 4];
    GPU_COPY(words, from, sizeof words);
#pragma unroll
    for (int i = 0; i < bytes / 4; i += 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(reinterpret_cast<char*>(to) + 4 * i),
                   "r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]), "r"(words[i + 3])
                   : "memory");
    return;
  }
#endif
  write_pieces(to, from);
}

}  // namespace tenon::gpu
