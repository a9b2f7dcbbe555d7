// A few rows of some channels at a time: their numbers as float32 stay in the cache.
#include "kernels/cpu/byte_depthwise.h"

#include <algorithm>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/integer_rows.h"
#include "kernels/cpu/narrow_groups.h"

namespace tenon::cpu {
namespace {

constexpr long block_channels = 64;

struct Block {
  long first, count;  // channels
  Block(const ConvShape& s, long i)
      : first(i * block_channels), count(std::min(block_channels, s.Cin - first)) {}
};
long blocks_of(const ConvShape& s) { return (s.Cin + block_channels - 1) / block_channels; }

// Output rows [begin, end) of an image and what they read of it, which has as many rows of padding as the
// axis says.
struct Band {
  long begin, end;
  long first, count;  // input rows
  ConvAxis axis;

  Band(const ConvAxis& h, long from, long to) : begin(from), end(to) {
    const long top = begin * h.stride - h.pad_before,
               bottom = (end - 1) * h.stride - h.pad_before + (h.kernel - 1) * h.dilation;
    first = std::clamp(top, 0L, h.in - 1);
    count = std::max(1L, std::clamp(bottom, 0L, h.in - 1) - first + 1);
    axis = h;
    axis.in = count;
    axis.pad_before = first - top;
    axis.pad_after = bottom - (first + count - 1);
  }
};

// Of an image that stays in the L2 cache with its result.
long rows_of_band(const ConvShape& s, const Schedule& schedule) {
  const long floats = scaled(49152, schedule.block);
  const long channels = std::min(block_channels, s.Cin);
  const long read = s.h.stride * s.w.in * channels, written = s.out(s.w) * channels;
  return std::clamp(floats / (read + written), 1L, s.out(s.h));
}
// The axis of an image whose columns of padding are there.
ConvAxis with_padding(const ConvAxis& w) {
  ConvAxis axis = w;
  axis.in += w.pad_before + w.pad_after;
  axis.pad_before = axis.pad_after = 0;
  return axis;
}

long floats_of_image(const ConvShape& s, const Schedule& schedule) {
  const long rows =
      std::min(s.h.in, (rows_of_band(s, schedule) - 1) * s.h.stride + (s.h.kernel - 1) * s.h.dilation + 1);
  return rows * with_padding(s.w).in * std::min(block_channels, s.Cin);
}
long floats_of_result(const ConvShape& s, const Schedule& schedule) {
  return rows_of_band(s, schedule) * s.out(s.w) * std::min(block_channels, s.Cin);
}

void widen(const ConvShape& s, const ByteDepthwise& run, const Band& band, const Block& block, long n,
           float* image) {
  const std::uint8_t* from = run.in + ((n * s.h.in + band.first) * s.w.in) * run.in_stride + block.first;
  const long before = run.filters_are_finite ? s.w.pad_before : 0,
             after = run.filters_are_finite ? s.w.pad_after : 0;
  for (long y = 0; y < band.count; y++) {
    image = std::fill_n(image, before * block.count, 0.0F);
    for (long x = 0; x < s.w.in; x++, from += run.in_stride, image += block.count)
      floats_of_bytes(from, block.count, run.in_is_signed, run.zero, run.scale, image);
    image = std::fill_n(image, after * block.count, 0.0F);
  }
}

void run_block(const ConvShape& s, const ByteDepthwise& run, const Band& band, const Block& block, long n,
               float* scratch) {
  float* const image = scratch;
  widen(s, run, band, block, n, image);
  ConvShape part = s;
  part.N = 1;
  part.Cin = part.Cout = part.groups = block.count;
  part.h = band.axis;
  if (run.filters_are_finite) part.w = with_padding(s.w);
  const long row = (n * s.out(s.h) + band.begin) * s.out(s.w);
  ConvRun one{.in = image, .in_stride = block.count, .packed = run.packed + block.first * s.taps()};
  one.out =
      run.out ? run.out + row * run.out_stride + block.first : scratch + floats_of_image(s, run.schedule);
  one.out_stride = run.out ? run.out_stride : block.count;
  one.epilogue = run.epilogue.from(row, block.first);
  one.epilogue.hook = nullptr;
  const long rows = band.end - band.begin;
  narrow_group_rows(part, one, 0, rows);
  if (run.epilogue.hook)
    run.epilogue.hook(run.epilogue.context, one.out, one.out_stride, row, rows * s.out(s.w), block.first,
                      block.count);
}

}  // namespace

bool byte_depthwise_supports(const ConvShape& s) {
  return !s.transposed && s.d.trivial() && s.groups == s.Cin && s.Cout == s.Cin &&
         conv_supports(s, ConvAlgorithm::depthwise);
}

long byte_depthwise_packed_size(const ConvShape& s) { return s.taps() * s.Cin; }

void pack_byte_depthwise(const ConvShape& s, const float* filters, float* packed) {
  for (long i = 0; i < blocks_of(s); i++) {
    const Block block(s, i);
    for (long tap = 0; tap < s.taps(); tap++)
      for (long c = 0; c < block.count; c++)
        packed[block.first * s.taps() + tap * block.count + c] = filters[(block.first + c) * s.taps() + tap];
  }
}

long byte_depthwise_scratch_size(const ConvShape& s, int threads, const Schedule& schedule) {
  return threads * (floats_of_image(s, schedule) + floats_of_result(s, schedule));
}

void byte_depthwise(const ConvShape& s, const ByteDepthwise& run, float* scratch, ThreadPool& pool) {
  const long height = s.out(s.h), rows = rows_of_band(s, run.schedule), bands = (height + rows - 1) / rows;
  const long scratch_each = byte_depthwise_scratch_size(s, 1, run.schedule);
  pool.parallel_for(s.N * bands * blocks_of(s), [&](long i, int thread) {
    const long begin = i / blocks_of(s) % bands * rows;
    run_block(s, run, Band(s.h, begin, std::min(height, begin + rows)), Block(s, i % blocks_of(s)),
              i / blocks_of(s) / bands, scratch + thread * scratch_each);
  });
}

}  // namespace tenon::cpu
