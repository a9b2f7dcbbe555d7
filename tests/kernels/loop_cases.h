// Loop programs of every kind, each with what its buffers have to hold.
#pragma once
#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

#include "tests/kernels/loop_buffers.h"

namespace tenon {

struct LoopCase {
  LoopProgram program;
  std::function<void(LoopBuffers&)> prepare = {};
  bool divides_by_zero = false;  // integers: a GPU's kernel reports it, and goes on
};

namespace loop_cases {

using Dims = std::vector<std::int64_t>;
using Cases = std::vector<LoopCase>;

inline Dims row_major(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) strides[d] = stride;
  return strides;
}
inline LoopOperand dense(const LoopProgram& p, int buffer, DType dtype = DType::f32) {
  return {buffer, dtype, row_major(p.shape.dims)};
}

inline LoopProgram softmax(std::int64_t rows, std::int64_t length, DType dtype = DType::f32) {
  LoopProgram p("softmax", {rows, length}, 1);
  const Reg x = p.load(dense(p, 0, dtype));
  const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, x, p.reduce(Reduce::max, x)));
  p.store(dense(p, 1, dtype), p.prim(Prim::div, e, p.reduce(Reduce::sum, e)));
  return p;
}

/// y = layer_norm(x + residual) * gamma + beta, and the sum itself.
inline LoopProgram layer_norm(std::int64_t rows, std::int64_t length) {
  LoopProgram p("layer_norm", {rows, length}, 1);
  const Reg scale = p.constant(1.0 / static_cast<double>(length));
  const Reg x = p.prim(Prim::add, p.load(dense(p, 0)), p.load(dense(p, 1)));
  const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale);
  const Reg d = p.prim(Prim::sub, x, mean);
  const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
  const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5)));
  const Reg scaled = p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), p.load({2, DType::f32, {0, 1}}));
  p.store(dense(p, 4), x);
  p.store(dense(p, 5), p.prim(Prim::add, scaled, p.load({3, DType::f32, {0, 1}})));
  return p;
}

inline LoopProgram add_relu(std::int64_t n, DType dtype = DType::f32) {
  LoopProgram p("add_relu", {n});
  const Reg sum = p.prim(Prim::add, p.load(dense(p, 0, dtype)), p.load(dense(p, 1, dtype)));
  p.store(dense(p, 2, dtype), p.prim(Prim::max, sum, p.constant(0)));
  return p;
}

/// Along the middle one of three dims.
inline LoopProgram softmax_of_columns(std::int64_t outer, std::int64_t length, std::int64_t inner) {
  LoopProgram p("softmax_of_columns", {outer, inner, length}, 1);
  const LoopOperand in = {0, DType::f32, {length * inner, 1, inner}};
  LoopOperand out = in;
  out.buffer = 1;
  const Reg x = p.load(in);
  const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, x, p.reduce(Reduce::max, x)));
  p.store(out, p.prim(Prim::mul, e, p.prim(Prim::recip, p.reduce(Reduce::sum, e))));
  return p;
}

inline void add_normalisations(Cases& cases) {
  for (const std::int64_t length : {1, 17, 128, 1000, 9001})
    for (const std::int64_t rows : {1, 9})
      if (rows * length <= 10000) cases.push_back({softmax(rows, length)});
  cases.push_back({softmax(2, 40000)});
  cases.push_back({softmax(5, 200, DType::f16)});
  for (const std::int64_t length : {1, 15, 384, 3000, 20000})
    for (const std::int64_t rows : {1, 33})
      if (rows * length <= 30000) cases.push_back({layer_norm(rows, length)});
  for (const auto& [outer, length, inner] : {std::tuple{3, 17, 40}, {2, 300, 5}, {1, 3000, 33}, {2, 4, 2}})
    cases.push_back({softmax_of_columns(outer, length, inner)});
}

inline LoopProgram broadcasts(const Dims& dims) {
  LoopProgram p("broadcasts", dims);
  Reg sum = p.load(dense(p, 0));
  int buffer = 1;
  for (std::size_t kept = 0; kept < dims.size(); ++kept) {
    Dims strides(dims.size(), 0);
    strides[kept] = 1;
    const Reg along = p.load({buffer++, DType::f32, strides});
    const Reg one = p.load({buffer++, DType::f32, Dims(dims.size(), 0)});
    sum = p.prim(Prim::add, p.prim(Prim::mul, sum, along), one);
  }
  p.store(dense(p, buffer), sum);
  return p;
}

inline LoopProgram permuted_and_reversed() {
  LoopProgram p("permuted", {6, 40, 35});
  const Reg swapped = p.load({0, DType::f32, {40 * 35, 1, 40}});
  const Reg outermost = p.load({1, DType::f32, {1, 6, 6 * 40}});
  const Reg reversed = p.load({2, DType::f32, {-40 * 35, -35, -1}, 6 * 40 * 35 - 1});
  const Reg strided = p.load({3, DType::f32, {40 * 70, 70, 2}, 1});
  const Reg sum =
      p.prim(Prim::add, p.prim(Prim::add, swapped, outermost), p.prim(Prim::add, reversed, strided));
  p.store({4, DType::f32, {40 * 35, 1, 40}}, sum);
  p.store({5, DType::f32, {-40 * 35, -35, -1}, 6 * 40 * 35 - 1}, p.prim(Prim::neg, sum));
  p.store(dense(p, 6), p.prim(Prim::abs, sum));
  return p;
}

/// Sums of a matrix and a transposed one.
inline LoopProgram add_transposed(std::int64_t rows, std::int64_t columns) {
  LoopProgram p("add_transposed", {rows, columns});
  const Reg x = p.load(dense(p, 0));
  p.store(dense(p, 2), p.prim(Prim::add, x, p.load({1, DType::f32, {1, rows}})));
  return p;
}

inline void add_pointwise(Cases& cases) {
  for (const std::int64_t columns : {33, 48, 128}) cases.push_back({add_transposed(64, columns)});
  for (const std::int64_t n : {0, 1, 3, 15, 16, 17, 1023, 1024, 1025, 20000}) cases.push_back({add_relu(n)});
  cases.push_back({add_relu(1000, DType::f16)});
  for (const Dims& dims :
       {Dims{5, 7}, Dims{40, 33}, Dims{3, 1100}, Dims{2, 3, 4}, Dims{6, 1, 50}, Dims{300, 3}})
    cases.push_back({broadcasts(dims)});
  cases.push_back({permuted_and_reversed()});

  LoopProgram powers("powers", {200});
  const Reg base = powers.prim(Prim::add, powers.load(dense(powers, 0)), powers.constant(2.5));
  int result = 1;
  for (const double exponent : {2.0, 0.5, -0.5, -1.0, 3.0, 1.7})
    powers.store(dense(powers, result++), powers.prim(Prim::pow, base, powers.constant(exponent)));
  cases.push_back({powers});

  LoopProgram scalar("scalar", {});
  scalar.store({1, DType::f32, {}}, scalar.prim(Prim::neg, scalar.load({0, DType::f32, {}})));
  cases.push_back({scalar});

  LoopProgram in_place("in_place", {2000});
  const Reg x = in_place.load(dense(in_place, 0));
  const Reg y = in_place.prim(Prim::add, x, in_place.constant(1));
  in_place.store(dense(in_place, 0), y);
  in_place.store(dense(in_place, 1), in_place.prim(Prim::mul, x, y));
  cases.push_back({in_place});

  LoopProgram repeated("repeated", {20, 30});
  const Reg row = repeated.load({0, DType::f32, {1, 0}});
  const Reg column = repeated.prim(Prim::exp, repeated.load({1, DType::f32, {0, 1}}));
  repeated.store(dense(repeated, 2), row);
  repeated.store(dense(repeated, 3), column);
  repeated.store(dense(repeated, 4), column);
  repeated.store(dense(repeated, 5), repeated.constant(7));
  cases.push_back({repeated});

  LoopProgram parts("parts", {13, 24});  // rows that are aligned, in memory that is not
  parts.store({1, DType::f32, {32, 1}, 3}, parts.prim(Prim::neg, parts.load({0, DType::f32, {28, 1}, 1})));
  cases.push_back({parts});
}

inline constexpr std::array real_dtypes = {DType::boolean, DType::u8,  DType::i8,  DType::u16, DType::i16,
                                           DType::u32,     DType::i32, DType::u64, DType::i64, DType::f16,
                                           DType::bf16,    DType::f32, DType::f64};

inline void add_conversions(Cases& cases) {
  for (const DType in :
       {DType::boolean, DType::i8, DType::u32, DType::u64, DType::f16, DType::f32, DType::f64}) {
    LoopProgram p("converts", {3, 37});
    const Reg x = p.load(dense(p, 0, in));
    int buffer = 1;
    for (const DType out : real_dtypes) p.store(dense(p, buffer++, out), p.cast(out, x));
    cases.push_back({p});
  }
}

inline LoopProgram every_reduction(std::int64_t rows, std::int64_t columns, DType type, bool along_columns) {
  LoopProgram p("reduces", along_columns ? Dims{columns, rows} : Dims{rows, columns}, 1);
  const bool real = is_float(type);
  const Reg loaded = p.load({0, type, along_columns ? Dims{1, columns} : Dims{columns, 1}});
  // Scaled, so that sums stay near 1, where the tolerance is relative to.
  const Reg x = real ? p.prim(Prim::mul, loaded, p.constant(1.0 / 64, compute_type(type))) : loaded;
  int buffer = 1;
  for (const Reduce kind : {Reduce::sum, Reduce::min, Reduce::max})
    p.store({buffer++, compute_type(type), {1, 0}}, p.reduce(kind, x));
  for (const Reduce kind : {Reduce::argmin, Reduce::argmax})
    p.store({buffer++, DType::i64, {1, 0}}, p.reduce(kind, x));
  const Reg zero = real ? p.constant(0, compute_type(type)) : p.constant_int(0);
  const Reg positive = p.prim(Prim::gt, x, zero);
  for (const Reduce kind : {Reduce::any, Reduce::all})
    p.store({buffer++, DType::boolean, {1, 0}}, p.reduce(kind, positive));
  return p;
}

/// Distances from the mean over height and width of padded channels-last images.
inline LoopProgram padded_nhwc(std::int64_t h, std::int64_t w, std::int64_t c) {
  const std::int64_t pixel = c + 16;
  const std::int64_t line = w * pixel + 32;
  const auto area = static_cast<double>(h * w);
  LoopProgram p("padded_nhwc", {2, c, h, w}, 2);
  const Reg x = p.load({0, DType::f32, {h * line, 1, line, pixel}});
  const Reg mean = p.prim(Prim::mul, p.reduce(Reduce::sum, x), p.constant(1.0 / area));
  const Reg d = p.prim(Prim::sub, x, mean);
  const Reg variance =
      p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), p.constant(1.0 / area));
  p.store({1, DType::f32, {c, 1, 0, 0}}, mean);
  p.store({2, DType::f32, {h * line, 1, line, pixel}}, p.prim(Prim::mul, d, p.prim(Prim::rsqrt, variance)));
  return p;
}

/// Every code as f32, and floats of every size as codes, stored and read on; dense, and with gaps.
inline void add_float8(Cases& cases) {
  constexpr std::array types = {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz};
  LoopProgram codes("float8_codes", {256}), floats("float8_floats", {20011});
  const Reg x = floats.load(dense(floats, 0));
  int buffer = 0, result = 1;
  for (const DType type : types)
    for (const std::int64_t stride : {1, 2}) {
      codes.store({buffer + 8, DType::f32, {1}}, codes.load({buffer, type, {stride}}));
      ++buffer;
      floats.store({result++, type, {stride}}, x);
      floats.store(dense(floats, result++), floats.cast(type, x));
    }
  cases.push_back({codes, [](LoopBuffers& buffers) {
                     for (std::size_t b = 0; b < 8; ++b) {
                       const auto bytes = buffers.as<std::uint8_t>(b);
                       for (std::size_t i = 0; i < bytes.size(); ++i)
                         bytes[i] = static_cast<std::uint8_t>(i * 256 / bytes.size());
                     }
                   }});
  cases.push_back({floats, [](LoopBuffers& buffers) {
                     const auto bits = buffers.as<std::uint32_t>(0);
                     for (std::size_t i = 0; i < bits.size(); ++i)
                       bits[i] = static_cast<std::uint32_t>(i) * 214631u;
                   }});
}

inline void add_in_place_rows(Cases& cases) {
  LoopProgram p("in_place_rows", {70, 12}, 1);
  const Reg old = p.load({0, DType::f32, {1, 0}});
  p.store({0, DType::f32, {1, 0}}, p.prim(Prim::add, old, p.reduce(Reduce::sum, p.load(dense(p, 1)))));
  cases.push_back({p});
  for (const std::int64_t length : {50, 5000, 50000}) {
    LoopProgram updated("updated_rows", {2, length}, 1);
    const Reg before = updated.load(dense(updated, 0));
    const Reg after = updated.prim(Prim::add, before, updated.constant(1));
    updated.store(dense(updated, 0), after);
    updated.store(dense(updated, 1), updated.prim(Prim::sub, before, updated.reduce(Reduce::max, after)));
    cases.push_back({updated});
  }
}

inline void add_reductions(Cases& cases) {
  for (const bool along_columns : {false, true}) {
    for (const auto& [rows, columns] : {std::pair{5, 9}, {40, 130}, {3, 2500}, {2500, 6}, {130, 300}})
      cases.push_back({every_reduction(rows, columns, DType::f32, along_columns)});
    for (const DType type : {DType::f64, DType::i64})
      cases.push_back({every_reduction(40, 130, type, along_columns)});
  }
  for (const auto& [h, w, c] : {std::tuple{7, 7, 64}, {14, 13, 130}, {3, 50, 5}, {1, 1, 8}, {60, 60, 3}})
    cases.push_back({padded_nhwc(h, w, c), [](LoopBuffers& b) { b.as<float>(2)[0] = 0; }});
  for (const std::int64_t n : {1, 1000, 300000}) {
    LoopProgram p("to_one", {n}, 1);
    const Reg x = p.load(dense(p, 0));
    p.store({1, DType::f32, {0}},
            p.prim(Prim::mul, p.reduce(Reduce::sum, x), p.constant(1.0 / static_cast<double>(n))));
    p.store({2, DType::i64, {0}}, p.reduce(Reduce::argmax, x));
    cases.push_back({p});
  }
  LoopProgram p("of_row_values", {3, 12}, 1);
  p.store({1, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.load({0, DType::f32, {1, 0}})));
  p.store({2, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.constant(2)));
  p.store({3, DType::f32, {1, 0}}, p.reduce(Reduce::sum, p.load({4, DType::f32, {0, 1}})));
  cases.push_back({p});
  add_in_place_rows(cases);
}

inline LoopProgram extremes(std::int64_t length) {
  LoopProgram p("extremes", {4, length}, 1);
  const Reg x = p.load(dense(p, 0));
  p.store({1, DType::f32, {1, 0}}, p.reduce(Reduce::max, x));
  p.store({2, DType::f32, {1, 0}}, p.reduce(Reduce::min, x));
  p.store({3, DType::i64, {1, 0}}, p.reduce(Reduce::argmax, x));
  return p;
}

inline void add_special_rows(Cases& cases) {
  LoopProgram empty("empty", {3, 0}, 1);
  const Reg x = empty.load(dense(empty, 0));
  empty.store({1, DType::f32, {1, 0}}, empty.reduce(Reduce::sum, x));
  empty.store({2, DType::f32, {1, 0}}, empty.reduce(Reduce::max, x));
  empty.store({3, DType::f32, {1, 0}}, empty.prim(Prim::exp, empty.reduce(Reduce::prod, x)));
  empty.store(dense(empty, 4), x);
  cases.push_back({empty});
  cases.push_back({softmax(0, 16)});
  for (const std::int64_t length : {5, 40, 3000})
    cases.push_back({extremes(length), [length](LoopBuffers& b) {
                       b.as<float>(0)[0] = NAN;
                       b.as<float>(0)[static_cast<std::size_t>(2 * length - 1)] = NAN;
                       b.as<float>(0)[static_cast<std::size_t>(2 * length + 3)] = NAN;
                     }});
  for (const Dims& dims : {Dims{4, 5}, Dims{3, 1500}, Dims{30, 40, 2}}) {
    LoopProgram p("iota", dims);
    Reg sum = p.constant_int(0);
    for (std::size_t d = 0; d < dims.size(); ++d)
      sum = p.prim(Prim::add, p.prim(Prim::mul, sum, p.constant_int(100)), p.iota(static_cast<int>(d)));
    p.store(dense(p, 0, DType::i64), sum);
    p.store(dense(p, 1), p.cast(DType::f32, p.iota(0)));
    cases.push_back({p});
  }
  LoopProgram causal("causal", {9, 9}, 1);
  const Reg masked = causal.prim(Prim::gt, causal.iota(1), causal.iota(0));
  const Reg y = causal.prim(Prim::select, masked, causal.constant(-INFINITY), causal.load(dense(causal, 0)));
  const Reg e = causal.prim(Prim::exp, causal.prim(Prim::sub, y, causal.reduce(Reduce::max, y)));
  causal.store(dense(causal, 1), causal.prim(Prim::div, e, causal.reduce(Reduce::sum, e)));
  cases.push_back({causal});
}

/// Fills buffer 0 with indices into [0, range), or [-range, range).
inline std::function<void(LoopBuffers&)> indices_below(std::int64_t range, bool from_end = false) {
  return [=](LoopBuffers& buffers) {
    std::mt19937 random(7);
    const auto put = [&](auto indices) {
      for (auto& index : indices) {
        const auto drawn = static_cast<std::int64_t>(random() % static_cast<unsigned>(range));
        const bool counts_back = from_end && random() % 2 == 0;
        index = static_cast<std::remove_reference_t<decltype(index)>>(counts_back ? drawn - range : drawn);
      }
    };
    if (buffers.dtype(0) == DType::i32) return put(buffers.as<std::int32_t>(0));
    put(buffers.as<std::int64_t>(0));
  };
}

struct Table {
  std::int64_t rows = 7;
  DType dtype = DType::f32;
  DType index = DType::i64;
  bool from_end = false;
};

/// out[i][j] = max(table[index[i]][j], x[i][j])
inline LoopProgram rows_by_index(std::int64_t count, std::int64_t width, const Table& t) {
  LoopProgram p("embedding", {count, width});
  const Reg index = p.load({0, t.index, {1, 0}});
  const Reg rows = p.gather({.buffer = 1,
                             .dtype = t.dtype,
                             .strides = {0, 1},
                             .index_stride = width,
                             .range = t.rows,
                             .from_end = t.from_end},
                            index);
  p.store({3, t.dtype, {width, 1}}, p.prim(Prim::max, rows, p.load({2, t.dtype, {width, 1}})));
  return p;
}

/// out[i][j] = table[index[i][j]][j]
inline LoopProgram elements_by_index(std::int64_t count, std::int64_t width, std::int64_t range) {
  LoopProgram p("along", {count, width});
  const Reg index = p.load({0, DType::i64, {width, 1}});
  p.store({2, DType::f32, {width, 1}},
          p.gather({.buffer = 1, .strides = {0, 1}, .index_stride = width, .range = range}, index));
  return p;
}

/// The sum of two embeddings and its distance from the row's mean.
inline LoopProgram normed_embedding(std::int64_t count, std::int64_t width) {
  LoopProgram p("normed_embedding", {count, width}, 1);
  const Reg index = p.load({0, DType::i64, {1, 0}});
  const Reg words = p.gather({.buffer = 1, .strides = {0, 1}, .index_stride = width, .range = 20}, index);
  const Reg next = p.prim(Prim::remainder, p.prim(Prim::add, index, p.constant_int(1)), p.constant_int(5));
  const Reg others = p.gather({.buffer = 2, .strides = {0, 1}, .index_stride = width, .range = 5}, next);
  const Reg x = p.prim(Prim::add, words, others);
  const Reg sum = p.reduce(Reduce::sum, x);
  const Reg d = p.prim(Prim::sub, x, p.prim(Prim::div, sum, p.count()));
  const Reg squares = p.reduce(Reduce::sum, p.prim(Prim::mul, d, d));
  p.store({3, DType::f32, {width, 1}}, p.prim(Prim::div, d, p.prim(Prim::sqrt, squares)));
  return p;
}

inline Reg five(LoopProgram& p, DType dtype) {
  const DType type = compute_type(dtype);
  if (is_float(type)) return p.constant(5, type);
  return p.constant_int(is_bool(type) ? 1 : 5, type);
}

inline void add_gathers_with_a_value(Cases& cases, DType dtype, std::int64_t width) {
  LoopProgram rows("rows_or_five", {50, width});
  const Reg of_row = rows.load({0, DType::i64, {1, 0}});
  const LoopOperand table{.buffer = 1, .dtype = dtype, .strides = {0, 1}, .index_stride = width, .range = 7};
  rows.store({2, dtype, {width, 1}}, rows.gather(table, of_row, five(rows, dtype)));
  cases.push_back({rows, indices_below(7, true)});
  LoopProgram elements("elements_or_five", {4, width});
  const Reg of_element = elements.load({0, DType::i64, {0, 1}});
  const LoopOperand columns{.buffer = 1, .dtype = dtype, .strides = {9, 0}, .index_stride = 1, .range = 9};
  elements.store({2, dtype, {width, 1}}, elements.gather(columns, of_element, five(elements, dtype)));
  cases.push_back({elements, indices_below(9, true)});
}

inline void add_gathers(Cases& cases) {
  for (const std::int64_t width : {1, 5, 64, 768})
    for (const std::int64_t count : {1, 30})
      cases.push_back({rows_by_index(count, width, {}), indices_below(7)});
  for (const DType dtype : {DType::f64, DType::f16, DType::i64, DType::u8})
    cases.push_back({rows_by_index(40, 33, {.dtype = dtype}), indices_below(7)});
  cases.push_back({rows_by_index(40, 32, {.index = DType::i32, .from_end = true}), indices_below(7, true)});
  for (const std::int64_t width : {3, 16, 2049, 30000})
    cases.push_back({normed_embedding(width > 2000 ? 3 : 50, width), indices_below(20)});
  for (const std::int64_t width : {4, 130}) {
    cases.push_back({elements_by_index(50, width, 11), indices_below(11)});
    LoopProgram sums("sums", {width, 50}, 1);
    const Reg of_column = sums.load({0, DType::i64, {1, width}});
    const Reg x =
        sums.gather({.buffer = 1, .strides = {1, 0}, .index_stride = width, .range = 11}, of_column);
    sums.store({2, DType::f32, {1, 0}}, sums.reduce(Reduce::sum, x));
    cases.push_back({sums, indices_below(11)});
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::boolean})
    for (const std::int64_t width : {5, 300}) add_gathers_with_a_value(cases, dtype, width);
  LoopProgram p("one_row", {30, 40});
  const Reg index = p.load({0, DType::i64, {0, 0}});
  p.store({2, DType::f32, {40, 1}},
          p.gather({.buffer = 1, .strides = {40, 1}, .index_stride = 1200, .range = 3}, index));
  cases.push_back({p, indices_below(3)});
}

/// Every primitive of integers or bools on pairs of numbers.
inline LoopProgram every_primitive(DType type) {
  constexpr std::int64_t n = 12;
  int buffer = 2;
  LoopProgram p("prims", {n, n});
  const Reg a = p.load({0, type, {1, 0}});
  const Reg b = p.load({1, type, {0, 1}});
  for (const PrimInfo& row : prim_table) {
    if (row.kind != PrimKind::number && row.kind != PrimKind::test && row.kind != PrimKind::bits) continue;
    const Reg y = row.arity == 1 ? p.prim(row.prim, b) : p.prim(row.prim, a, b);
    p.store({buffer++, p.type_of(y), {n, 1}}, y);
  }
  p.store({buffer++, type, {n, 1}}, p.prim(Prim::select, p.prim(Prim::lt, a, b), a, b));
  return p;
}

}  // namespace loop_cases

inline std::vector<LoopCase> all_loop_cases() {
  loop_cases::Cases cases;
  loop_cases::add_normalisations(cases);
  loop_cases::add_pointwise(cases);
  loop_cases::add_conversions(cases);
  loop_cases::add_float8(cases);
  loop_cases::add_reductions(cases);
  loop_cases::add_special_rows(cases);
  loop_cases::add_gathers(cases);
  for (const DType type : {DType::i64, DType::boolean})
    cases.push_back({loop_cases::every_primitive(type), {}, true});
  return cases;
}

}  // namespace tenon
