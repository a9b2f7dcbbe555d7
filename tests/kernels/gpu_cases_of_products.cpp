// Products and convolutions: each dtype, sizes that fill tiles and sizes that do not, and strides of every
// kind.
#include <fmt/format.h>

#include <optional>

#include "kernels/gpu/product_tiling.h"
#include "tests/kernels/dense_product.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {
namespace {

// What a side of a product holds at a line and a place of its depth, of a batch.
using SideOf = std::function<double(std::int64_t batch, std::int64_t line, std::int64_t k)>;

// What memory holds of the right side, and what that is.
struct RightSide {
  DType dtype;
  std::vector<std::byte> bytes;
  SideOf at;
};

// How far the operands of one batch lie from the first's.
std::pair<std::int64_t, std::int64_t> offsets(const Product& p, std::int64_t batch) {
  std::int64_t left = 0, right = 0;
  for (std::size_t i = p.batch.size(); i-- > 0; batch /= p.batch[i].size) {
    left += batch % p.batch[i].size * p.batch[i].left;
    right += batch % p.batch[i].size * p.batch[i].right;
  }
  return {left, right};
}

// A side of bytes takes all values of them. One of float8 takes whole numbers, most of them positive: sums of
// 64 products are exact in 14 bits, long sums are not.
std::vector<std::byte> side_buffer(DType dtype, std::int64_t elements, unsigned seed) {
  if (size_of(dtype) != 1) return random_buffer(dtype, elements, seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements));
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < elements; ++i) {
    const unsigned bits = random();
    const double sign = bits >> 8 & 7U ? 1 : -1;
    if (is_float8(dtype))
      write_number(bytes.data(), dtype, i, {.real = sign * (bits & 7U)});
    else
      bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(bits & 255U);
  }
  return bytes;
}
double number_at(const std::vector<std::byte>& data, DType dtype, std::int64_t at) {
  const Number number = read_number(data.data(), dtype, at);
  return is_float(dtype) ? number.real : static_cast<double>(number.whole);
}

// Zero points that differ from line to line.
std::vector<std::byte> zero_points(std::int64_t lines, std::int64_t stride, int first) {
  std::vector<std::int32_t> zeros(static_cast<std::size_t>((lines - 1) * stride + 1));
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = first + static_cast<std::int32_t>(i * 7 % 90);
  return bytes_of(zeros);
}

// What the epilogue writes.
DType result_type(const Product& p) { return of_bytes(p) || of_float8(p) ? DType::f32 : p.left_type; }

// max(product + bias, 0) of the columns. tile: what the product is handed over in.
LoopProgram biased_relu(std::int64_t rows, std::int64_t columns, DType dtype, DType tile) {
  LoopProgram p("epilogue", {rows, columns});
  const Reg product = p.tile(tile);
  const Reg sum = p.prim(Prim::add, tile == DType::f32 ? product : p.cast(DType::f32, product),
                         p.load({0, DType::f32, {0, 1}}));
  p.store({1, dtype, {columns, 1}}, p.prim(Prim::max, sum, p.constant(0)));
  return p;
}

RightSide dense_right(const Product& p, std::int64_t elements) {
  const std::vector<std::byte> bytes = side_buffer(p.right_type, elements, 4);
  return {p.right_type, bytes, [p, bytes](std::int64_t b, std::int64_t j, std::int64_t k) {
            const std::int64_t at = offsets(p, b).second + k * p.right_row + j * p.right_column;
            return number_at(bytes, p.right_type, at);
          }};
}

// Random codes, of all values; scales and zero points differ from group to group.
RightSide coded_right(const Product& p) {
  const ProductCodes& c = p.codes[0];
  const std::int64_t columns = p.columns, depth = p.depth;
  std::vector<std::byte> bytes(static_cast<std::size_t>(c.bytes(columns, depth)));
  std::mt19937 random(4);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 255U);
  std::byte* const scales = bytes.data() + c.scales_at(columns, depth);
  std::byte* const zeros = bytes.data() + c.zeros_at(columns, depth);
  const std::int64_t groups = c.groups(depth);
  for (std::int64_t i = 0; i < columns * groups; ++i) {
    write_number(scales, DType::f32, i, {.real = 0.01 * static_cast<double>(1 + i % 13) / (1 << c.bits)});
    if (c.has_zeros) write_number(zeros, DType::i16, i, {.whole = i % 11 - 3});
  }
  return {DType::u8, bytes, [=](std::int64_t, std::int64_t j, std::int64_t k) {
            const std::int64_t bit = 8 * j * c.column_bytes(depth) + k * c.bits, i = j * groups + k / c.group;
            const auto byte = static_cast<unsigned>(bytes[static_cast<std::size_t>(bit / 8)]);
            const unsigned code = byte >> (bit % 8) & ((1U << c.bits) - 1);
            std::int64_t zero = c.zero;
            if (c.has_zeros)
              zero += read_number(bytes.data() + c.zeros_at(columns, depth), DType::i16, i).whole;
            return static_cast<double>(static_cast<std::int64_t>(code) - zero) *
                   read_number(bytes.data() + c.scales_at(columns, depth), DType::f32, i).real;
          }};
}

GpuCase product_case(const std::string& name, const Product& p, std::int64_t left_elements,
                     const RightSide& right, const SideOf& left_of,
                     const std::optional<Tiling>& tiling = {}) {
  const bool by_columns = !p.windows.empty();  // the groups of a convolution lie side by side
  const std::int64_t rows = by_columns ? p.rows : p.rows * batches(p);
  const std::int64_t columns = by_columns ? p.columns * batches(p) : p.columns;
  const LoopProgram epilogue =
      biased_relu(rows, columns, result_type(p), of_bytes(p) ? DType::i64 : DType::f32);
  const LoopForm form{.wide = true};
  const GpuLimits few{.processors = 1};
  ProductKernel kernel =
      tiling ? product_kernel(p, epilogue, form, *tiling) : product_kernel(p, epilogue, form, few);
  LoopBuffers before(epilogue), after(epilogue);
  GpuCase result{.name = name,
                 .launches = {{.source = std::move(kernel.source),
                               .kernel = std::move(kernel.name),
                               .grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                               .block = kernel.block,
                               .shared_bytes = kernel.shared_bytes,
                               .arguments = {std::move(kernel.arguments), loop_arguments(epilogue, form)},
                               .maps = kernel.maps}},
                 .buffers = {side_buffer(p.left_type, left_elements, 3), right.bytes},
                 .dtypes = {p.left_type, right.dtype},
                 .tolerance = p.tf32 ? 2e-2 : 2e-5,
                 .of_warpgroups = kernel.shared_bytes > 0};
  std::vector<std::byte> left_zeros, right_zeros;
  if (p.left_zeros) result.buffers.push_back(left_zeros = zero_points(p.rows, *p.left_zeros, -40));
  if (p.right_zeros) result.buffers.push_back(right_zeros = zero_points(p.columns, *p.right_zeros, -45));
  result.dtypes.resize(result.buffers.size(), DType::i32);
  const auto zero_at = [](const std::vector<std::byte>& zeros, std::optional<std::int64_t> stride,
                          std::int64_t line) {
    return stride ? number_at(zeros, DType::i32, line * *stride) : 0.0;
  };
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  std::vector<double> rights(static_cast<std::size_t>(p.depth * p.columns));
  for (std::int64_t b = 0; b < batches(p); ++b) {
    for (std::int64_t k = 0; k < p.depth; ++k)
      for (std::int64_t j = 0; j < p.columns; ++j)
        rights[static_cast<std::size_t>(k * p.columns + j)] =
            right.at(b, j, k) - zero_at(right_zeros, p.right_zeros, j);
    for (std::int64_t i = 0; i < p.rows; ++i) {
      std::vector<double> sums(static_cast<std::size_t>(p.columns));
      for (std::int64_t k = 0; k < p.depth; ++k) {
        const double left = left_of(b, i, k) - zero_at(left_zeros, p.left_zeros, i);
        const double* const row = rights.data() + k * p.columns;
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += left * row[j];
      }
      const std::int64_t at = by_columns ? i * columns + b * p.columns : (b * p.rows + i) * columns;
      std::transform(sums.begin(), sums.end(), values.begin() + at,
                     [](double sum) { return static_cast<float>(sum); });
    }
  }
  run_reference(biased_relu(rows, columns, result_type(p), DType::f32), after.pointers(), values.data());
  result.expected = result.buffers;
  if (kernel.parts > 0) {
    const std::vector<std::byte> tickets(static_cast<std::size_t>(kernel.tickets) * sizeof(unsigned));
    result.buffers.insert(result.buffers.end(), {random_buffer(kernel.part_type, kernel.parts, 5), tickets});
    result.expected.insert(result.expected.end(), {{}, tickets});
    result.dtypes.insert(result.dtypes.end(), {kernel.part_type, DType::u32});
  }
  result.dtypes.insert(result.dtypes.end(), {DType::f32, result_type(p)});
  for (std::size_t i = 0; i < before.count(); ++i) {
    const auto in = before.as<std::byte>(i), out = after.as<std::byte>(i);
    result.buffers.emplace_back(in.begin(), in.end());
    result.expected.emplace_back(out.begin(), out.end());
  }
  return result;
}

GpuCase matrix_case(const std::string& name, const Product& p, const std::optional<Tiling>& tiling = {}) {
  const auto [last_left, last_right] = offsets(p, batches(p) - 1);
  const std::int64_t left = last_left + (p.rows - 1) * p.left_row + (p.depth - 1) * p.left_column + 1;
  const std::int64_t elements =
      last_right + (p.depth - 1) * p.right_row + (p.columns - 1) * p.right_column + 1;
  const std::vector<std::byte> data = side_buffer(p.left_type, left, 3);
  return product_case(
      "product " + name, p, left, p.codes.empty() ? dense_right(p, elements) : coded_right(p),
      [&](std::int64_t b, std::int64_t i, std::int64_t k) {
        return number_at(data, p.left_type, offsets(p, b).first + i * p.left_row + k * p.left_column);
      },
      tiling);
}

// The place of a tap on an axis of the input; -1: there is none.
std::int64_t place(const ConvShape& s, const ConvAxis& a, std::int64_t out, std::int64_t tap) {
  std::int64_t at =
      s.transposed ? out + a.pad_before - tap * a.dilation : out * a.stride - a.pad_before + tap * a.dilation;
  if (s.transposed && at % a.stride != 0) return -1;
  if (s.transposed) at /= a.stride;
  return at < a.in ? at : -1;
}

// Of an input whose channels lie side by side.
GpuCase conv_case(const std::string& name, const ConvShape& s, DType dtype,
                  const std::optional<Tiling>& tiling = {}) {
  const std::int64_t channels = s.Cin / s.groups, columns = s.Cout / s.groups, depth = channels * s.taps();
  Product::Windows windows{.shape = s, .image = s.in_pixels() * s.Cin, .channel = 1};
  windows.spatial[2] = s.Cin;
  windows.spatial[1] = s.w.in * s.Cin;
  windows.spatial[0] = s.h.in * s.w.in * s.Cin;
  const Product p{.left_type = dtype,
                  .right_type = dtype,
                  .rows = s.N * s.out_pixels(),
                  .columns = columns,
                  .depth = depth,
                  .right_row = columns,
                  .right_column = 1,
                  .batch = {{s.groups, channels, depth * columns}},
                  .windows = {windows},
                  .reads_32_bits = true,
                  .float8 = true};
  const std::int64_t elements = s.N * s.in_pixels() * s.Cin;
  const std::vector<std::byte> data = side_buffer(dtype, elements, 3);
  const auto left_of = [&](std::int64_t group, std::int64_t pixel, std::int64_t k) {
    const std::int64_t channel = k % channels, tap = k / channels;
    const std::int64_t w = place(s, s.w, pixel % s.out(s.w), tap % s.w.kernel);
    const std::int64_t h = place(s, s.h, pixel / s.out(s.w) % s.out(s.h), tap / s.w.kernel % s.h.kernel);
    const std::int64_t d =
        place(s, s.d, pixel / (s.out(s.w) * s.out(s.h)) % s.out(s.d), tap / (s.w.kernel * s.h.kernel));
    if (w < 0 || h < 0 || d < 0) return 0.0;
    const std::int64_t image = pixel / s.out_pixels();
    return number_at(data, dtype,
                     image * windows.image + d * windows.spatial[0] + h * windows.spatial[1] +
                         w * windows.spatial[2] + group * channels + channel);
  };
  return product_case("convolution " + name, p, elements, dense_right(p, s.groups * depth * columns), left_of,
                      tiling);
}

constexpr ConvAxis three_taps(long in, long stride) {
  return {.in = in, .kernel = 3, .stride = stride, .pad_before = 1, .pad_after = 1};
}

// Each size of tiles that there is to choose from, on sides that are read in whole chunks.
void add_tiles(std::vector<GpuCase>& cases, const std::string& type, const Product& p) {
  const auto add = [&](int rows, int columns, int threads) {
    cases.push_back(matrix_case(fmt::format("of tiles {}x{} {}", rows, columns, type), p,
                                Tiling{.rows = rows, .columns = columns, .threads = threads}));
  };
  if (p.left_type == DType::f16 || p.tf32) add(128, 128, 256);
  if (p.left_type != DType::f64) {
    add(128, 64, 256);
    add(64, 128, 256);
  }
  for (const int rows : {64, 32, 16}) add(rows, 64, 128);
}

// Tiles that blocks share: of equal parts, and of ranges that end within tiles, behind whole tiles.
void add_shared(std::vector<GpuCase>& cases, const std::string& type, DType dtype) {
  const auto add = [&](const std::string& name, const Product& p, Tiling tiling) {
    cases.push_back(matrix_case(name + " " + type, p, tiling));
  };
  add("in parts", dense_product(50, 60, 704, dtype, true), {.sharers = 5});
  add("in ragged parts", dense_product(70, 60, 150, dtype, true), {.sharers = 5});
  add("streamed", dense_product(100, 152, 304, dtype, false), {.whole = 2, .sharers = 3});
  Product batched = dense_product(20, 70, 72, dtype, false);
  batched.batch = {{2, 20 * 72, 72 * 70}, {3, 2 * 20 * 72, 0}};
  add("of batches streamed", batched, {.rows = 32, .whole = 3, .sharers = 7});
}

// Products on the units of warpgroups: each tile, sides that lie along their depth and across it, edges and
// depths that fill no tile, tiles that blocks share, convolutions.
void add_warpgroups(std::vector<GpuCase>& cases, const std::string& type, DType dtype) {
  const auto tile = [](int rows, int columns) {
    return Tiling{.rows = rows, .columns = columns, .threads = 2 * rows, .unit = TileUnit::of_warpgroup};
  };
  const auto add = [&](const std::string& name, const Product& p, const Tiling& tiling) {
    cases.push_back(matrix_case(fmt::format("of warpgroups {} {}", name, type), p, tiling));
  };
  const auto streamed = [](Tiling t, std::int64_t whole, std::int64_t sharers) {
    t.whole = whole;
    t.sharers = sharers;
    return t;
  };
  Product across = dense_product(136, 264, 200, dtype, false);
  across.left_row = 1;
  across.left_column = across.rows;
  add("128x256", dense_product(130, 260, 328, dtype, true), tile(128, 256));
  add("128x128", dense_product(130, 136, 584, dtype, true), tile(128, 128));
  add("64x128", dense_product(70, 120, 72, dtype, false), tile(64, 128));
  add("64x64", dense_product(64, 64, 64, dtype, true), tile(64, 64));
  if (dtype == DType::bf16) return;  // the rest is alike
  add("128x256 across", across, tile(128, 256));
  add("128x128 across", across, tile(128, 128));
  add("64x64 across", across, tile(64, 64));
  add("of a short depth", dense_product(20, 40, 8, dtype, true), tile(64, 64));
  add("in parts", dense_product(50, 60, 704, dtype, true), streamed(tile(64, 64), 0, 5));
  add("streamed", dense_product(100, 152, 304, dtype, false), streamed(tile(64, 64), 2, 3));
  add("128x128 streamed", dense_product(300, 136, 304, dtype, false), streamed(tile(128, 128), 3, 4));
  add("128x256 streamed", across, streamed(tile(128, 256), 2, 3));
  Product batched = dense_product(24, 72, 136, dtype, false);
  batched.batch = {{2, 24 * 136, 136 * 72}, {3, 2 * 24 * 136, 0}};
  add("of batches", batched, streamed(tile(64, 128), 3, 5));
  const ConvShape conv{
      .N = 2, .Cin = 32, .Cout = 48, .h = three_taps(9, 1), .w = three_taps(8, 2), .groups = 2};
  cases.push_back(conv_case("of warpgroups 3x3 " + type, conv, dtype, tile(64, 64)));
  cases.push_back(
      conv_case("of warpgroups 3x3 128x128 " + type, conv, dtype, streamed(tile(128, 128), 1, 2)));
  cases.push_back(
      conv_case("of warpgroups 3x3 128x256 " + type, conv, dtype, streamed(tile(128, 256), 1, 2)));
  cases.push_back(conv_case("of warpgroups streamed " + type, conv, dtype, streamed(tile(64, 64), 1, 4)));
}

// The same of sides that bulk copies bring. What shares tiles does so with barriers that are made anew.
void add_bulk(std::vector<GpuCase>& cases, const std::string& type, DType dtype) {
  const auto tile = [](int rows, int columns) {
    return Tiling{
        .rows = rows, .columns = columns, .threads = 2 * rows, .unit = TileUnit::of_warpgroup, .bulk = true};
  };
  const auto add = [&](const std::string& name, const Product& p, Tiling tiling, std::int64_t whole = 0,
                       std::int64_t sharers = 0) {
    tiling.whole = whole;
    tiling.sharers = sharers;
    cases.push_back(matrix_case(fmt::format("by bulk copies {} {}", name, type), p, tiling));
  };
  add("128x128", dense_product(130, 136, 584, dtype, true), tile(128, 128));
  if (dtype == DType::bf16) return;  // the rest is alike
  Product across = dense_product(136, 264, 200, dtype, false);
  across.left_row = 1;
  across.left_column = across.rows;
  Product apart = dense_product(130, 260, 328, dtype, true);  // rows do not touch
  apart.left_row += 8;
  apart.right_column += 24;
  add("128x256", apart, tile(128, 256));
  add("64x128", dense_product(70, 120, 72, dtype, false), tile(64, 128));
  add("128x256 across", across, tile(128, 256));
  add("of a short depth", dense_product(20, 40, 8, dtype, true), tile(64, 64));
  add("streamed", dense_product(100, 152, 304, dtype, false), tile(64, 64), 2, 3);
  add("128x256 streamed", across, tile(128, 256), 2, 3);
}

// Right sides that are kept in 8 or 4 bits: tiles whose depth and columns are not whole, tiles that blocks
// share, products of few rows.
void add_coded(std::vector<GpuCase>& cases) {
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                       DType dtype, const ProductCodes& codes, const std::optional<Tiling>& tiling = {}) {
    Product p = dense_product(rows, columns, depth, dtype, true);
    p.codes = {codes};
    cases.push_back(matrix_case(name, p, tiling));
  };
  const ProductCodes bytes{.bits = 8, .zero = 128}, nibbles{.bits = 4, .group = 32, .zero = 8};
  const auto of_depth = [](ProductCodes c, std::int64_t depth) {
    c.group = depth;
    return c;
  };
  add("of bytes f32", 40, 70, 52, DType::f32, of_depth(bytes, 52));
  add("of bytes with zeros bf16", 20, 70, 80, DType::bf16, {.bits = 8, .group = 16, .has_zeros = true});
  add("of nibbles f16", 70, 91, 104, DType::f16, nibbles);
  add("of nibbles 128x128 streamed f16", 140, 150, 160, DType::f16, nibbles,
      Tiling{.rows = 128, .columns = 128, .threads = 256, .whole = 1, .sharers = 4});
  add("of a row of nibbles f16", 1, 100, 616, DType::f16, nibbles);
  add("of few rows of nibbles with zeros f32", 3, 70, 100, DType::f32,
      {.bits = 4, .group = 48, .has_zeros = true});
  add("of few rows of bytes bf16", 4, 70, 72, DType::bf16, of_depth(bytes, 72));
}

// Bytes of each sign: sides that lie along the depth and across it, in chunks and one by one; zero points of
// one side and of both; tiles of every size, tiles that blocks share, batches, a convolution.
void add_bytes(std::vector<GpuCase>& cases) {
  constexpr DType s8 = DType::i8, u8 = DType::u8;
  const auto product = [](DType left, DType right, std::int64_t rows, std::int64_t columns,
                          std::int64_t depth, bool right_is_transposed) {
    Product p = dense_product(rows, columns, depth, left, right_is_transposed);
    p.right_type = right;
    p.reads_32_bits = true;
    return p;
  };
  const auto centred = [](Product p, std::optional<std::int64_t> left, std::optional<std::int64_t> right) {
    p.left_zeros = left;
    p.right_zeros = right;
    return p;
  };
  const auto add = [&](const std::string& name, const Product& p, const std::optional<Tiling>& tiling = {}) {
    cases.push_back(matrix_case("of bytes " + name, p, tiling));
  };
  for (const auto& [name, left, right] :
       {std::tuple{"i8 i8", s8, s8}, {"i8 u8", s8, u8}, {"u8 i8", u8, s8}, {"u8 u8", u8, u8}}) {
    add(std::string("in chunks ") + name, product(left, right, 70, 91, 208, true));
    add(std::string("of odd sizes ") + name, product(left, right, 70, 91, 37, false));
    Product across = product(left, right, 80, 96, 100, false);
    across.left_row = 1;
    across.left_column = across.rows;
    add(std::string("across ") + name, across);
    add(std::string("with zero points ") + name, centred(product(left, right, 33, 70, 80, true), 0, 1));
  }
  add("with a left zero point", centred(product(u8, s8, 33, 70, 80, true), 0, {}));
  add("with right zero points", centred(product(s8, u8, 33, 70, 80, true), {}, 1));
  add("with zero points of rows", centred(product(s8, s8, 33, 70, 80, true), 1, 0));
  for (const auto& [rows, columns, threads] : {std::tuple{128, 128, 256},
                                               {128, 64, 256},
                                               {64, 128, 256},
                                               {64, 64, 128},
                                               {32, 64, 128},
                                               {16, 64, 128}})
    add(fmt::format("{}x{}", rows, columns), centred(product(u8, s8, 140, 130, 208, true), 0, 1),
        Tiling{.rows = rows, .columns = columns, .threads = threads});
  add("in parts", centred(product(u8, u8, 50, 60, 240, true), 0, 1), Tiling{.sharers = 3});
  add("streamed", centred(product(u8, s8, 100, 160, 240, false), 0, 1), Tiling{.whole = 2, .sharers = 3});
  add("on ordinary units", centred(product(u8, s8, 70, 91, 37, false), 0, 1),
      Tiling{.unit = TileUnit::ordinary});
  Product batched = product(s8, u8, 20, 24, 48, false);
  batched.batch = {{2, 20 * 48, 48 * 24}, {3, 2 * 20 * 48, 0}};
  add("of batches", batched);
  cases.push_back(conv_case(
      "3x3 of bytes", {.N = 2, .Cin = 16, .Cout = 24, .h = three_taps(9, 1), .w = three_taps(8, 2)}, s8));
}

// float8 of each form: pairs of them, sides that lie along the depth and across it, in chunks and one by one;
// sums of many parts, tiles of every size, tiles that blocks share, batches, few rows, a convolution.
void add_float8(std::vector<GpuCase>& cases) {
  const auto product = [](DType left, DType right, std::int64_t rows, std::int64_t columns,
                          std::int64_t depth, bool right_is_transposed) {
    Product p = dense_product(rows, columns, depth, left, right_is_transposed);
    p.right_type = right;
    p.float8 = true;
    return p;
  };
  const auto add = [&](const std::string& name, const Product& p, const std::optional<Tiling>& tiling = {}) {
    cases.push_back(matrix_case("of float8 " + name, p, tiling));
  };
  for (const auto& [suffix, e4m3, e5m2] :
       {std::tuple{"", DType::f8e4m3fn, DType::f8e5m2}, {" fnuz", DType::f8e4m3fnuz, DType::f8e5m2fnuz}}) {
    for (const auto& [name, left, right] : {std::tuple{"e4m3 e4m3", e4m3, e4m3},
                                            {"e4m3 e5m2", e4m3, e5m2},
                                            {"e5m2 e4m3", e5m2, e4m3},
                                            {"e5m2 e5m2", e5m2, e5m2}})
      add(fmt::format("in chunks {}{}", name, suffix), product(left, right, 70, 91, 208, true));
    Product across = product(e4m3, e5m2, 80, 96, 100, false);
    across.left_row = 1;
    across.left_column = across.rows;
    add(std::string("across") + suffix, across);
    add(std::string("of odd sizes") + suffix, product(e4m3, e5m2, 70, 91, 37, false));
    add(std::string("of a long depth") + suffix, product(e4m3, e4m3, 14, 60, 6400, true));
    add(std::string("streamed") + suffix, product(e5m2, e4m3, 100, 160, 240, false),
        Tiling{.whole = 2, .sharers = 3});
  }
  const DType dtype = DType::f8e4m3fn;
  for (const auto& [rows, columns, threads] : {std::tuple{128, 128, 256},
                                               {128, 64, 256},
                                               {64, 128, 256},
                                               {64, 64, 128},
                                               {32, 64, 128},
                                               {16, 64, 128}})
    add(fmt::format("{}x{}", rows, columns), product(dtype, dtype, 140, 130, 208, true),
        Tiling{.rows = rows, .columns = columns, .threads = threads});
  add("in parts", product(dtype, dtype, 50, 60, 240, true), Tiling{.sharers = 3});
  add("of a row", product(dtype, dtype, 1, 100, 608, true));
  add("of few rows", product(dtype, DType::f8e5m2, 3, 100, 80, true));
  Product batched = product(dtype, dtype, 20, 24, 48, false);
  batched.batch = {{2, 20 * 48, 48 * 24}, {3, 2 * 20 * 48, 0}};
  add("of batches", batched);
  cases.push_back(conv_case(
      "3x3 of float8", {.N = 2, .Cin = 16, .Cout = 24, .h = three_taps(9, 1), .w = three_taps(8, 2)}, dtype));
}

}  // namespace

std::vector<GpuCase> product_gpu_cases() {
  std::vector<GpuCase> cases;
  for (const auto& [type, dtype] :
       {std::pair{"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}}) {
    const std::string suffix = std::string(" ") + type;
    cases.push_back(matrix_case("of whole tiles" + suffix, dense_product(64, 128, 64, dtype, true)));
    cases.push_back(matrix_case("of odd sizes" + suffix, dense_product(70, 91, 37, dtype, false)));
    cases.push_back(matrix_case("of few rows" + suffix, dense_product(3, 100, 72, dtype, true)));
    cases.push_back(matrix_case("of a row" + suffix, dense_product(1, 100, 600, dtype, true)));
    cases.push_back(matrix_case("of 16 rows" + suffix, dense_product(13, 100, 72, dtype, true)));
    Product batched = dense_product(20, 24, 40, dtype, false);
    batched.batch = {{2, 20 * 40, 40 * 24}, {3, 2 * 20 * 40, 0}};
    cases.push_back(matrix_case("of batches" + suffix, batched));
    cases.push_back(conv_case("3x3" + suffix,
                              {.N = 2, .Cin = 16, .Cout = 24, .h = three_taps(9, 1), .w = three_taps(8, 2)},
                              dtype));
    cases.push_back(conv_case("of groups" + suffix,
                              {.Cin = 6, .Cout = 10, .h = {.in = 9, .kernel = 2, .dilation = 2}, .groups = 2},
                              dtype));
    cases.push_back(conv_case(
        "transposed" + suffix,
        {.N = 2, .Cin = 8, .Cout = 16, .h = three_taps(5, 2), .w = three_taps(4, 2), .transposed = true},
        dtype));
    add_shared(cases, type, dtype);
    cases.push_back(
        conv_case("streamed" + suffix,
                  {.N = 2, .Cin = 16, .Cout = 24, .h = three_taps(9, 1), .w = three_taps(8, 2), .groups = 2},
                  dtype, Tiling{.rows = 32, .whole = 1, .sharers = 4}));
  }
  add_shared(cases, "f64", DType::f64);
  add_warpgroups(cases, "f16", DType::f16);
  add_warpgroups(cases, "bf16", DType::bf16);
  add_bulk(cases, "f16", DType::f16);
  add_bulk(cases, "bf16", DType::bf16);
  add_tiles(cases, "f16", dense_product(140, 130, 200, DType::f16, true));
  add_tiles(cases, "f32", dense_product(140, 130, 100, DType::f32, true));
  add_tiles(cases, "f64", dense_product(70, 60, 40, DType::f64, true));
  Product tf32 = dense_product(140, 130, 100, DType::f32, true);
  tf32.tf32 = true;
  add_tiles(cases, "tf32", tf32);
  Product tf32_across = dense_product(70, 91, 37, DType::f32, false);
  tf32_across.tf32 = true;
  cases.push_back(matrix_case("of odd sizes tf32", tf32_across));
  add_coded(cases);
  add_bytes(cases);
  add_float8(cases);
  return cases;
}

}  // namespace tenon::gpu
