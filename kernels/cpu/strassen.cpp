// Packing of sums of quarters of B, and the order of the products.
#include "kernels/cpu/strassen.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/cpu/float_pieces.h"
#include "kernels/cpu/pass_cost.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

constexpr int products = 7;
constexpr int joined = 5;  // of them, which are kept
// At most, of a group, whose products lie in the L2 cache until they are joined.
constexpr long most_cols = 128;
// Of a block, in both halves.
constexpr long most_rows = 512;

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }
long rounded_up(long n, long step) { return cut(n, step) * step; }

// Floats between rows of the sums of A: rows a power of two apart would meet in few sets of the cache.
long sum_stride(long half_depth) { return rounded_up(half_depth, 16) + 16; }

// Rows of each block, but for the last one.
long block_rows(long M) { return cut(M, cut(M, most_rows)); }

// The left half has whole panels of columns; zeros are behind the columns of the right one.
long half_cols(long N) { return rounded_up(cut(N, 2), row_gemm_tile().cols); }

// A panel of columns, `depth` rows of them.
void copy_panel(const StrassenB& b, long first, long cols, long width, float* to) {
  const float* const from = b.data + first * b.n_stride;
  if (cols < width) std::fill_n(to, b.K * width, 0.0f);
  if (b.k_stride == 1) return transpose_on_this_thread(cols, b.K, from, b.n_stride, to, width);
  for (long k = 0; k < b.K; k++, to += width) {
    if (b.n_stride == 1)
      std::copy_n(from + k * b.k_stride, cols, to);
    else
      for (long j = 0; j < cols; j++) to[j] = from[k * b.k_stride + j * b.n_stride];
  }
}

// The scale of each row of B. Does all fit?
bool scale_depth(const StrassenB& b, float* scale, ThreadPool& pool) {
  std::atomic<bool> fits = true;
  constexpr long chunk = 256;
  pool.parallel_for(cut(b.K, chunk), [&](long c, int) {
    const long k = c * chunk;
    if (!scale_strassen_depth({.data = b.data + k * b.k_stride,
                               .count = std::min(chunk, b.K - k),
                               .N = b.N,
                               .k_stride = b.k_stride,
                               .n_stride = b.n_stride,
                               .scale = scale + k}))
      fits = false;
  });
  return fits;
}

// Behind the sums lie the scales of the columns, then those of the depth, and whether all of B fits.
struct Places {
  long columns, depth, fits;
  Places(long half_depth, long right)
      : columns(products * half_depth * right), depth(columns + 2 * right), fits(depth + 2 * half_depth) {}
};

}  // namespace

double strassen_time(long M, long N, long K) {
  // Seven products, sums of A for each column, and of products for each step of the depth; these wait for C
  // where that leaves the cache.
  constexpr double least = 0.887, of_a = 12, of_products = 14;
  constexpr long large_c = 1 << 19;  // elements
  const double joins = M * N > large_c ? 2 * of_products : of_products;
  return least + pass_cost() * (of_a / static_cast<double>(N) + joins / static_cast<double>(K));
}

bool strassen_pays(long M, long N, long K) {
  constexpr double most_time = 0.95;
  // Few rows wait for B, which is larger, where it comes from a far cache.
  const bool multiplies_fast = pass_cost() > 1;
  const long large_b = multiplies_fast ? 1 << 18 : 1 << 20;  // elements
  const long rows_of_large_b = multiplies_fast ? 64 : 48;
  const long least_rows = K * N > large_b ? rows_of_large_b : 16;
  return !runs_float_pieces() && K % 2 == 0 && M >= least_rows && strassen_time(M, N, K) <= most_time;
}

long StrassenB::packed_size(long K, long N) { return Places(K / 2, half_cols(N)).fits + 1; }

bool StrassenB::is_packed(long K, long N, const float* packed) {
  return packed[Places(K / 2, half_cols(N)).fits] != 0;
}

bool StrassenB::pack(float* packed, ThreadPool& pool) const {
  const long width = row_gemm_tile().cols, half = K / 2, right = half_cols(N);
  const Places at(half, right);
  float *const unscale = packed + at.columns, *const depth_scale = packed + at.depth;
  std::atomic<bool> fits = scale_depth(*this, depth_scale, pool);
  std::vector<float> panels(static_cast<std::size_t>(pool.threads() * 2 * K * width));
  pool.parallel_for(right / width, [&](long panel, int worker) {
    if (!fits) return;
    const long first = panel * width;
    float* const left_panel = panels.data() + worker * 2 * K * width;
    float* const right_panel = left_panel + K * width;
    const auto copy = [&](long n, float* to) {
      copy_panel(*this, std::min(n, N), std::clamp(N - n, 0L, width), width, to);
    };
    copy(first, left_panel);
    copy(right + first, right_panel);
    if (!form_strassen_panels({.left = left_panel,
                               .right = right_panel,
                               .depth_scale = depth_scale,
                               .half_depth = half,
                               .sums = packed + products * panel * half * width,
                               .left_unscale = unscale + first,
                               .right_unscale = unscale + right + first}))
      fits = false;
  });
  packed[at.fits] = fits ? 1.0f : 0.0f;
  return fits;
}

long strassen_scratch_size(long M, long K, int threads) {
  const long rows = cut(block_rows(M), 2);
  return rows * (products * sum_stride(K / 2) + joined * most_cols * threads) + 2 * rows;
}

namespace {

// A product, block of rows by block.
class Strassen {
 public:
  Strassen(const RowGemm& g, float* scratch, ThreadPool& pool)
      : g_(g),
        pool_(pool),
        half_depth_(g.run_length / 2),
        right_(half_cols(g.cols)),
        stride_(sum_stride(half_depth_)),
        most_upper_(cut(block_rows(g.rows), 2)),
        col_unscale_(g.b + Places(half_depth_, right_).columns),
        depth_scale_(g.b + Places(half_depth_, right_).depth),
        a_sums_(scratch),
        products_(a_sums_ + products * most_upper_ * stride_),
        row_unscale_(products_ + pool.threads() * joined * most_upper_ * most_cols) {}

  long run() {
    const long block = block_rows(g_.rows);
    for (first_ = 0; first_ < g_.rows; first_ += block) {
      rows_ = std::min(block, g_.rows - first_);
      upper_ = cut(rows_, 2);
      const Cut pieces = cut_block();
      if (!form_sums(pieces.pairs)) return first_;
      const long groups = cut(right_, pieces.cols);
      pool_.parallel_for(cut(upper_, pieces.pairs) * groups, [&](long i, int worker) {
        const long pair = i / groups * pieces.pairs, col = i % groups * pieces.cols;
        multiply({pair, std::min(pieces.pairs, upper_ - pair), col, std::min(pieces.cols, right_ - col)},
                 worker);
      });
    }
    return g_.rows;
  }

 private:
  // A pair is a row of the upper half of a block and the one as far down in the lower half; columns are those
  // of the left half and the same of the right one.
  struct Cut {
    long pairs, cols;
  };
  struct Piece {
    long pair, pairs, col, cols;
  };

  // What a thread computes in one go. Many groups of columns are shared out evenly. Of few, each thread takes
  // all, for pairs of its own, whose sums it has formed: another thread's would come from its cache.
  Cut cut_block() const {
    const long width = row_gemm_tile().cols, panels = right_ / width, threads = pool_.threads();
    constexpr long many_groups = 4, least_pairs = 14;
    if (threads > 1 && panels * width < many_groups * threads * most_cols && upper_ >= threads * least_pairs)
      return {cut(upper_, threads), most_cols};
    long best = most_cols / width;
    const auto longest = [&](long together) { return cut(cut(panels, together), threads) * together; };
    for (long together = best - 1; together > 0; together--)
      if (longest(together) < longest(best)) best = together;
    return {upper_, best * width};
  }

  const float* row_of_a(long row) const { return g_.a + row * g_.a_rows.x_stride; }

  bool form_sums(long pairs_of_a_thread) {
    std::atomic<bool> fits = true;
    const long step = pairs_of_a_thread < upper_ ? pairs_of_a_thread : 8;
    pool_.parallel_for(cut(upper_, step), [&](long part, int) {
      for (long i = part * step; i < std::min(upper_, (part + 1) * step); i++) {
        const bool has_lower = upper_ + i < rows_;
        if (!form_strassen_sums({.upper = row_of_a(first_ + i),
                                 .lower = has_lower ? row_of_a(first_ + upper_ + i) : nullptr,
                                 .depth_scale = depth_scale_,
                                 .half_depth = half_depth_,
                                 .sums = a_sums_ + i * stride_,
                                 .sum_distance = upper_ * stride_,
                                 .unscale = row_unscale_ + 2 * i}))
          fits = false;
      }
    });
    return fits;
  }

  void multiply(const Piece& piece, int worker) const {
    const auto [pair, pairs, col, cols] = piece;
    const long distance = pairs * cols;
    float* const kept = products_ + worker * joined * most_upper_ * most_cols;
    for (int sum = 0; sum < joined; sum++) {
      RowGemm g = product(sum, piece);
      g.rows = pairs;
      g.cols = cols;
      g.c = kept + sum * distance;
      g.c_stride = cols;
      g.c_rows.x_stride = 1;
      run_here(g);
    }
    for (long i = 0; i < pairs; i++)
      join_strassen_row({.products = kept + i * cols,
                         .product_distance = distance,
                         .cols = cols,
                         .row_unscale = row_unscale_ + 2 * (pair + i),
                         .left_unscale = col_unscale_ + col,
                         .right_unscale = col_unscale_ + right_ + col});
    const auto finish = [&](RowGemm g, bool is_lower, bool is_right, int added) {
      const long row = first_ + (is_lower ? upper_ : 0) + pair, from = col + (is_right ? right_ : 0);
      g.rows = std::min(pairs, (is_lower ? rows_ - upper_ : upper_) - pair);
      g.cols = std::min(cols, (is_right ? g_.cols : std::min(g_.cols, right_)) - from);
      if (g.rows <= 0 || g.cols <= 0) return;
      g.sums = kept + added * distance;
      g.sums_stride = cols;
      g.c = g_.hook_stores ? nullptr : g_.c + row * g_.c_stride + from;
      g.c_stride = g_.c_stride;
      g.c_rows = g_.c_rows;
      g.hook_stores = g_.hook_stores;
      g.epilogue = g_.epilogue.from(row, from);
      g.hook_row = g_.hook_row + row;
      g.hook_col = g_.hook_col + from;
      run_here(g);
    };
    RowGemm no_product;
    no_product.b = g_.b;
    finish(product(5, piece), false, false, 0);
    finish(product(6, piece), true, true, 1);
    finish(no_product, false, true, 2);
    finish(no_product, true, false, 3);
  }

  // The operands of one of the products.
  RowGemm product(int sum, const Piece& piece) const {
    const long width = row_gemm_tile().cols, panel = half_depth_ * width;
    const auto panel_of = [&](int s, long first) { return g_.b + (products * (first / width) + s) * panel; };
    RowGemm g;
    g.a = a_sums_ + (sum * upper_ + piece.pair) * stride_;
    g.a_rows.x_stride = stride_;
    g.run_length = half_depth_;
    g.b = panel_of(sum, piece.col);
    g.b_row_stride = width;
    g.b_panel_stride = products * panel;
    g.next_b = sum + 1 < products ? panel_of(sum + 1, piece.col) : panel_of(0, piece.col + piece.cols);
    g.schedule = g_.schedule;
    g.schedule.outer = Schedule::Outer::columns;
    return g;
  }

  static void run_here(const RowGemm& g) {
    row_gemm(g, {0, row_gemm_tiles(g).count, 0, cut(g.cols, row_gemm_tile().cols)});
  }

  const RowGemm& g_;
  ThreadPool& pool_;
  long half_depth_;
  long right_;   // the first column of the right half
  long stride_;  // of sums of A
  long most_upper_;
  long first_ = 0, rows_ = 0;  // of the block
  long upper_ = 0;             // rows of its upper half
  const float* col_unscale_;
  const float* depth_scale_;
  float* a_sums_;
  float* products_;  // of each thread
  float* row_unscale_;
};

}  // namespace

long run_strassen(const RowGemm& g, float* scratch, ThreadPool& pool) {
  return Strassen(g, scratch, pool).run();
}

}  // namespace tenon::cpu
