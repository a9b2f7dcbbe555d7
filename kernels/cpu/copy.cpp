// Strided copies: dims are ordered and merged when planned; rows or square blocks are shared out when run.
#include "kernels/cpu/copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/loop_columns.h"
#include "kernels/cpu/loop_patch.h"

namespace tenon::cpu {

template <class T>
using TransposeBlock = void(long rows, long cols, const T* source, long source_stride, T* target,
                            long target_stride);
TENON_PER_ISA(TransposeBlock<float>, transpose_block, copy_transpose_block)
TENON_PER_ISA(TransposeBlock<std::uint8_t>, transpose_block_u8, copy_transpose_block_u8)
TENON_PER_ISA(TransposeBlock<std::uint16_t>, transpose_block_u16, copy_transpose_block_u16)
TENON_PER_ISA(TransposeBlock<std::uint64_t>, transpose_block_u64, copy_transpose_block_u64)

/// `rows` rows of `cols` elements, each read from its last one back.
template <class T>
using ReverseRows = void(const T* last, long source_stride, T* to, long target_stride, long rows, long cols);
TENON_PER_ISA(ReverseRows<std::uint8_t>, reverse_rows_u8, copy_reverse_rows_u8)
TENON_PER_ISA(ReverseRows<std::uint16_t>, reverse_rows_u16, copy_reverse_rows_u16)
TENON_PER_ISA(ReverseRows<std::uint32_t>, reverse_rows_u32, copy_reverse_rows_u32)
TENON_PER_ISA(ReverseRows<std::uint64_t>, reverse_rows_u64, copy_reverse_rows_u64)

namespace {

constexpr long block = 64;  // side of a transposed block
/// The rows of one, which has more of them where it is narrow.
long block_rows(long cols) { return cols >= block ? block : block * block / std::max(1L, cols); }
constexpr long bytes_per_chunk = 1 << 16;
constexpr long few = 8;             // elements of a dim: no tile
constexpr long few_elements = 512;  // of two dims: worth no piece of their own
constexpr long short_row_bytes = 256;
constexpr long box_elements = 2048;
constexpr std::size_t max_box_dims = 16;

struct Wide {
  std::uint64_t half[2];
};

/// Calls f with a value of the element's size.
template <class F>
void dispatch_size(long size, F&& f) {
  switch (size) {
    case 1: f(std::uint8_t{}); return;
    case 2: f(std::uint16_t{}); return;
    case 4: f(std::uint32_t{}); return;
    case 8: f(std::uint64_t{}); return;
    default: f(Wide{}); return;
  }
}

template <class T>
void reverse_rows(const T* last, long source_stride, T* to, long target_stride, long rows, long cols) {
  const auto with = [&](const auto& kernel) { kernel(last, source_stride, to, target_stride, rows, cols); };
  if constexpr (sizeof(T) == 1) return with(copy_reverse_rows_u8);
  if constexpr (sizeof(T) == 2) return with(copy_reverse_rows_u16);
  if constexpr (sizeof(T) == 4) return with(copy_reverse_rows_u32);
  if constexpr (sizeof(T) == 8) return with(copy_reverse_rows_u64);
  for (long r = 0; r < rows; ++r)
    for (long i = 0; i < cols; ++i) to[r * target_stride + i] = last[r * source_stride - i];
}

constexpr long fewest_of_patch = 16;  // of fewer elements vectors are no gain

template <class T>
void copy_row(const std::byte* source, long source_step, std::byte* target, long target_step, long count) {
  const auto* const from = reinterpret_cast<const T*>(source);
  auto* const to = reinterpret_cast<T*>(target);
  if (source_step == 0 && target_step == 1) {
    std::fill_n(to, count, *from);
  } else if (target_step == 1 && source_step == -1) {
    reverse_rows(from, 0, to, 0, 1, count);
  } else if (sizeof(T) <= 8 && count >= fewest_of_patch) {
    patch_op(sizeof(T))(
        {.to = to, .from = from, .cols = count, .to_col = target_step, .from_col = source_step});
  } else {
    for (long i = 0; i < count; ++i) to[i * target_step] = from[i * source_step];
  }
}

/// Each of `count` elements `times` times, one behind the other.
template <class T>
void repeat_each(const T* from, long source_step, T* to, long count, long times) {
  if (times == 2) {
    for (long i = 0; i < count; ++i) to[2 * i] = to[2 * i + 1] = from[i * source_step];
    return;
  }
  for (long i = 0; i < count; ++i, to += times)
    for (long j = 0; j < times; ++j) to[j] = from[i * source_step];
}

/// A row of so many bytes `times` times, one behind the other.
void repeat_row(const std::byte* from, std::byte* to, std::size_t bytes, std::size_t times) {
  if (times == 0) return;
  std::memcpy(to, from, bytes);
  const std::size_t all = bytes * times;
  for (std::size_t done = bytes; done < all;) {
    const std::size_t more = std::min(done, all - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

/// target[c][r] = source[r][c]: rows of the source are contiguous, so are columns of the target.
void transpose(long rows, long cols, const float* from, long source_stride, float* to, long target_stride) {
  copy_transpose_block(rows, cols, from, source_stride, to, target_stride);
}
void transpose(long rows, long cols, const std::uint8_t* from, long source_stride, std::uint8_t* to,
               long target_stride) {
  copy_transpose_block_u8(rows, cols, from, source_stride, to, target_stride);
}
void transpose(long rows, long cols, const std::uint16_t* from, long source_stride, std::uint16_t* to,
               long target_stride) {
  copy_transpose_block_u16(rows, cols, from, source_stride, to, target_stride);
}
void transpose(long rows, long cols, const std::uint64_t* from, long source_stride, std::uint64_t* to,
               long target_stride) {
  copy_transpose_block_u64(rows, cols, from, source_stride, to, target_stride);
}
void transpose(long rows, long cols, const Wide* from, long source_stride, Wide* to, long target_stride) {
  for (long c = 0; c < cols; ++c)
    for (long r = 0; r < rows; ++r) to[c * target_stride + r] = from[r * source_stride + c];
}

long blocks_of(long extent, long size) { return (extent + size - 1) / size; }

}  // namespace

StridedCopy::StridedCopy(std::size_t element_size, std::span<const std::int64_t> dims,
                         std::span<const std::int64_t> source_strides,
                         std::span<const std::int64_t> target_strides)
    : element_size_(static_cast<long>(element_size)) {
  TENON_CHECK(element_size == 1 || element_size == 2 || element_size == 4 || element_size == 8 ||
              element_size == 16);
  TENON_CHECK(dims.size() == source_strides.size() && dims.size() == target_strides.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    empty_ = empty_ || dims[d] == 0;
    if (dims[d] != 1) outer_.push_back({dims[d], source_strides[d], target_strides[d]});
  }
  std::stable_sort(outer_.begin(), outer_.end(),
                   [](const Dim& a, const Dim& b) { return std::labs(a.target) > std::labs(b.target); });
  for (std::size_t d = outer_.size(); d-- > 1;) {
    Dim& outside = outer_[d - 1];
    const Dim& inside = outer_[d];
    if (outside.source != inside.source * inside.extent || outside.target != inside.target * inside.extent)
      continue;
    outside = {outside.extent * inside.extent, inside.source, inside.target};
    outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(d));
  }
  if (outer_.empty() || empty_) return;
  if (choose_box()) return;
  inner_ = outer_.back();
  outer_.pop_back();
  const auto contiguous =
      std::find_if(outer_.begin(), outer_.end(), [](const Dim& d) { return std::labs(d.source) == 1; });
  transposes_ = inner_.target == 1 && inner_.source != 1 && inner_.source != 0 && contiguous != outer_.end();
  if (!transposes_) return;
  swapped_ = *contiguous;
  outer_.erase(contiguous);
  if (swapped_.source > 0) return;
  // From the last element on, the source lies forwards.
  source_start_ = (swapped_.extent - 1) * swapped_.source;
  target_start_ = (swapped_.extent - 1) * swapped_.target;
  swapped_ = {swapped_.extent, -swapped_.source, -swapped_.target};
}

long StridedCopy::elements_of(const std::vector<Dim>& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1L, [](long n, const Dim& dim) { return n * dim.extent; });
}

bool StridedCopy::repeats(const Dim& row, const Dim& rows) {
  return row.source == 1 && row.target == 1 && rows.source == 0 && rows.target == row.extent;
}

bool StridedCopy::choose_box() {
  const std::size_t rank = outer_.size();
  if (rank < 2 || rank > max_box_dims || element_size_ > 8 || outer_.back().source < 0) return false;
  const Dim &inner = outer_[rank - 1], &rows = outer_[rank - 2];
  const auto contiguous =
      std::find_if(outer_.begin(), outer_.end(), [](const Dim& d) { return d.source == 1; });
  if (inner.target == 1 && inner.source > 1 && contiguous != outer_.end()) {
    const bool is_tile = inner.extent >= few && contiguous->extent >= few;
    if (is_tile || inner.extent * contiguous->extent >= few_elements) return false;
  } else if (repeats(inner, rows) && inner.extent * rows.extent >= few_elements) {
    return false;
  } else if (rank == 2 || inner.extent * rows.extent >= few_elements) {
    const bool is_short = inner.extent * element_size_ < short_row_bytes;
    if (inner.source != 1 || inner.target != 1 || !is_short) return false;
  }
  for (long elements = 1; !outer_.empty() && elements < box_elements;) {
    elements *= outer_.back().extent;
    box_.insert(box_.begin(), outer_.back());
    outer_.pop_back();
  }
  box_rows_ = std::max(1L, box_elements / (elements_of(box_) / box_[0].extent));
  return true;
}

void StridedCopy::run(const void* source, void* target, ThreadPool& pool) const {
  if (empty_) return;
  const auto* const from = static_cast<const std::byte*>(source) + source_start_ * element_size_;
  auto* const to = static_cast<std::byte*>(target) + target_start_ * element_size_;
  const long outer = elements_of(outer_);
  if (!box_.empty()) {
    const long pieces = outer * blocks_of(box_[0].extent, box_rows_);
    const long per_chunk = std::max(1L, bytes_per_chunk / (box_elements * element_size_));
    return pool.parallel_for(blocks_of(pieces, per_chunk), [&](long chunk, int) {
      run_boxes(from, to, chunk * per_chunk, std::min(pieces, (chunk + 1) * per_chunk));
    });
  }
  // Long contiguous rows are cut too, so that a plain copy is shared out.
  const long pieces = transposes_ ? outer * blocks_of(inner_.extent, block_rows(swapped_.extent)) *
                                        blocks_of(swapped_.extent, block)
                                  : outer;
  const long piece_bytes = element_size_ * (transposes_ ? block * block : inner_.extent);
  if (!transposes_ && outer == 1 && piece_bytes > bytes_per_chunk) {
    const long step = std::max(1L, bytes_per_chunk / element_size_);
    pool.parallel_for((inner_.extent + step - 1) / step, [&](long chunk, int) {
      const long first = chunk * step;
      const long count = std::min(step, inner_.extent - first);
      dispatch_size(element_size_, [&](auto element) {
        copy_row<decltype(element)>(from + first * inner_.source * element_size_, inner_.source,
                                    to + first * inner_.target * element_size_, inner_.target, count);
      });
    });
    return;
  }
  const long per_chunk = std::max(1L, bytes_per_chunk / std::max(1L, piece_bytes));
  pool.parallel_for((pieces + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    const long first = chunk * per_chunk;
    const long last = std::min(pieces, first + per_chunk);
    transposes_ ? run_blocks(from, to, first, last) : run_rows(from, to, first, last);
  });
}

void StridedCopy::run_rows(const std::byte* source, std::byte* target, long first, long last) const {
  dispatch_size(element_size_,
                [&](auto element) { run_rows_of<decltype(element)>(source, target, first, last); });
}

template <class T>
void StridedCopy::run_rows_of(const std::byte* source, std::byte* target, long first, long last) const {
  // Rows along the last outer dim are a step apart: only its first row is looked for.
  const Dim steps = outer_.empty() ? Dim{1, 0, 0} : outer_.back();
  const auto size = static_cast<long>(sizeof(T));
  for (long row = first; row < last;) {
    const long at = row % steps.extent, count = std::min(steps.extent - at, last - row);
    long from = at * steps.source, to = at * steps.target, rest = row / steps.extent;
    for (std::size_t d = outer_.empty() ? 0 : outer_.size() - 1; d-- > 0; rest /= outer_[d].extent) {
      from += rest % outer_[d].extent * outer_[d].source;
      to += rest % outer_[d].extent * outer_[d].target;
    }
    const std::byte* s = source + from * size;
    std::byte* t = target + to * size;
    row += count;
    if (inner_.source == -1 && inner_.target == 1) {
      reverse_rows(reinterpret_cast<const T*>(s), steps.source, reinterpret_cast<T*>(t), steps.target, count,
                   inner_.extent);
      continue;
    }
    constexpr long few_times = 8;
    if (inner_.source == 0 && inner_.target == 1 && inner_.extent <= few_times &&
        steps.target == inner_.extent) {
      repeat_each(reinterpret_cast<const T*>(s), steps.source, reinterpret_cast<T*>(t), count, inner_.extent);
      continue;
    }
    if (repeats(inner_, steps)) {
      repeat_row(s, t, static_cast<std::size_t>(inner_.extent * size), static_cast<std::size_t>(count));
      continue;
    }
    for (long i = 0; i < count; ++i, s += steps.source * size, t += steps.target * size) {
      if (inner_.source == 1 && inner_.target == 1)
        std::memcpy(t, s, static_cast<std::size_t>(inner_.extent * size));
      else
        copy_row<T>(s, inner_.source, t, inner_.target, inner_.extent);
    }
  }
}

void StridedCopy::run_blocks(const std::byte* source, std::byte* target, long first, long last) const {
  const long height = block_rows(swapped_.extent);
  const long inner_blocks = blocks_of(inner_.extent, height);
  const long swapped_blocks = blocks_of(swapped_.extent, block);
  for (long piece = first; piece < last; ++piece) {
    const long r = piece % inner_blocks * height;
    const long c = piece / inner_blocks % swapped_blocks * block;
    long from = r * inner_.source + c * swapped_.source;
    long to = r * inner_.target + c * swapped_.target;
    long rest = piece / inner_blocks / swapped_blocks;
    for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].extent) {
      from += rest % outer_[d].extent * outer_[d].source;
      to += rest % outer_[d].extent * outer_[d].target;
    }
    const long rows = std::min(height, inner_.extent - r);
    const long cols = std::min(block, swapped_.extent - c);
    const std::byte* const s = source + from * element_size_;
    std::byte* const t = target + to * element_size_;
    dispatch_size(element_size_, [&](auto element) {
      using T = std::conditional_t<sizeof(element) == 4, float, decltype(element)>;
      transpose(rows, cols, reinterpret_cast<const T*>(s), inner_.source, reinterpret_cast<T*>(t),
                swapped_.target);
    });
  }
}

void StridedCopy::run_boxes(const std::byte* source, std::byte* target, long first, long last) const {
  const PatchFn move = patch_op(element_size_);
  const long blocks = blocks_of(box_[0].extent, box_rows_);
  std::array<TileDim, max_box_dims> dims;
  for (std::size_t d = 0; d < box_.size(); ++d) dims[d] = {box_[d].extent, box_[d].source, box_[d].target};
  for (long piece = first; piece < last; ++piece) {
    const long row = piece % blocks * box_rows_;
    dims[0].extent = std::min(box_rows_, box_[0].extent - row);
    long from = row * box_[0].source, to = row * box_[0].target, rest = piece / blocks;
    for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].extent) {
      from += rest % outer_[d].extent * outer_[d].source;
      to += rest % outer_[d].extent * outer_[d].target;
    }
    for_each_patch(
        std::span<const TileDim>(dims.data(), box_.size()),
        [&](long at, long place, const TileDim& rows, const TileDim& columns) {
          move({target + (to + place) * element_size_, source + (from + at) * element_size_, rows.extent,
                columns.extent, rows.values, columns.values, rows.memory, columns.memory});
        });
  }
}

void fill(void* target, const void* value, std::size_t element_size, long count, ThreadPool& pool) {
  const auto size = static_cast<long>(element_size);
  const long step = bytes_per_chunk / size;
  pool.parallel_for((count + step - 1) / step, [&](long chunk, int) {
    std::byte* const to = static_cast<std::byte*>(target) + chunk * step * size;
    dispatch_size(size, [&](auto element) {
      copy_row<decltype(element)>(static_cast<const std::byte*>(value), 0, to, 1,
                                  std::min(step, count - chunk * step));
    });
  });
}

LoopProgram converting_copy(DType from, DType to, std::span<const std::int64_t> dims,
                            std::span<const std::int64_t> source_strides,
                            std::span<const std::int64_t> target_strides) {
  LoopProgram program("convert", {dims.begin(), dims.end()});
  const Reg x = program.load({0, from, {source_strides.begin(), source_strides.end()}});
  program.store({1, to, {target_strides.begin(), target_strides.end()}},
                from == to ? x : program.cast(to, x));
  return program;
}

}  // namespace tenon::cpu
