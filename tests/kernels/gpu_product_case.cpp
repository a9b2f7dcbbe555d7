#include "tests/kernels/gpu_product_case.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"

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
                     const RightSide& right, const SideOf& left_of, const std::optional<Tiling>& tiling) {
  const bool by_columns = !p.windows.empty();  // the groups of a convolution lie side by side
  const std::int64_t rows = by_columns ? p.rows : p.rows * batches(p);
  const std::int64_t columns = by_columns ? p.columns * batches(p) : p.columns;
  const LoopProgram epilogue =
      biased_relu(rows, columns, result_type(p), of_bytes(p) ? DType::i64 : DType::f32);
  const GpuLimits few{.processors = 1};
  ProductKernel kernel = tiling ? product_kernel(p, epilogue, *tiling) : product_kernel(p, epilogue, few);
  LoopBuffers before(epilogue), after(epilogue);
  GpuCase result{
      .name = name,
      .launches = {{.source = std::move(kernel.source),
                    .kernel = std::move(kernel.name),
                    .grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                    .block = kernel.block,
                    .shared_bytes = kernel.shared_bytes,
                    .arguments = {std::move(kernel.arguments), loop_arguments(epilogue, tile_form)},
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

// The place of a tap on an axis of the input; -1: there is none.
std::int64_t place(const ConvShape& s, const ConvAxis& a, std::int64_t out, std::int64_t tap) {
  std::int64_t at =
      s.transposed ? out + a.pad_before - tap * a.dilation : out * a.stride - a.pad_before + tap * a.dilation;
  if (s.transposed && at % a.stride != 0) return -1;
  if (s.transposed) at /= a.stride;
  return at < a.in ? at : -1;
}

}  // namespace

GpuCase matrix_case(const std::string& name, const Product& p, const std::optional<Tiling>& tiling) {
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

GpuCase conv_case(const std::string& name, const ConvShape& s, DType dtype,
                  const std::optional<Tiling>& tiling) {
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

}  // namespace tenon::gpu
