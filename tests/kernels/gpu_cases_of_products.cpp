// Products and convolutions: each dtype, sizes that fill tiles and sizes that do not, and strides of every
// kind.
#include <fmt/format.h>

#include "tests/kernels/dense_product.h"
#include "tests/kernels/gpu_product_case.h"

namespace tenon::gpu {
namespace {

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

// float32 on these units: each tile, each side along its depth and across it, edges, tiles that blocks share,
// batches and convolutions.
void add_split(std::vector<GpuCase>& cases, bool bulk) {
  const auto tile = [bulk](int rows, int columns, std::int64_t whole = 0, std::int64_t sharers = 0) {
    return Tiling{.rows = rows,
                  .columns = columns,
                  .threads = 2 * rows,
                  .unit = TileUnit::of_warpgroup,
                  .bulk = bulk,
                  .splits = true,
                  .whole = whole,
                  .sharers = sharers};
  };
  const auto add = [&](const std::string& name, const Product& p, const Tiling& tiling) {
    cases.push_back(matrix_case((bulk ? "by bulk copies " : "of warpgroups ") + name + " f32", p, tiling));
  };
  add("128x128", dense_product(130, 136, 264, DType::f32, true), tile(128, 128));
  add("128x64", dense_product(130, 68, 136, DType::f32, true), tile(128, 64));
  add("64x64", dense_product(64, 64, 64, DType::f32, true), tile(64, 64));
  Product across = dense_product(136, 132, 100, DType::f32, false);
  across.left_row = 1;
  across.left_column = across.rows;
  add("128x128 across", across, tile(128, 128));
  add("64x64 across", across, tile(64, 64));
  add("of a short depth", dense_product(20, 40, 4, DType::f32, true), tile(64, 64));
  add("streamed", dense_product(100, 152, 304, DType::f32, false), tile(64, 64, 2, 3));
  add("128x128 streamed", dense_product(300, 136, 304, DType::f32, false), tile(128, 128, 3, 4));
  if (bulk) return;
  Product batched = dense_product(24, 72, 136, DType::f32, false);
  batched.batch = {{2, 24 * 136, 136 * 72}, {3, 2 * 24 * 136, 0}};
  add("of batches", batched, tile(64, 64, 3, 5));
  const ConvShape conv{
      .N = 2, .Cin = 32, .Cout = 48, .h = three_taps(9, 1), .w = three_taps(8, 2), .groups = 2};
  cases.push_back(conv_case("of warpgroups 3x3 f32", conv, DType::f32, tile(64, 64)));
  cases.push_back(conv_case("of warpgroups 3x3 128x128 f32", conv, DType::f32, tile(128, 128, 1, 2)));
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

// Products of few rows: each number of rows, teams that share the depth or do not, pieces that are not all
// there, depths and columns that fill nothing.
void add_few_rows(std::vector<GpuCase>& cases, const std::string& type, DType dtype) {
  const auto add = [&](int rows, int row_count, std::int64_t columns, std::int64_t depth, Tiling tiling) {
    tiling.rows = rows;
    tiling.row_count = row_count;
    tiling.threads = 128;
    const std::string name = fmt::format("of {} rows {} teams {} columns {}", rows, tiling.teams_sharing,
                                         tiling.columns_of_team(), type);
    cases.push_back(matrix_case(name, dense_product(rows, columns, depth, dtype, true), tiling));
  };
  add(1, 1, 37, 1000, {.columns = 16, .teams_sharing = 1, .team_steps = 3});
  add(2, 2, 37, 1000, {.columns = 2, .teams_sharing = 2, .team_steps = 2});
  add(3, 4, 37, 1000, {.columns = 4, .teams_sharing = 4, .team_steps = 1});
  add(7, 8, 37, 1000, {.columns = 2, .teams_sharing = 4, .team_steps = 2});
  const auto across = [&](int rows, std::int64_t columns, std::int64_t depth, int threads) {
    Product p = dense_product(rows, columns, depth, dtype, false);
    const int count = dtype == DType::f32 ? 4 : 8;
    int row_count = 1;
    while (row_count < rows) row_count *= 2;
    cases.push_back(matrix_case(fmt::format("of {} rows across by {} {}", rows, threads, type), p,
                                Tiling{.rows = rows,
                                       .columns = threads * count,
                                       .threads = 512,
                                       .row_count = row_count,
                                       .across = threads}));
  };
  across(1, 72, 1100, 4);
  across(2, 200, 150, 32);
  across(4, 520, 70, 16);
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
    add_few_rows(cases, type, dtype);
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
  add_split(cases, false);
  add_split(cases, true);
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
  return cases;
}

}  // namespace tenon::gpu
