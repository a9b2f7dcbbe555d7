// Rows of integers: their range, their bytes, and the ends of their sums. Built once per ISA; the compiler
// turns these loops into vector code.
#include "kernels/cpu/integer_rows.h"

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

IntegerRange range_of_row(const std::int32_t* row, long count, const IntegerRange& before) {
  std::int32_t least = before.least, largest = before.largest;
  for (long k = 0; k < count; k++) {
    least = row[k] < least ? row[k] : least;
    largest = row[k] > largest ? row[k] : largest;
  }
  return {least, largest};
}

std::uint32_t bytes_of_row(const std::int32_t* __restrict row, long count, std::uint32_t least, int shift,
                           std::uint8_t* __restrict to) {
  std::uint32_t sum = 0;
  for (long k = 0; k < count; k++) {
    const auto number = static_cast<std::uint32_t>(row[k]);
    to[k] = static_cast<std::uint8_t>((number - least) >> shift);
    sum += number;
  }
  return sum;
}

std::uint32_t bytes_of_grid(const float* __restrict row, long count, float inverse, int least,
                            std::uint8_t* __restrict to) {
  const float up = 0.5F - static_cast<float>(least);
  std::int32_t sum = 0;
  for (long k = 0; k < count; k++) {
    const auto byte = static_cast<std::int32_t>(row[k] * inverse + up);
    to[k] = static_cast<std::uint8_t>(byte);
    sum += byte;
  }
  return static_cast<std::uint32_t>(sum) +
         static_cast<std::uint32_t>(least) * static_cast<std::uint32_t>(count);
}

void floats_of_bytes(const std::uint8_t* __restrict row, long count, bool is_signed, float zero, float scale,
                     float* __restrict to) {
  if (is_signed)
    for (long k = 0; k < count; k++)
      to[k] = (static_cast<float>(static_cast<std::int8_t>(row[k])) - zero) * scale;
  else
    for (long k = 0; k < count; k++) to[k] = (static_cast<float>(row[k]) - zero) * scale;
}

template <int channels, bool in_planes>
static void gather_words(const PixelWords& p, std::uint32_t blank, long count, std::uint32_t* __restrict to) {
  const std::uint8_t* const __restrict from = p.from;
  const long plane = p.plane, pixel = in_planes ? 1 : p.pixel;
  for (long i = 0; i < count; i++) {
    std::uint32_t word = blank;
    for (int c = 0; c < channels; c++)
      word ^= static_cast<std::uint32_t>(from[c * plane + i * pixel]) << (8 * c);
    to[i] = word;
  }
}

void words_of_pixels(const PixelWords& p, long count, std::uint32_t* to) {
  std::uint32_t blank = 0;
  for (int c = 0; c < 4; c++)
    blank |= static_cast<std::uint32_t>(c < p.channels ? p.flip : p.blank) << (8 * c);
  const auto gather = [&]<int channels>() {
    (p.pixel == 1 ? gather_words<channels, true> : gather_words<channels, false>)(p, blank, count, to);
  };
  switch (p.channels) {
    case 1: return gather.template operator()<1>();
    case 2: return gather.template operator()<2>();
    case 3: return gather.template operator()<3>();
    default: return gather.template operator()<4>();
  }
}

void finish_row(const FinishedRow& row, long count, std::uint32_t* __restrict c) {
  const std::uint32_t *const products = row.products, *const b_sums = row.b_sums,
                             *const offsets = row.offsets;
  const std::uint32_t least = row.least, a_sum = row.a_sum;
  for (long n = 0; n < count; n++) c[n] = products[n] + least * b_sums[n] + a_sum * offsets[n];
}

void finish_floats(const FinishedRow& row, long count, float scale, const float* scales, float* c) {
  const std::uint32_t *const products = row.products, *const b_sums = row.b_sums,
                             *const offsets = row.offsets;
  const std::uint32_t least = row.least, a_sum = row.a_sum;
  for (long n = 0; n < count; n++) {
    const std::uint32_t sum = products[n] + least * b_sums[n] + a_sum * offsets[n];
    c[n] = static_cast<float>(static_cast<std::int32_t>(sum)) * (scale * scales[n]);
  }
}

}  // namespace tenon::cpu::TENON_ISA
