#include "kernels/gpu/product_tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/scalar.h"
#include "kernels/gpu/chunks.h"

namespace tenon::gpu {
namespace {

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// Of a line of a side, in a piece.
int piece_bytes(const Tiling& t) { return t.unit == TileUnit::of_warpgroup ? 128 : 64; }

// Of the two parts of the right side's pieces (WarpgroupTile).
int split_bytes(const Tiling& t) {
  constexpr int pieces = 3, parts = 2;
  return t.splits ? pieces * parts * t.columns * piece_bytes(t) : 0;
}

Reading choose_reading(DType type, const Product& p, std::int64_t line, std::int64_t depth,
                       std::vector<std::int64_t> others) {
  Reading reading{.depth_fast = depth == 1 || line != 1};
  others.push_back(reading.depth_fast ? line : depth);
  const bool side_by_side = (reading.depth_fast ? depth : line) == 1;
  if ((type == type_of(p) || of_bytes(p) || of_float8(p)) && side_by_side)
    reading.count = chunk_elements(type, others);
  return reading;
}

// How teams of a product of few rows divide its columns and their depth: as many columns at once and as few
// teams for a depth as give each processor some teams, so that all of them read.
void divide_among_teams(Tiling& t, const Product& p, int count, const GpuLimits& limits) {
  constexpr int lanes = 32, teams = 4;  // row_product_lanes; of a block
  constexpr int teams_of_processor = 6, pieces_at_once = 12;
  const std::int64_t pieces = divide_up(p.depth, std::int64_t{lanes} * count);
  const auto fills = [&](int columns, int sharing) {
    return divide_up(p.columns, columns) * batches(p) * sharing >= teams_of_processor * limits.processors;
  };
  int most_sharing = 1;
  while (2 * most_sharing <= std::min<std::int64_t>(teams, pieces)) most_sharing *= 2;
  int columns = t.row_count > 4 ? 2 : 4;
  while (columns > 1 && !fills(columns, most_sharing)) columns /= 2;
  while (t.teams_sharing < most_sharing && !fills(columns, t.teams_sharing)) t.teams_sharing *= 2;
  t.columns = columns * teams / t.teams_sharing;
  const std::int64_t of_thread = divide_up(pieces, t.teams_sharing);
  t.team_steps = pieces_at_once / columns;
  while (of_thread % t.team_steps != 0) --t.team_steps;
}

// How many threads of a block of a product of few rows take columns that lie side by side: as few as give
// each processor a block, if the others have depths to read.
int threads_across(const Product& p, int threads, int sums, int count, const GpuLimits& limits) {
  constexpr int least = 4, least_depths = 4;  // a sector of memory and its neighbour; of a thread
  constexpr int most_sums = 512;              // of a wave, in shared memory
  int across = std::min(32, most_sums / sums);
  const auto blocks = [&] { return divide_up(p.columns, std::int64_t{across} * count) * batches(p); };
  while (across > least && blocks() < limits.processors && p.depth * across / threads >= 2 * least_depths)
    across /= 2;
  return across;
}

// A few rows are multiplied by columns that go straight to registers, along their depth or side by side.
std::optional<Tiling> row_tiling(const Product& p, const GpuLimits& limits) {
  constexpr int most_sums = 32;  // of a thread
  const DType type = type_of(p);
  if (p.rows > most_rows_at_once || !p.windows.empty() || !p.prologue.empty() || size_of(type) > 4 ||
      !is_float(type))
    return std::nullopt;
  Tiling t{.rows = static_cast<int>(p.rows), .threads = 128};
  t.row_count = 1;
  while (t.row_count < t.rows) t.row_count *= 2;
  const Reading left = reading_of_left(p), right = reading_of_right(p);
  if (right.count == 1) return std::nullopt;
  if (left.depth_fast && left.count > 1 && right.depth_fast) {
    divide_among_teams(t, p, p.codes.empty() ? left.count : coded_row_count, limits);
    return t;
  }
  if (right.depth_fast || p.left_type != p.right_type || is_float8(type) || p.columns % right.count != 0 ||
      t.row_count * right.count > most_sums)
    return std::nullopt;
  t.threads = 512;  // across_product_threads
  t.across = threads_across(p, t.threads, t.row_count * right.count, right.count, limits);
  t.columns = t.across * right.count;
  return t;
}

std::optional<MatrixUnit> wave_unit(const Product& p) {
  return is_tf32(p) ? MatrixUnit::tf32 : unit_of_waves(type_of(p));
}

// Its sides come in whole chunks, as they are multiplied: a thread has no registers for single elements.
std::optional<MatrixUnit> warpgroup_unit(const Product& p) {
  if (reading_of_left(p).count == 1 || reading_of_right(p).count == 1 || !p.codes.empty())
    return std::nullopt;
  switch (type_of(p)) {
    case DType::f16: return MatrixUnit::wgmma_f16;
    case DType::bf16: return MatrixUnit::wgmma_bf16;
    case DType::f32: return p.tf32 ? std::nullopt : std::optional(MatrixUnit::wgmma_f32);
    default: return std::nullopt;
  }
}

// Sides that are whole matrices need no thread to find their elements.
std::optional<MatrixUnit> bulk_unit(const Product& p) {
  const auto unit = warpgroup_unit(p);
  if (!unit || tensor_maps(p, {}).empty()) return std::nullopt;
  switch (*unit) {
    case MatrixUnit::wgmma_f16: return MatrixUnit::tma_f16;
    case MatrixUnit::wgmma_bf16: return MatrixUnit::tma_bf16;
    default: return MatrixUnit::tma_f32;
  }
}

// Tiles whose sums fit the registers: bulk copies first, which leave all else to the units, then the largest
// first.
std::vector<Tiling> tiles_of(const Product& p, const MatrixUnits& units) {
  const std::size_t size = size_of(type_of(p));
  std::vector<Tiling> list;
  const auto add = [&](int rows, int columns, int threads, TileUnit unit) {
    list.push_back({.rows = rows, .columns = columns, .threads = threads, .unit = unit});
  };
  for (const auto of_warpgroup : {bulk_unit(p), warpgroup_unit(p)}) {
    if (!of_warpgroup || !units.has(*of_warpgroup)) continue;
    const bool splits = size == 4;
    if (!splits) add(128, 256, 256, TileUnit::of_warpgroup);
    add(128, 128, 256, TileUnit::of_warpgroup);
    if (splits) add(128, 64, 256, TileUnit::of_warpgroup);
    if (!splits) add(64, 128, 128, TileUnit::of_warpgroup);
    add(64, 64, 128, TileUnit::of_warpgroup);
    for (Tiling& t : list) {
      t.bulk = t.bulk || takes_bulk_copies(*of_warpgroup);
      t.splits = splits;
    }
  }
  const auto of_wave = wave_unit(p);
  const TileUnit unit = of_wave && units.has(*of_wave) ? TileUnit::of_wave : TileUnit::ordinary;
  if (size <= 2 || is_tf32(p)) add(128, 128, 256, unit);
  if (size <= 4) {
    add(128, 64, 256, unit);
    add(64, 128, 256, unit);
  }
  for (const int rows : {64, 32, 16}) add(rows, 64, 128, unit);
  return list;
}

// What the estimate takes for granted of a processor, in clocks: fitted to an H100's times of 37 products and
// all their tilings, float32 and bfloat16 (bench/gpu). Units that it did not time have their share of these.

// Of an element of the right side.
double bytes_in_memory(const Product& p) {
  for (const ProductCodes& c : p.codes)
    return static_cast<double>(c.bytes(p.columns, p.depth)) / static_cast<double>(p.columns * p.depth);
  return static_cast<double>(size_of(type_of(p)));
}

// float32, as three products.
bool takes_parts(const Product& p, const Tiling& t) {
  return type_of(p) == DType::f32 && !is_tf32(p) && t.unit == TileUnit::of_wave;
}

double multiply_adds(const Product& p, TileUnit unit) {
  const bool is_ordinary = unit == TileUnit::ordinary;
  if (unit == TileUnit::of_warpgroup) return size_of(type_of(p)) == 4 ? 350 : 2048;  // 4: three products
  switch (type_of(p)) {
    case DType::f16:
    case DType::bf16: return is_ordinary ? 128 : 2000;
    case DType::f8e4m3fn:  // mma.sync's, which ptxas makes products of float16 of
    case DType::f8e5m2: return 2000;
    case DType::f32: return is_ordinary ? 128 : is_tf32(p) ? 1000 : 118;
    case DType::i8: return is_ordinary ? 64 : 4000;
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz: return 4000;
    case DType::f64: return 64;
    default: return 16;
  }
}
// A warpgroup's unit reads shared memory while others copy; waves copy, read and multiply in turn.
double clocks_of_piece(const Product& p, const Tiling& t) {
  const auto size = static_cast<double>(size_of(type_of(p)));
  const double bytes = piece_bytes(t) * (t.rows + t.columns * bytes_in_memory(p) / size);
  const double products =
      static_cast<double>(t.rows) * t.columns * piece_bytes(t) / size / multiply_adds(p, t.unit);
  if (t.unit == TileUnit::of_warpgroup) return std::max(products, bytes / 42);
  return products + bytes / (takes_parts(p, t) ? 15.5 : 23);
}
// From its wait to its last product, while the block is alone.
double latency_of_piece(const Product& p, const Tiling& t) {
  if (t.unit == TileUnit::of_warpgroup) return t.bulk ? 500 : 1000;
  return takes_parts(p, t) ? 1400 : 500;
}
double begin_and_end(const Tiling& t) { return t.unit == TileUnit::of_warpgroup ? 1800 : 1500; }
constexpr double clocks_of_element = 0.18;  // of the result, behind the product
constexpr double meeting_of_parts = 4000;   // fences, a ticket
constexpr double part_bytes_of_clock = 16;
constexpr double registers_of_sharing = 1.15;  // a kernel that computes whole tiles, too, holds more

std::string shape_text(const Product& p, const Tiling& t) {
  if (t.row_count > 0) return fmt::format("of {} row{}", t.row_count, t.row_count > 1 ? "s" : "");
  const std::string tile = fmt::format(
      "{}x{}{}{}", t.rows, t.columns, t.unit == TileUnit::of_warpgroup ? " wgmma" : "", t.bulk ? " tma" : "");
  const std::int64_t shared = t.shared_tiles(p);
  if (shared == 0) return tile;
  if (t.whole == 0 && t.sharers % shared == 0) return fmt::format("{} in {} parts", tile, t.sharers / shared);
  return tile + " streamed";
}

}  // namespace

std::int64_t batches(const Product& p) {
  std::int64_t count = 1;
  for (const ProductBatch& b : p.batch) count *= b.size;
  return count;
}

DType type_of(const Product& p) {
  if (of_float8(p)) return p.left_type;
  return of_bytes(p) ? DType::i8 : product_type(p.left_type, p.right_type).value();
}

DType sum_type(const Product& p) { return of_bytes(p) ? DType::u32 : compute_type(type_of(p)); }

bool is_tf32(const Product& p) { return p.tf32 && type_of(p) == DType::f32; }

MatrixUnits units_for(const Product& p, const GpuLimits& limits) {
  MatrixUnits units;
  if (row_tiling(p, limits)) return units;
  for (const auto unit : {bulk_unit(p), warpgroup_unit(p), wave_unit(p)})
    if (unit) units.add(*unit);
  return units;
}

std::int64_t Tiling::row_tiles(const Product& p) const { return divide_up(p.rows, rows); }
std::int64_t Tiling::tiles(const Product& p) const { return row_tiles(p) * divide_up(p.columns, columns); }
std::int64_t Tiling::shared_tiles(const Product& p) const {
  return sharers > 0 ? tiles(p) * batches(p) - whole : 0;
}

std::int64_t Tiling::pieces(const Product& p) const {
  const auto depth = static_cast<std::int64_t>(piece_bytes(*this) / static_cast<int>(size_of(type_of(p))));
  return std::max<std::int64_t>(1, divide_up(p.depth, depth));
}

// The registers of a processor have room for 256 threads of these, about.
int Tiling::stages() const {
  constexpr int most = 6, of_processor = 220 << 10, most_threads = 256;
  const int share = of_processor * threads / most_threads - split_bytes(*this);
  return std::min(most, share / ((rows + columns) * piece_bytes(*this)));
}

std::int64_t Tiling::shared_bytes() const {
  constexpr std::int64_t alignment = 1024;  // ring_alignment
  if (unit != TileUnit::of_warpgroup) return 0;
  return std::int64_t{stages()} * (rows + columns) * piece_bytes(*this) + split_bytes(*this) + alignment;
}

std::string Tiling::text(const Product& p) const {
  std::string text = shape_text(p, *this);
  if (of_bytes(p)) text += " bytes";
  if (of_float8(p)) text += " float8";
  for (const ProductCodes& c : p.codes) {
    text += fmt::format(" i{}", c.bits);
    if (c.group != p.depth) text += fmt::format(" groups of {}", c.group);
  }
  return text;
}

std::int64_t Tiling::blocks_of_processor() const {
  constexpr int most_threads = 512;                               // whose registers tiles take
  constexpr std::int64_t bytes = 228 << 10, of_driver = 1 << 10;  // of its shared memory, and of each block
  const std::int64_t blocks = std::max(1, most_threads / threads);
  return shared_bytes() > 0 ? std::min(blocks, bytes / (shared_bytes() + of_driver)) : blocks;
}

std::int64_t resident_blocks(const Tiling& t, const GpuLimits& limits) {
  return limits.processors * t.blocks_of_processor();
}

Reading reading_of_left(const Product& p) {
  if (!p.prologue.empty()) return {};
  std::vector<std::int64_t> steps{p.left_offset};
  for (const ProductBatch& b : p.batch) steps.push_back(b.left);
  if (p.windows.empty()) return choose_reading(p.left_type, p, p.left_row, p.left_column, std::move(steps));
  const Product::Windows& w = p.windows[0];
  steps.insert(steps.end(), {w.shape.Cin / w.shape.groups, w.image});
  steps.insert(steps.end(), std::begin(w.spatial), std::end(w.spatial));
  const std::int64_t whole_chunks = 0;
  return choose_reading(p.left_type, p, whole_chunks, w.channel, std::move(steps));
}

Reading reading_of_right(const Product& p) {
  if (!p.codes.empty()) return {.depth_fast = true, .count = coded_tile_count};
  std::vector<std::int64_t> steps{p.right_offset};
  for (const ProductBatch& b : p.batch) steps.push_back(b.right);
  return choose_reading(p.right_type, p, p.right_column, p.right_row, std::move(steps));
}

std::vector<TensorMap> tensor_maps(const Product& p, const Tiling& t) {
  if (!p.windows.empty() || batches(p) != 1) return {};
  std::vector<TensorMap> maps;
  const auto add = [&](DType dtype, const Reading& reading, std::int64_t lines, std::int64_t line,
                       std::int64_t depth, int lines_of_tile) {
    const bool fast = reading.depth_fast;
    const int row = 128 / static_cast<int>(size_of(dtype));  // of a box, elements
    maps.push_back({.buffer = maps.size(),
                    .dtype = dtype,
                    .extent = {fast ? p.depth : lines, fast ? lines : p.depth},
                    .stride = fast ? line : depth,
                    .box = {row, fast ? lines_of_tile : row}});
    const TensorMap& m = maps.back();
    constexpr std::int64_t most = std::int64_t{1} << 31;  // coordinates have 32 bits, and a sign
    const auto fits = [](std::int64_t extent) { return extent > 0 && extent < most; };
    return reading.count > 1 && fits(m.extent[0]) && fits(m.extent[1]) && m.stride >= m.extent[0] &&
           m.stride < most;
  };
  const bool all = add(p.left_type, reading_of_left(p), p.rows, p.left_row, p.left_column, t.rows) &&
                   add(p.right_type, reading_of_right(p), p.columns, p.right_column, p.right_row, t.columns);
  return all ? maps : std::vector<TensorMap>();
}

// r blocks that a processor runs at once hide each other's latency, and take
//   begin_and_end + pieces * max(latency_of_piece, r * clocks_of_piece) + r * rows * columns *
//   clocks_of_element
// It runs its blocks in rounds of blocks_of_processor, the rest in one of less.
// Of `sharers` blocks each computes its range of the pieces, and writes a part, or two where ranges do not
// end with tiles, instead of its elements; the last one of a tile reads all of its parts:
//   meeting_of_parts + ceil(sharers / tiles) * part + rows * columns * clocks_of_element,
//   part = rows * columns * bytes / part_bytes_of_clock
// What is compared are tiles of one product, and there it is their relations that count.
double estimated_clocks(const Product& p, const Tiling& t, const GpuLimits& limits) {
  const double elements = static_cast<double>(t.rows) * t.columns, stores = elements * clocks_of_element;
  const double piece = clocks_of_piece(p, t), latency = latency_of_piece(p, t);
  // Of blocks with so many pieces each, and what they do behind them.
  const auto clocks_of = [&](std::int64_t blocks, double pieces, double behind) {
    const std::int64_t at_once = t.blocks_of_processor(), all = divide_up(blocks, limits.processors);
    const auto round = [&](std::int64_t together) {
      const auto r = static_cast<double>(together);
      return together == 0 ? 0 : begin_and_end(t) + pieces * std::max(latency, r * piece) + r * behind;
    };
    return static_cast<double>(all / at_once) * round(at_once) + round(all % at_once);
  };
  const std::int64_t shared = t.shared_tiles(p), whole = t.tiles(p) * batches(p) - shared;
  const double alone = clocks_of(whole, static_cast<double>(t.pieces(p)), stores);
  if (shared == 0) return alone;
  const double part = elements * static_cast<double>(size_of(sum_type(p))) / part_bytes_of_clock;
  const double written = t.sharers % shared == 0 ? 1 : 2;
  return registers_of_sharing * alone +
         clocks_of(t.sharers, static_cast<double>(divide_up(shared * t.pieces(p), t.sharers)),
                   written * part) +
         meeting_of_parts + static_cast<double>(divide_up(t.sharers, shared)) * part + stores;
}

Tiling shared_among_blocks(const Product& p, Tiling tiles, const GpuLimits& limits) {
  const std::int64_t all = tiles.tiles(p) * batches(p), at_once = resident_blocks(tiles, limits);
  tiles.whole = all;
  tiles.sharers = 0;
  if (all % at_once == 0) return tiles;
  const std::int64_t shared = all % at_once, line = shared * tiles.pieces(p);
  Tiling best = tiles, other = tiles;
  double least = estimated_clocks(p, best, limits);
  other.whole = all - shared;
  const auto attempt = [&](std::int64_t sharers) {
    other.sharers = sharers;
    const double clocks = estimated_clocks(p, other, limits);
    if (clocks >= least) return;
    least = clocks;
    best = other;
  };
  const std::int64_t most = std::min(at_once, line);
  for (std::int64_t parts = 2; parts * shared <= most; ++parts) attempt(parts * shared);
  attempt(most);
  return best;
}

std::vector<Tiling> possible_tilings(const Product& p, const GpuLimits& limits) {
  if (const auto rows = row_tiling(p, limits)) return {*rows};
  std::vector<Tiling> tilings = tiles_of(p, limits.units);
  for (Tiling& t : tilings) t = shared_among_blocks(p, t, limits);
  return tilings;
}

Tiling choose_tiling(const Product& p, const GpuLimits& limits) {
  const std::vector<Tiling> tilings = possible_tilings(p, limits);
  return *std::min_element(tilings.begin(), tilings.end(), [&](const Tiling& a, const Tiling& b) {
    return estimated_clocks(p, a, limits) < estimated_clocks(p, b, limits);
  });
}

}  // namespace tenon::gpu
