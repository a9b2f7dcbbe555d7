// The right side of a product, kept in fewer bits than it is multiplied in: codes and scales are what memory
// holds, and the numbers are made on their way to shared memory or in registers.
#pragma once
#include "kernels/gpu/product_sides.gpu.h"

namespace tenon::gpu {

/// How numbers are coded: `raw(words, i)` is code i of some that lie side by side, the first in the lowest
/// bits, as a float that exceeds its number by `zero`.
template <int Bits>
struct UnsignedCodes {
  static constexpr int bits = Bits;
  static constexpr float zero = 8388608.0f;  // 2^23, whose last bits count by one
  static GPU_INLINE float raw(const unsigned* words, int i) {
    constexpr int in_word = 32 / Bits;
    constexpr unsigned mask = (1u << Bits) - 1;
    return bits_as<float>(0x4b000000u | (words[i / in_word] >> (i % in_word * Bits) & mask));
  }
};

/// Codes that lie side by side along the depth of a line, and share scale and zero point.
template <class Code, int Count>
struct CodedPiece {
  static constexpr int bytes = Count * Code::bits / 8;
  unsigned words[bytes / 4];
  float scale, zero;  // raw - zero, times scale, is the number

  GPU_INLINE float at(int i) const { return (Code::raw(words, i) - zero) * scale; }
};

/// A matrix in memory of codes for (code - zero point) * scale. A line's codes lie along its depth, and begin
/// at multiples of 16 bytes.
template <class CodeOfSide, bool HasZeros>
struct CodedMatrix {
  using Code = CodeOfSide;
  const unsigned char* codes;
  const float* scales;  // of each line and group of depths
  const short* zeros;   // HasZeros: the same, added to `zero`
  Int lines;
  int depths;
  Int line_bytes;
  int group, groups;  // depths of a group; groups of a line
  int zero;

  GPU_INLINE Int group_at(Int line, int k) const { return line * groups + unsigned(k) / unsigned(group); }
  GPU_INLINE const unsigned char* code_at(Int line, int k) const {
    return codes + line * line_bytes + k * Code::bits / 8;
  }
  /// What scales and zero points make of codes.
  template <class Piece>
  GPU_INLINE void find_scale(Int at, Piece& piece) const {
    piece.scale = scales[at];
    piece.zero = Code::zero + float(zero + (HasZeros ? zeros[at] : 0));
  }
  /// `Count` codes of a line from depth k on, a multiple of Count. Both exist.
  template <int Count>
  GPU_INLINE CodedPiece<Code, Count> piece_inside(Int line, int k) const {
    CodedPiece<Code, Count> result;
    read_pieces(reinterpret_cast<const unsigned*>(code_at(line, k)), result.words);
    find_scale(group_at(line, k), result);
    return result;
  }
  /// The same; beyond the ends, what stands for 0.
  template <int Count>
  GPU_INLINE CodedPiece<Code, Count> piece(Int line, int k) const {
    if (line >= lines || k >= depths) return {};
    return piece_inside<Count>(line, k);
  }
  /// One number; 0 outside.
  GPU_INLINE float number_at(Int line, int k) const {
    CodedPiece<Code, 32 / Code::bits> one = {};
    if (line >= lines || k >= depths) return 0;
    one.words[0] = *code_at(line, k) >> (k * Code::bits % 8);
    find_scale(group_at(line, k), one);
    return one.at(0);
  }
  /// A line that exists.
  struct OneLine {
    const CodedMatrix* side;
    Int line;

    template <int Count>
    GPU_INLINE CodedPiece<Code, Count> piece(int k) const {
      return side->template piece_inside<Count>(line, k);
    }
    GPU_INLINE float number_at(int k) const { return side->number_at(line, k); }
  };
  GPU_INLINE OneLine one_line(Int i) const { return {this, i}; }
};

/// Brings pieces of codes to registers, and what they stand for to a tile.
template <class Code, bool HasZeros, class Tile, int Lines, int Depth, int Count, int Threads, bool Staged>
class Loader<CodedMatrix<Code, HasZeros>, Tile, Lines, Depth, Count, Threads, Staged> {
  using Side = CodedMatrix<Code, HasZeros>;
  static_assert(Tile::depth_fast && Staged && Depth % Count == 0, "codes lie along the depth");
  static constexpr int across = Depth / Count, pieces = Lines * across;
  static constexpr int reads = (pieces + Threads - 1) / Threads;

 public:
  static constexpr bool is_async = false;
  GPU_INLINE Loader(const Side& side, Int first_line) : side_(side), first_line_(first_line) {}

  GPU_INLINE void begin(int k, const Tile&) {
#pragma unroll
    for (int i = 0; i < reads; ++i)
      if (is_mine(i)) staged_[i] = side_.template piece<Count>(first_line_ + line(i), k + depth(i));
  }
  GPU_INLINE void finish(const Tile& tile) {
#pragma unroll
    for (int i = 0; i < reads; ++i) {
      if (!is_mine(i)) continue;
      typename Tile::Element elements[Count];
      for (int e = 0; e < Count; ++e) elements[e] = convert<typename Tile::Element>(staged_[i].at(e));
      write_pieces(tile.at(line(i), depth(i)), elements);
    }
  }

 private:
  static GPU_INLINE int number_of(int i) { return int(threadIdx.x) + i * Threads; }
  static GPU_INLINE bool is_mine(int i) { return pieces % Threads == 0 || number_of(i) < pieces; }
  static GPU_INLINE int line(int i) { return number_of(i) / across; }
  static GPU_INLINE int depth(int i) { return number_of(i) % across * Count; }

  const Side& side_;
  Int first_line_;
  CodedPiece<Code, Count> staged_[reads];
};

}  // namespace tenon::gpu
