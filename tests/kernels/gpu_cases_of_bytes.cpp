// Products of sides whose elements take a byte: integers of either sign, and float8.
#include <fmt/format.h>

#include "tests/kernels/dense_product.h"
#include "tests/kernels/gpu_product_case.h"

namespace tenon::gpu {
namespace {

constexpr Tiling tilings[] = {
    {.rows = 128, .columns = 128, .threads = 256}, {.rows = 128, .columns = 64, .threads = 256},
    {.rows = 64, .columns = 128, .threads = 256},  {.rows = 64, .columns = 64, .threads = 128},
    {.rows = 32, .columns = 64, .threads = 128},   {.rows = 16, .columns = 64, .threads = 128}};
std::string size_of(const Tiling& t) { return fmt::format("{}x{}", t.rows, t.columns); }

// Flags that the dtypes do not ask for have no effect.
Product product(DType left, DType right, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                bool right_is_transposed) {
  Product p = dense_product(rows, columns, depth, left, right_is_transposed);
  p.right_type = right;
  p.reads_32_bits = p.float8 = true;
  return p;
}

// Bytes of each sign: sides that lie along the depth and across it, in chunks and one by one; zero points of
// one side and of both; tiles of every size, tiles that blocks share, batches, a convolution.
void add_bytes(std::vector<GpuCase>& cases) {
  constexpr DType s8 = DType::i8, u8 = DType::u8;
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
  for (const Tiling& tiling : tilings)
    add(size_of(tiling), centred(product(u8, s8, 140, 130, 208, true), 0, 1), tiling);
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
  for (const Tiling& tiling : tilings)
    add(size_of(tiling), product(dtype, dtype, 140, 130, 208, true), tiling);
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

std::vector<GpuCase> byte_product_gpu_cases() {
  std::vector<GpuCase> cases;
  add_bytes(cases);
  add_float8(cases);
  return cases;
}

}  // namespace tenon::gpu
