// The choice of a product's tiles, and of the blocks that share them.
#include "kernels/gpu/product_tiling.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/kernels/dense_product.h"

namespace tenon::gpu {
namespace {

Product dense(std::int64_t rows, std::int64_t columns, std::int64_t depth, DType dtype = DType::f32) {
  return dense_product(rows, columns, depth, dtype, true);
}

constexpr MatrixUnits hopper{MatrixUnit::f16,  MatrixUnit::bf16,      MatrixUnit::f32,
                             MatrixUnit::tf32, MatrixUnit::wgmma_f16, MatrixUnit::wgmma_bf16};

std::string chosen(const Product& p, const GpuLimits& limits = {}) {
  return choose_tiling(p, limits).text(p);
}

TEST(ProductTiling, IsWhatSizesAskFor) {
  EXPECT_EQ(chosen(dense(4096, 4096, 4096, DType::f16)), "128x128");
  EXPECT_EQ(chosen(dense(2048, 2048, 4096, DType::f16), {.processors = 128}), "128x128");  // one wave
  EXPECT_EQ(chosen(dense(1024, 1024, 1024, DType::f16)), "128x64");
  EXPECT_EQ(chosen(dense(49, 512, 4608)), "32x64 in 16 parts");
  EXPECT_EQ(chosen(dense(13, 4096, 64)), "16x64");
  EXPECT_EQ(chosen(dense(1, 4096, 512)), "of 1 row");
}

TEST(ProductTiling, OfFewRowsGivesEachProcessorTeams) {
  const GpuLimits limits;
  struct Case {
    std::int64_t columns, depth;
    int columns_of_team, teams_sharing;
  };
  for (const Case& c : {Case{50257, 768, 4, 1},    // more columns than the device has room for
                        Case{2304, 768, 4, 2},     // of three pieces of depth, two teams
                        Case{768, 3072, 2, 4}}) {  // few columns, a long depth
    const Tiling t = choose_tiling(dense(1, c.columns, c.depth, DType::bf16), limits);
    EXPECT_EQ(t.columns_of_team(), c.columns_of_team) << c.columns;
    EXPECT_EQ(t.teams_sharing, c.teams_sharing) << c.columns;
  }
}

TEST(ProductTiling, OfFewRowsAcrossGivesEachProcessorABlock) {
  const auto of = [](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return choose_tiling(dense_product(rows, columns, depth, DType::bf16, false), {});
  };
  EXPECT_EQ(of(1, 4096, 4096).across, 4);
  EXPECT_EQ(of(1, 65536, 4096).across, 32);
  EXPECT_EQ(of(1, 4096, 64).across, 32);   // there is no depth for more threads
  EXPECT_EQ(of(5, 4096, 4096).across, 0);  // nor are there registers for the sums of eight rows
  EXPECT_EQ(of(5, 4096, 4096).row_count, 0);
  EXPECT_EQ(of(1, 4100, 4096).row_count, 0);  // columns that fill no pieces
}

TEST(ProductTiling, TakesTheUnitsThatAreProven) {
  const auto on = [](const Product& p, const MatrixUnits& units) { return chosen(p, {.units = units}); };
  const Product large = dense(4096, 4096, 4096, DType::f16);
  EXPECT_EQ(on(large, hopper), "128x256 wgmma");
  EXPECT_EQ(on(large, {MatrixUnit::f16}), "128x128");
  EXPECT_EQ(on(large, {MatrixUnit::wgmma_bf16}), on(large, {}));
  EXPECT_EQ(choose_tiling(large, {.units = {}}).unit, TileUnit::ordinary);
  EXPECT_EQ(choose_tiling(large, {.units = {MatrixUnit::f16}}).unit, TileUnit::of_wave);
  // Elements that come one by one would not stay in registers.
  EXPECT_EQ(choose_tiling(dense(4096, 4096, 4095, DType::f16), {.units = hopper}).unit, TileUnit::of_wave);
  EXPECT_EQ(choose_tiling(dense(4096, 4096, 4096), {.units = hopper}).unit, TileUnit::of_wave);
}

TEST(ProductTiling, TakesWarpgroupsForFloat32) {
  const MatrixUnits with_tma{MatrixUnit::f32, MatrixUnit::tf32, MatrixUnit::wgmma_f32, MatrixUnit::tma_f32};
  const MatrixUnits without{MatrixUnit::f32, MatrixUnit::wgmma_f32};
  Product large = dense(4096, 4096, 4096);
  EXPECT_EQ(chosen(large, {.processors = 128, .units = with_tma}), "128x128 wgmma tma");
  EXPECT_EQ(chosen(large, {.processors = 128, .units = without}), "128x128 wgmma");
  EXPECT_EQ(choose_tiling(dense(4096, 4096, 4095), {.units = without}).unit, TileUnit::of_wave);
  for (const Tiling& t :
       {choose_tiling(large, {.units = with_tma}), choose_tiling(dense(64, 64, 64), {.units = without})})
    EXPECT_LE(t.blocks_of_processor() * t.shared_bytes(), 227 << 10);
  large.tf32 = true;
  EXPECT_EQ(choose_tiling(large, {.units = with_tma}).unit, TileUnit::of_wave);
}

TEST(ProductTiling, OfBytesWhereNoMoreThan32BitsAreRead) {
  Product p = dense(4096, 4096, 4096, DType::i8);
  EXPECT_FALSE(of_bytes(p));
  p.reads_32_bits = true;
  EXPECT_EQ(chosen(p, {.units = {MatrixUnit::i8}}), "128x128 bytes");
  EXPECT_EQ(choose_tiling(p, {.units = {MatrixUnit::i8}}).unit, TileUnit::of_wave);
  EXPECT_EQ(choose_tiling(p, {.units = {MatrixUnit::f16}}).unit, TileUnit::ordinary);
  p.right_type = DType::u8;
  EXPECT_TRUE(of_bytes(p));
  p.right_type = DType::i16;
  EXPECT_FALSE(of_bytes(p));
}

TEST(ProductTiling, OfFloat8OfFormsThatOneUnitMultiplies) {
  Product p = dense(4096, 4096, 4096, DType::f8e4m3fn);
  EXPECT_FALSE(of_float8(p));
  EXPECT_EQ(chosen(p), chosen(dense(4096, 4096, 4096, DType::f16)));
  p.float8 = true;
  EXPECT_EQ(chosen(p, {.units = {MatrixUnit::f8}}), "128x128 float8");
  EXPECT_TRUE(units_for(p, {}).has(MatrixUnit::f8));
  p.right_type = DType::f8e5m2;
  EXPECT_TRUE(of_float8(p));
  for (const DType other : {DType::f8e4m3fnuz, DType::f16, DType::f32}) {
    p.right_type = other;
    EXPECT_FALSE(of_float8(p));
  }
  p.left_type = p.right_type = DType::f8e5m2fnuz;
  EXPECT_TRUE(units_for(p, {}).has(MatrixUnit::f8fnuz));
  p.rows = 3;
  EXPECT_EQ(chosen(p), "of 4 rows float8");
}

TEST(ProductTiling, TakesBulkCopiesOfWholeMatrices) {
  const MatrixUnits with_tma{MatrixUnit::f16, MatrixUnit::wgmma_f16, MatrixUnit::tma_f16};
  const auto on = [&](const Product& p) { return chosen(p, {.units = with_tma}); };
  const Product large = dense(4096, 4096, 4096, DType::f16);
  EXPECT_EQ(on(large), "128x256 wgmma tma");
  EXPECT_EQ(chosen(large, {.units = {MatrixUnit::f16, MatrixUnit::tma_f16}}), "128x256 wgmma tma");
  EXPECT_EQ(chosen(large, {.units = {MatrixUnit::f16, MatrixUnit::wgmma_f16}}), "128x256 wgmma");
  Product apart = large, batched = large, over_each_other = large, far = large;
  apart.left_row += 8;  // rows do not touch
  EXPECT_EQ(on(apart), "128x256 wgmma tma");
  apart.left_offset = 4;  // no aligned address
  EXPECT_EQ(choose_tiling(apart, {.units = with_tma}).unit, TileUnit::of_wave);
  batched.batch = {{2, 0, 0}};
  EXPECT_EQ(on(batched), "128x256 wgmma");
  over_each_other.left_row = 8;
  EXPECT_EQ(on(over_each_other), "128x256 wgmma");
  far.left_row = std::int64_t{1} << 31;
  EXPECT_EQ(on(far), "128x256 wgmma");
}

TEST(ProductTiling, DescribesSidesToBulkCopies) {
  Product p = dense(136, 264, 200, DType::f16);
  p.left_row = 1;  // its lines lie side by side
  p.left_column = 144;
  const auto maps = tensor_maps(p, {.rows = 128, .columns = 256});
  ASSERT_EQ(maps.size(), 2U);
  const auto numbers = [](const TensorMap& m) {
    return std::vector<std::int64_t>{
        static_cast<std::int64_t>(m.buffer), m.extent[0], m.extent[1], m.stride, m.box[0], m.box[1]};
  };
  EXPECT_EQ(numbers(maps[0]), (std::vector<std::int64_t>{0, 136, 200, 144, 64, 64}));
  EXPECT_EQ(numbers(maps[1]), (std::vector<std::int64_t>{1, 200, 264, 200, 64, 256}));
}

TEST(ProductTiling, OfWarpgroupsFitsTheMemoryOfAProcessor) {
  constexpr std::int64_t most_bytes = 227 << 10;
  std::mt19937 random(2);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  int of_warpgroups = 0;
  for (int i = 0; i < 500; ++i) {
    const Product p = dense(up_to(3000), up_to(3000), 8 * up_to(500), DType::bf16);
    const Tiling t = choose_tiling(p, {.units = hopper});
    if (t.unit != TileUnit::of_warpgroup) continue;
    ++of_warpgroups;
    EXPECT_GE(t.stages(), 3);
    EXPECT_LE(t.stages(), 6);
    EXPECT_LE(t.shared_bytes(), most_bytes);
    EXPECT_LE(resident_blocks(t, {}) / GpuLimits().processors * t.shared_bytes(), most_bytes);
  }
  EXPECT_GT(of_warpgroups, 250);
}

TEST(ProductTiling, FillsTheDeviceWithTheTilesThatAreLeft) {
  std::mt19937 random(1);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  int shared_ones = 0;
  for (int i = 0; i < 2000; ++i) {
    const DType dtypes[] = {DType::f16, DType::f32, DType::f64, DType::i64};
    Product p = dense(up_to(3000), up_to(3000), up_to(3000), dtypes[i % 4]);
    p.batch = {{up_to(4), 1, 1}};
    p.tf32 = i % 3 == 0;
    const GpuLimits limits{.processors = static_cast<int>(up_to(300)),
                           .units = i % 2 ? hopper : MatrixUnits()};
    const Tiling t = choose_tiling(p, limits);
    if (t.row_count > 0) continue;
    const std::int64_t shared = t.shared_tiles(p);
    EXPECT_EQ(t.whole + shared, t.tiles(p) * batches(p));
    if (shared == 0) continue;
    ++shared_ones;
    EXPECT_EQ(t.whole % resident_blocks(t, limits), 0);
    EXPECT_LT(shared, resident_blocks(t, limits));
    EXPECT_GE(t.sharers, 2);
    EXPECT_LE(t.sharers, std::min(resident_blocks(t, limits), shared * t.pieces(p)));
    Tiling alone = t;
    alone.whole = t.tiles(p) * batches(p);
    alone.sharers = 0;
    EXPECT_LT(estimated_clocks(p, t, limits), estimated_clocks(p, alone, limits));
  }
  EXPECT_GT(shared_ones, 500);
}

TEST(ProductTiling, TakesNoLessTimeForMore) {
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    double before = 0;
    for (std::int64_t depth = 1; depth < 1 << 16; depth *= 2) {
      const Product p = dense(300, 300, depth, dtype);
      const double clocks = estimated_clocks(p, choose_tiling(p, {}), {});
      EXPECT_GE(clocks, before) << depth;
      before = clocks;
    }
  }
}

}  // namespace
}  // namespace tenon::gpu
