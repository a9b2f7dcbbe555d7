// A mistake in a kernel is found: each of these changes of the kernels' texts, by the tool that is named.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/chosen.h"
#include "tests/kernels/emulated_launch.h"

namespace tenon::gpu {
namespace {

struct Mutant {
  std::string name;      // what is wrong
  std::string launch;    // the case of gpu_cases.h
  std::string from, to;  // the first place of this text becomes another
  Tool tool = Tool::plain;
  Chip chip = 32;
  std::string behind = {};  // the place lies behind this text
  bool in_random_order = false;

  friend void PrintTo(const Mutant& m, std::ostream* out) { *out << m.name; }
};

constexpr char copies_wait[] = "wait_for_copies<stages - 2>();",
               block_values[] = "GPU_INLINE typename Fold::Acc over_block",
               warpgroups[] = "product of warpgroups 128x128 f16",
               bulk[] = "product by bulk copies 128x128 f16",
               two_units[] = "attention of two units of rows f16",
               bulk_streamed[] = "product by bulk copies streamed f16",
               bulk_across[] = "product by bulk copies 128x256 across f16", of_bulk[] = "struct BulkProduct",
               split_parts[] = "product of warpgroups 128x128 f32",
               split_bulk[] = "product by bulk copies 128x128 f32",
               of_split_bulk[] = "struct SplitBulkProduct",
               column_values[] = "GPU_INLINE typename Fold::Acc over_columns", barrier[] = "__syncthreads();";

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      // Barriers.
      {"tile is read before it is written", "product of odd sizes f32", barrier, "", Tool::thread, 32,
       copies_wait},
      {"slabs are written while the tile is read", "product of odd sizes f32", barrier, "", Tool::thread, 32,
       "stage = next(stage);"},
      {"slab is read before it is written", "product of odd sizes f32", "wave_barrier();", "", Tool::thread,
       32, "void for_each_piece"},
      {"slab is overwritten while it is read", "product of odd sizes f32", "wave_barrier();", "",
       Tool::thread, 32, "use(pieces);"},
      {"copies are not waited for", "product of whole tiles f16", copies_wait, ""},
      {"copies are waited for too late", "product of tiles 64x64 f16", copies_wait,
       "wait_for_copies<stages - 1>();"},
      {"tile is read early in random order", "product of odd sizes f32", barrier, "", Tool::plain, 32,
       copies_wait, true},
      {"part is read early in random order", "loop layer norm rows of a block", barrier, "", Tool::plain, 32,
       block_values, true},
      {"columns are read early in random order", "loop softmax of columns", barrier, "", Tool::plain, 64,
       column_values, true},
      {"part is read before it is written", "loop layer norm rows of a block", barrier, "", Tool::thread, 32,
       block_values},
      {"part is overwritten while it is read", "loop layer norm rows of a block", barrier, "", Tool::thread,
       32, "acc = Fold::combine(acc, part[wave])"},
      {"columns are read before they are written", "loop softmax of columns", barrier, "", Tool::thread, 32,
       column_values},
      {"columns are overwritten while they are read", "loop softmax of columns", barrier, "", Tool::thread,
       32, "part[other * Columns + column])"},
      {"row stores of every lane", "loop every reduction f32", "live && lane == 0", "live", Tool::thread},
      // Parts of tiles that blocks share.
      {"parts are not fenced", "product in parts f32", "device_fence();\n  __syncthreads();",
       "__syncthreads();", Tool::thread},
      {"parts are read without a fence", "product in parts f32", "if (is_last[0]) device_fence();", "",
       Tool::thread},
      {"ticket is taken before the block is done", "product in parts f32", barrier, "", Tool::thread, 32,
       "bool arrives_last"},
      {"every block is the last", "product in parts f32", "== others;", "<= others;", Tool::thread},
      {"first block is the last", "product in parts f32", "== others;", "== 0;"},
      {"ticket is not given back", "product in parts f32", "atomicInc(ticket, others)",
       "atomicAdd(ticket, 1u)"},
      {"part of a block too few", "product in ragged parts f32", "other <= last", "other < last"},
      {"parts lie over each other", "product streamed f32", "(sharer + tile) * Held", "sharer * Held"},
      {"memory of a tile is taken for the next too early", "product streamed f32", barrier, "", Tool::thread,
       32, "at += last - first;"},
      // The units of warpgroups.
      {"copies are not fenced for the units", warpgroups, "fence_for_units();", ""},
      {"copies to the ring are not waited for", warpgroups, "wait_for_copies<ahead - 1>();", ""},
      {"copies to the ring are waited for too late", warpgroups, "wait_for_copies<ahead - 1>();",
       "wait_for_copies<ahead>();"},
      {"ring is read before it is written", warpgroups, barrier, "", Tool::thread, 32, "fence_for_units();"},
      {"ring is read early", warpgroups, barrier, "", Tool::plain, 32, "fence_for_units();"},
      {"sums are not fenced", warpgroups, "fence_sums();", ""},
      {"sums of the second warpgroup are not fenced", warpgroups, "fence_sums();",
       "if (first_row == 0) fence_sums();"},
      {"products are not committed", warpgroups, "commit_products();", ""},
      {"products are not waited for", warpgroups, "wait_for_products<0>();", ""},
      {"ring is filled while products read it", warpgroups, "wait_for_products<1>();",
       "wait_for_products<2>();"},
      {"ring is filled a piece too early", warpgroups, "ahead = stages - 2", "ahead = stages - 1"},
      {"slabs are written while products read", warpgroups, barrier, "", Tool::plain, 32,
       "wait_for_products<0>();", true},
      {"rows of a pattern are exchanged otherwise", warpgroups, "rows_of_pattern * 16", "4 * 16"},
      {"patterns lie elsewhere", warpgroups, "block_bytes, pattern_bytes", "block_bytes, 2 * pattern_bytes"},
      {"blocks of lines lie elsewhere", "product of warpgroups 128x128 across f16", "16 : block_bytes",
       "16 : pattern_bytes"},
      {"swizzle of another width", warpgroups, "1ull << 62", "2ull << 62"},
      {"address of a matrix in bytes", warpgroups, "return field(address)", "return address"},
      {"ring at any address", warpgroups, "return memory + (ring_alignment",
       "return memory + 0 * (ring_alignment"},
      {"lines beside each other are taken for depths", "product of warpgroups 128x128 across f16",
       "wgmma<!LeftFast, !RightFast>", "wgmma<false, !RightFast>"},
      {"depths of lines beside each other", "product of warpgroups 128x128 across f16",
       "depth * (DepthFast ? int(sizeof(T)) : row_bytes)", "depth * int(sizeof(T))"},
      {"warpgroups compute the same rows", warpgroups, "/ warpgroup_size * 64", "/ warpgroup_size * 0"},
      // float32 on these units.
      {"parts of float32 are not fenced", split_parts, "fence_for_units();", "", Tool::plain, 32,
       "const auto meet"},
      {"parts are multiplied before they are written", split_parts, barrier, "", Tool::thread, 32,
       "feed.wait_for_copies_of_thread();"},
      {"parts are written while products read them", split_parts, "piece + 1 < Tile::split_pieces",
       "piece + 1 < 1"},
      {"registers are written while products read them", split_parts, "read_left(stage, left);",
       "read_left(stage, left), split_left(left, parts);", Tool::plain, 32, "feed.fill(k + stages"},
      {"sums of a piece are read early", split_parts, "wait_for_products<0>();", "", Tool::plain, 32,
       "const auto meet"},
      {"sums of a piece do not begin anew", split_parts, "wgmma_tf32<false>", "wgmma_tf32<true>"},
      {"low parts are forgotten", split_parts, "low = x - high;", "low = 0;"},
      {"low parts of one side are forgotten", split_parts, "left.high[step], low.descriptor",
       "left.low[step], low.descriptor"},
      {"every step takes the first depths", split_parts, "step * Tile::Unit::k, left", "0, left"},
      {"pieces of float32 are waited for too late", split_parts, "wait_for_copies<stages - 2>();",
       "wait_for_copies<stages - 1>();", Tool::thread, 32, "that is split behind the next barrier"},
      {"lines are taken for depths where they are split", "product of warpgroups 128x128 across f32",
       "*from.at(along, depth + k)", "*from.at(depth + k, along)"},
      {"bulk copies of float32 are not waited for", split_bulk, "wait_for_phase(full() + stage, phase);", "",
       Tool::plain, 32, of_split_bulk},
      {"phases of float32 are not counted", split_bulk, "phase ^= stage == 0;", "", Tool::plain, 32,
       of_split_bulk},
      {"barriers of float32 are made twice", "product by bulk copies 128x128 streamed f32",
       "end_barrier(full() + i);", ";", Tool::plain, 32, of_split_bulk},
      // The units of AMD's waves.
      {"sums of WMMA lie as those of MFMA", "product of odd sizes f16",
       "return 2 * i + int(threadIdx.x) % wave_size / 16;",
       "return int(threadIdx.x) % wave_size / 16 * 8 + i;", Tool::plain, Chip::gfx1100(), "struct WmmaLanes"},
      {"half a wave holds half of WMMA's depths", "product of odd sizes bf16", "% 16, depth);",
       "% 16, depth + int(threadIdx.x) % wave_size / 16 * 8);", Tool::plain, Chip::gfx1100(),
       "struct WmmaLanes"},
      {"signs of WMMA's sides are exchanged", "product of bytes in chunks i8 u8", "wmma_s8_u8(sum",
       "wmma_u8_s8(sum", Tool::plain, Chip::gfx1100(), "struct WmmaOfBytes"},
      {"sums of MFMA lie as those of WMMA", "product of odd sizes bf16", "/ 16 * 4 + i;", "/ 16 + 4 * i;",
       Tool::plain, Chip::gfx90a(), "struct MfmaLanes"},
      // Attention.
      {"weights of other keys", two_units, "pair_of(sums[1][0], sums[1][1], T())",
       "pair_of(sums[0][0], sums[0][1], T())"},
      {"two sides of the same lines", two_units, "line + matrix / 2 * 8", "line + matrix / 4 * 8"},
      {"depths of float32 in another order", "attention of whole tiles f32", "2 * turn() + i % 2",
       "turn() + i % 2 * 4"},
      {"queries are read before they come", two_units, "Tile::wait();", "", Tool::plain, 32,
       "explicit WaveProducts"},
      {"scores are asked for too late", two_units, "first_key + Tile::keys > asked_from",
       "first_key > asked_from"},
      {"waves leave out the last keys they see", two_units, "first_key < end;",
       "first_key + Tile::keys < end;"},
      {"rows behind the last are read", "attention of odd sizes f32", "row < left_ ? length_ - column : 0",
       "length_ - column", Tool::address},
      {"weights of one step in registers", "attention of warpgroups f16", "left[step].of, right.at(step)",
       "left[0].of, right.at(step)"},
      {"teams that nobody joins", "attention of one query f16", "mask = Team; mask < wave_size",
       "mask = Team; mask < wave_size / 2"},
      // Sides that bulk copies bring.
      {"bulk copies are not waited for", bulk, "wait_for_phase(full + stage, phase);", "", Tool::plain, 32,
       of_bulk},
      {"fewer bytes are announced than come", bulk, "Ring::stage_bytes)", "Ring::stage_bytes - 16)",
       Tool::plain, 32, of_bulk},
      {"more bytes are announced than come", bulk, "Ring::stage_bytes)", "Ring::stage_bytes + 16)",
       Tool::plain, 32, of_bulk},
      {"phases are not counted", bulk, "phase ^= stage == 0;", "", Tool::plain, 32, of_bulk},
      {"stage is filled before it is free", bulk, "wait_for_phase(free + stage_before, phase_before);", "",
       Tool::plain, 32, of_bulk},
      {"stage is free before it was read", bulk, "wait_for_products<1>();", "wait_for_products<2>();",
       Tool::plain, 32, of_bulk},
      {"stage is free without a warpgroup", bulk, "free + i, Tile::waves", "free + i, Tile::waves / 2",
       Tool::plain, 32, of_bulk, true},
      {"stage waits for a warp more", bulk, "free + i, Tile::waves", "free + i, Tile::waves + 1", Tool::plain,
       32, of_bulk},
      {"barriers are not fenced", bulk, "fence_for_units();", "", Tool::plain, 32, of_bulk},
      {"slabs are not fenced", bulk_streamed, "fence_for_units();", "if (copies) fence_for_units();",
       Tool::plain, 32, of_bulk},
      {"barriers are used before they are made", bulk, barrier, "", Tool::plain, 32, "make_barrier(free",
       true},
      {"barriers are ended while others wait", bulk, barrier, "", Tool::plain, 32, "phase ^= stage == 0;",
       true},
      {"barriers are made twice", bulk_streamed, "end_barrier(full + i);", "", Tool::plain, 32, of_bulk},
      {"depths are taken for lines", bulk, "side.map, depth, line", "side.map, line, depth"},
      {"lines are copied twice", bulk_across, "line + i, depth", "line, depth"},
      // Bounds.
      {"product reads past its depth", "product of odd sizes f32", "depths - k}", "depths - k + 1}",
       Tool::address},
      {"product reads past its rows", "product of odd sizes f32", "left > 1024 ? 1024 : int(left)", "1024",
       Tool::address},
      {"product writes past its rows", "product of odd sizes f32", "pieces.row[c] < rows ?", "true ?",
       Tool::address},
      {"product writes past its columns", "product of odd sizes f32", "columns - pieces.column[c] : 0",
       "pieces.valid[c] : 0", Tool::address},
      {"tile is too small", "product of odd sizes f32", "[(bytes + 15) / 16]", "[bytes / 32]", Tool::address},
      {"convolution reads before the image", "convolution 3x3 f32",
       "if (at_d < 0 || at_h < 0 || at_w < 0) return outside;", "", Tool::address},
      {"convolution reads past the image", "convolution 3x3 f32", "return at < int(axis.in) ? at : -1",
       "return at"},
      {"convolution has more pixels", "convolution 3x3 f16", "pixel < lines ? first_tap(d, out_d) : outside",
       "first_tap(d, out_d)", Tool::address},
      {"transposed convolution between strides", "convolution transposed f32",
       "if (at % int(axis.stride) != 0) return -1;", ""},
      {"what lies around an image is computed", "prologue of windows f32", ": convert<Element>(0.0f)",
       ": compute(0, 0)", Tool::plain, 32, "struct Computed"},
      {"rows of a prologue are taken for columns", "prologue of a matrix f32", "compute(row, column)",
       "compute(column, row)", Tool::plain, 32, "struct Computed"},
      {"pool reads before the image", "pool max f32", "first < 0 ?", "false ?", Tool::address},
      {"pool reads past the image", "pool mean f32", "left < inside ?", "true ?", Tool::address},
      {"pool writes past the end", "pool mean f16", "if (at.image >= s.images) return;", "", Tool::address},
      {"loop reads past a row's end", "loop layer norm rows of a wave", "to[v] = v < valid ? from[v] : T{}",
       "to[v] = from[v]", Tool::address},
      {"loop writes past a row's end", "loop layer norm rows of a wave", "if (v < valid) to[v] = from[v];",
       "to[v] = from[v];", Tool::address},
      {"loop has more rows", "loop layer norm rows of a wave", "row < Index(a.rows)", "row <= Index(a.rows)",
       Tool::address},
      {"pieces at odd addresses", "loop layer norm rows of a wave",
       "if (pieces && valid == Count) return read_pieces", "if (valid == Count) return read_pieces",
       Tool::address},
      // Waves.
      {"wrong lane of a shuffle", "loop softmax rows of a wave", "shuffle_xor(acc, mask)",
       "shuffle_xor(acc, mask ^ 1)"},
      {"waves of 32 in shuffles", "loop layer norm rows of a block", "over_lanes<Fold, wave_size>",
       "over_lanes<Fold, 32>", Tool::plain, 64},
      {"waves of 32 in shared memory", "loop layer norm rows of a block",
       "threadIdx.x % wave_size == 0) part[threadIdx.x / wave_size]",
       "threadIdx.x % 32 == 0) part[threadIdx.x / 32]", Tool::plain, 64},
      {"waves of 32 in a count", "loop layer norm rows of a block", "wave < Threads / wave_size",
       "wave < Threads / 32", Tool::plain, 64},
      {"waves of 32 in columns", "loop softmax of columns", "mask < wave_size; mask *= 2",
       "mask < 32; mask *= 2", Tool::plain, 64},
      // Linear algebra.
      {"row is exchanged while the column is read", "matrix lu f32", barrier, "", Tool::thread, 32,
       "a(k, j) = other;"},
      {"rows beside a panel are read early", "matrix lu f32", barrier, "", Tool::thread, 32,
       "substitute_block(a.part(first, first, size, size), beside"},
      {"root is taken while others read", "matrix cholesky f32", barrier, "", Tool::thread, 32,
       "report(fault, 0, 0);\n    __syncthreads();"},
      {"sums of reflections are read early", "matrix qr f64 in memory", barrier, "", Tool::thread, 32,
       "part[line][lane] = dot;"},
      {"rotations are read before they are written", "matrix eigh f32", barrier, "", Tool::thread, 32,
       "moved = moved || turns;"},
      {"solution reads past its columns", "matrix triangular solve f64 in memory",
       "columns - first < count ? columns - first : count", "count", Tool::address},
      {"product of matrices reads past its rows", "matrix cholesky f64 in memory",
       "row + r < a.rows ? row + r : row", "row + r", Tool::address},
      {"nobody plays in an odd tournament", "matrix eigh f32", "const bool row = rows.q < n, column",
       "const bool row = true, column", Tool::plain},
      {"first pivot instead of the largest", "matrix lu f32", "if (x > size) *this", "if (false) *this"},
      {"waves of 32 in a fold of threads", "matrix svd f64 in memory", "wave < threads() / wave_size",
       "wave < threads() / 32", Tool::plain, 64},
      // Blocks.
      {"blocks of a pool overlap", "pool mean f32", "Index(blockIdx.x) * 256", "Index(blockIdx.x) * 250",
       Tool::thread},
      {"batch starts at the wrong place", "product of batches f32", "rest /= a.batch_size1",
       "rest /= a.batch_size0"},
      // Codes.
      {"nibbles the other way around", "product of nibbles f16", "i % in_word * Bits",
       "(in_word - 1 - i % in_word) * Bits"},
      {"scale of the first group", "product of a row of nibbles f16", "unsigned(k) / unsigned(group)", "0"},
      {"codes are read past their columns", "product of nibbles f16", "line >= lines || ", "", Tool::address},
      // Bytes.
      {"bytes of another depth", "product of bytes across i8 i8", "turn) * each", "group) * each"},
      {"a side's sign of a unit", "product of bytes in chunks u8 i8", "mma_u8_s8(sum, a.of, b.of);",
       "mma_s8_s8(sum, a.of, b.of);"},
      {"the other side's sign of a unit", "product of bytes in chunks i8 u8", "mma_s8_u8(sum, a.of, b.of);",
       "mma_u8_s8(sum, a.of, b.of);"},
      {"bytes without a sign are not shifted", "product of bytes in chunks u8 u8", "0x80808080u", "0u",
       Tool::plain, 64},
      {"a shift is not made up for", "product of bytes in chunks i8 u8",
       "right_shift = same<RightByte, signed char> ? 0 : 128;", "right_shift = 0;", Tool::plain, 64,
       "struct MfmaOfBytes"},
      {"lanes hold bytes of another depth", "product of bytes in chunks i8 i8", "lane / 16 * each",
       "lane % 4 * each", Tool::plain, 64, "struct MfmaLanes"},
      {"zero points are subtracted beyond the depth", "product of bytes with zero points i8 i8",
       "(filled - depth) * left_zero", "0 * left_zero"},
      {"zero point of another column", "product of bytes with right zero points",
       "j * Unit::n + Unit::column(v))", "j * Unit::n)"},
      {"sums of rows for columns", "product of bytes with a left zero point",
       "Unit::multiply(columns[j], ones, b[j]);", "Unit::multiply(columns[j], ones, b[0]);"},
      // float8.
      {"float8 of another depth", "product of float8 across", "turn) * each", "group) * each"},
      {"a side's form of a unit", "product of float8 in chunks e5m2 e4m3", "mma_e5m2_e4m3(sum, a.of, b.of);",
       "mma_e4m3_e4m3(sum, a.of, b.of);"},
      {"the other side's form of a unit", "product of float8 in chunks e4m3 e5m2",
       "mma_e4m3_e5m2(sum, a.of, b.of);", "mma_e4m3_e4m3(sum, a.of, b.of);"},
      {"long sums stay in the unit", "product of float8 of a long depth", "in_parts = true",
       "in_parts = false", Tool::plain, 32, "struct MmaOfFloat8"},
      {"a side's form of an AMD unit", "product of float8 in chunks e4m3 e5m2 fnuz",
       "mfma_fp8_bf8(sum, a.of, b.of);", "mfma_bf8_fp8(sum, a.of, b.of);", Tool::plain, 64},
      {"lanes hold float8 of another depth", "product of float8 in chunks e4m3 e5m2 fnuz", "lane / 16 * each",
       "lane % 4 * each", Tool::plain, 64, "struct MfmaLanes"},
      // Sorting.
      {"ranks are counted early", "sort by ranks f32", barrier, "", Tool::thread, 32,
       "keys[threadIdx.x] = mine;"},
      {"digits are counted before they are cleared", "sort in blocks f32", barrier, "", Tool::thread, 32,
       "shared.count[w][threadIdx.x] = 0;"},
      {"digits of waves are read while they are counted", "sort in blocks f32", barrier, "", Tool::thread, 32,
       "rank[k] = seen + before;"},
      {"count of a digit is written while it is read", "sort in blocks f32", "wave_barrier();", "",
       Tool::thread, 32, "const unsigned seen = shared.count[wave][digit];"},
      {"tile is read while it is sorted", "sort in blocks f32", barrier, "", Tool::thread, 32,
       "number_space[to] = number[k];"},
      {"sums of waves are read early", "sort in blocks f32", barrier, "", Tool::thread, 32,
       "part[wave_of_thread()] = acc;"},
      {"digits of a part are read while they are counted", "sort in passes f32", barrier, "", Tool::thread,
       32, "atomicAdd(&count[digit_of("},
      {"places of digits are read early", "sort in passes f32", barrier, "", Tool::thread, 32,
       "next += total;"},
      {"digits are selected while they are counted", "sort first of long rows f32", barrier, "", Tool::thread,
       32, "atomicAdd(&shared.first[digit_of(key, shift)], 1u);"},
      {"the first are read while they are selected", "sort first of long rows f32", barrier, "", Tool::thread,
       32, "done = AddTaken()(done, total);"},
      {"keys past a line's end", "index add rows f32",
       "Tile<Items>::at(k) < valid ? from[Tile<Items>::at(k)] : ~Key(0)", "from[Tile<Items>::at(k)]",
       Tool::address},
      {"more are sorted than are wanted", "sort first of short rows u8", "if (to >= s.count) return;", "",
       Tool::address},
      {"search never looks at the first", "sort search left f32", "Int low = 0, high", "Int low = 1, high",
       Tool::plain, 32, "GPU_INLINE void search_line"},
      {"an element as large is not taken", "sort first of long rows f32", "level && levels <= wanted",
       "level && levels < wanted"},
      {"parts of a line overlap", "sort in passes f32", "part * s.part_length", "part * (s.part_length - 1)",
       Tool::plain, 32, "GPU_INLINE void move_digits"},
      {"negative numbers in the order of their bits", "sort by ranks f32",
       "bits & sign ? ~bits : bits | sign", "bits | sign"},
      {"zeros of two signs differ", "sort by ranks f32", "if (is_zero) return sign;", ""},
      {"lanes count themselves", "sort in blocks f32", "(LaneSet(1) << lane) - 1",
       "(LaneSet(2) << lane) - 1"},
      {"last lane of waves of 32", "sort in blocks f32", "lane_of_thread() == wave_size - 1)",
       "lane_of_thread() == 31)", Tool::plain, 64},
      // Scans.
      {"sums of a block's waves are read early", "scan rows of blocks f16", barrier, "", Tool::thread, 32,
       "shared[wave_of_thread()] = total;"},
      {"scan reads past a row's end", "scan rows of waves f32", "left < items ? int(left) : items", "items",
       Tool::address},
      {"scan writes past a row's end", "scan rows of waves f32", "if (first + k < p.end)", "", Tool::address},
      {"scan has more columns", "scan columns i32", "return outer < s.outer;", "return true;", Tool::address},
      {"the lane before is the lane itself", "scan rows of waves f32", "lane > 0 ? lane - 1 : 0", "lane"},
      {"waves of 32 in a scan", "scan rows of waves f32", "step < wave_size; step *= 2",
       "step < 32; step *= 2", Tool::plain, 64, "GPU_INLINE Acc scan_wave"},
      {"the last lane is 31", "scan rows of blocks f16", "shuffle(all, wave_size - 1)", "shuffle(all, 31)",
       Tool::plain, 64},
      {"the first lane has something before it", "scan rows of waves f32",
       "if (lane == 0) acc = R::identity();", ""},
      {"logarithms of sums begin with 0", "scan logsumexp of rows f32", "return lowest<C>();", "return C(0);",
       Tool::plain, 32, "struct RunningLogSumExp"},
      {"of equal elements the first", "scan maxima of rows f16", "a.value > b.value", "a.value >= b.value"},
      // Folds by index.
      {"shares are joined early", "scatter many to few f32", barrier, "", Tool::thread, 32,
       "part[threadIdx.x] = acc[v];"},
      {"groups that wait are read early", "index add many to a place f32", barrier, "", Tool::thread, 32,
       "waits[group] = has_many;"},
      {"a place too many", "index add rows f32", "if (place > s.places) return;",
       "if (place > s.places + 1) return;", Tool::address},
      {"entries of the place before", "index add rows f32",
       "keys[middle] < static_cast<unsigned long>(place)",
       "keys[middle] <= static_cast<unsigned long>(place)"},
      {"products begin with 0", "scatter products i32", "acc[v] = Fold::identity();", "acc[v] = Acc();"},
      {"weights of other entries", "index weighted edges f32", "numbers[i] * s.weights_stride",
       "i * s.weights_stride"},
      {"entries without their own position", "scatter the last f32", "place += at[d] * s.base[d];", ""},
      {"one feature too many", "index add rows f32", "left < Vector ? int(left) : Vector", "Vector",
       Tool::address},
      // Functions and transforms.
      {"more elements than there are", "pointwise bessel f32", "if (index >= s.count) return;", "",
       Tool::address},
      {"operands along the wrong axis", "pointwise polynomials f32", "index /= s.sizes[axis];", ""},
      {"transform begins early", "fft of factors f64", barrier, "", Tool::thread, 32,
       "roots[i].imag = -roots[i].imag;"},
      {"transforms are joined early", "fft of factors f64", barrier, "", Tool::thread, 32,
       "join_transforms(from, to, roots, n, m, L);"},
      {"transform writes past its line", "fft of a prime f32", "i < n; i += fft_threads) y[i]",
       "i <= n; i += fft_threads) y[i]", Tool::address},
      {"roots beyond a turn", "fft of powers of two f32", "turn >= L - k ? turn - (L - k) : turn + k",
       "turn + k"},
  };
  return all;
}

GpuCase find_case(const std::string& name) {
  static const std::vector<GpuCase> cases = all_gpu_cases(32);
  for (const GpuCase& c : cases)
    if (c.name == name) return c;
  throw std::out_of_range("no case " + name);
}

GpuCase mutated(const Mutant& m) {
  GpuCase result = find_case(m.launch);
  bool found = false;
  for (GpuLaunch& launch : result.launches) {
    const std::size_t behind = launch.source.find(m.behind);
    const std::size_t at = behind == std::string::npos ? behind : launch.source.find(m.from, behind);
    if (at == std::string::npos) continue;
    launch.source.replace(at, m.from.size(), m.to);
    found = true;
  }
  EXPECT_TRUE(found) << "the kernel has changed: there is no more '" << m.from << "' in " << m.launch;
  return result;
}

// What the tool says of a mistake, never what a compiler says of a text.
std::string sign_of(Tool tool) {
  return tool == Tool::address  ? "AddressSanitizer|runtime error"
         : tool == Tool::thread ? "data race"
                                : "instead of|gpusim: ";
}

class GpuMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(GpuMutant, IsFound) {
  const Mutant& m = GetParam();
  const GpuCase c = mutated(m);
  EmulatedLaunch launch(c, m.tool, m.chip);
  std::string said = launch.run(m.in_random_order ? 1 : 0);
  for (int order = 2; m.in_random_order && said.empty() && order < 5; ++order) said = launch.run(order);
  EXPECT_TRUE(std::regex_search(said, std::regex(sign_of(m.tool)))) << "it survives: " << said;
}

std::vector<Mutant> chosen() {
  std::vector<Mutant> some;
  for (std::size_t i = 0; i < mutants().size(); ++i)
    if (is_chosen(i, 5)) some.push_back(mutants()[i]);
  return some;
}

INSTANTIATE_TEST_SUITE_P(All, GpuMutant, ::testing::ValuesIn(chosen()), [](const auto& test) {
  std::string name;
  for (const char c : test.param.name)
    if (c != '\'') name += c == ' ' ? '_' : c;
  return name;
});

/// The tools find nothing in what is right.
class GpuTool : public ::testing::TestWithParam<Tool> {};

TEST_P(GpuTool, IsSilentOnARightKernel) {
  std::size_t i = 0;
  for (const std::string name :
       {"product of odd sizes f32", "product in parts f32", "product streamed f32",
        "product of warpgroups 128x128 across f16", "product of warpgroups streamed f16",
        "product by bulk copies streamed f16", "loop layer norm rows of a block", "loop softmax of columns",
        "sort first of long rows f32", "scan rows of blocks f16", "index add many to a place f32",
        "fft of factors f64", "matrix lu f32", "matrix eigh f32"}) {
    if (!is_chosen(i++, 5)) continue;
    const GpuCase c = find_case(name);
    EXPECT_EQ(EmulatedLaunch(c, GetParam(), 32).run(), "") << name;
  }
}

// How many different results a launch has whose blocks run in several orders.
std::size_t count_results(const GpuCase& c) {
  EmulatedLaunch launch(c, Tool::plain, 32);
  std::set<std::vector<std::byte>> results;
  for (int order = 0; order < 6; ++order) {
    EXPECT_EQ(launch.run(order), "") << "in order " << order;
    results.insert(launch.results().back());
  }
  return results.size();
}

TEST(GpuParts, AreAddedInTheOrderOfTheDepth) {
  EXPECT_EQ(count_results(find_case("product of warpgroups streamed f16")), 1U);
  EXPECT_EQ(count_results(find_case("product in parts f32")), 1U);
  EXPECT_EQ(count_results(find_case("product streamed f32")), 1U);
}

TEST(GpuParts, AddedInTheOrderOfBlocksGiveOtherBits) {
  GpuCase c = find_case("product in parts f32");
  for (const auto& [from, to] :
       {std::pair{"Held::clear(sum);", ""}, {"Held::add(parts", "if (other != sharer) Held::add(parts"}}) {
    const std::size_t at = c.launches[0].source.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    c.launches[0].source.replace(at, std::string(from).size(), to);
  }
  EXPECT_GT(count_results(c), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTool, ::testing::Values(Tool::plain, Tool::address, Tool::thread));

}  // namespace
}  // namespace tenon::gpu
