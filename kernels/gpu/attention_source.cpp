#include "kernels/gpu/attention_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "kernels/gpu/chunks.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t rows_of_wave = 16, most_shared_bytes = 48 << 10;  // a block's without asking for more

std::int64_t filled_up(std::int64_t size) { return (size + 15) / 16 * 16; }

// AttentionTile's parameters, or WarpgroupAttention's.
struct Tiling {
  std::int64_t queries = 0, keys = 0;
  std::int64_t down = 1;  // units of rows of a wave
  bool of_warpgroups = false;
};

// AttentionTile::bytes, or more. Chains: of a unit whose sums become left sides in registers.
std::int64_t tile_bytes(const AttentionShape& shape, DType dtype, const Tiling& t, bool chains) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t size = filled_up(shape.size), value_size = filled_up(shape.value_size),
                     pad = 16 / element;
  const std::int64_t queries = t.queries * (size + pad), values = t.keys * (value_size + 8);
  const std::int64_t weights = t.queries * (t.keys + pad), slabs = t.queries * (value_size + pad);
  const bool keeps_queries = chains && element == 2 && t.down * size <= 128;
  const std::int64_t sides = keeps_queries ? std::max(queries, values) : queries + values;
  return std::max(t.keys * (size + pad) + sides + weights, slabs) * element;
}

// The largest tile of keys for each tile of queries, where any fits.
std::vector<Tiling> tilings(const AttentionShape& shape, DType dtype, bool chains) {
  std::vector<Tiling> all;
  const std::int64_t longest = filled_up(std::max(shape.size, shape.value_size));
  if (longest > 256) return all;  // its sums would leave the registers
  // Two units of rows read keys and values half as often, where registers have room.
  const bool takes_two = chains && size_of(dtype) == 2 && longest <= 64;
  for (const auto& [queries, down] : {std::pair{128, 2}, {64, 1}, {32, 1}, {16, 1}})
    for (const std::int64_t keys : {64, 32, 16}) {
      const Tiling t{queries, keys, down};
      if (down == 2 && !takes_two) break;
      if (tile_bytes(shape, dtype, t, chains) + 4 * queries > most_shared_bytes) continue;
      all.push_back(t);
      break;
    }
  return all;
}

bool is_on_unit(DType dtype, const MatrixUnits& units) {
  const auto unit = unit_of_waves(dtype);
  return unit && units.has(*unit);
}

bool chains_on(const AttentionProgram& p, const MatrixUnits& units) {
  return p.chains && is_on_unit(p.dtype, units);
}

std::int64_t blocks(const AttentionShape& shape, const Tiling& t) {
  return shape.batch * shape.heads * ((shape.queries + t.queries - 1) / t.queries);
}

std::optional<MatrixUnit> unit_of_warpgroups(const AttentionShape& shape, DType dtype) {
  if (filled_up(shape.size) != 64 || filled_up(shape.value_size) != 64) return std::nullopt;
  if (dtype == DType::f16) return MatrixUnit::wgmma_f16;
  return dtype == DType::bf16 ? std::optional(MatrixUnit::wgmma_bf16) : std::nullopt;
}

// Waves take whole units of rows: small tiles are for few queries alone. Where there are few blocks, those of
// small ones would run no sooner.
Tiling choose_tiling(const AttentionProgram& p, const GpuLimits& limits) {
  const AttentionShape& shape = p.shape;
  const DType dtype = p.dtype;
  const auto fits = [&](const Tiling& t) { return t.queries - shape.queries < rows_of_wave; };
  const auto unit = unit_of_warpgroups(shape, dtype);
  if (constexpr Tiling t{64, 64, 1, true}; unit && limits.units.has(*unit) && fits(t)) return t;
  const std::vector<Tiling> all = tilings(shape, dtype, chains_on(p, limits.units));
  TENON_CHECK(!all.empty());
  const auto best = std::find_if(all.begin(), all.end(), [&](const Tiling& t) {
    return fits(t) && (t.down == 1 || blocks(shape, t) >= 4 * limits.processors);
  });
  return best == all.end() ? all.back() : *best;
}

// Does a head of keys and values serve several heads of queries?
bool shares_heads(const AttentionShape& s) { return s.kv_heads != s.heads; }

std::int64_t bits_of(double number) { return std::bit_cast<std::int64_t>(number); }

std::vector<LoopArgument> fields(const AttentionProgram& p, const Tiling& t, std::int64_t parts) {
  const AttentionShape& s = p.shape;
  std::vector<LoopArgument> list{{"heads", s.heads},
                                 {"queries", s.queries},
                                 {"keys", s.keys},
                                 {"size", s.size},
                                 {"value_size", s.value_size},
                                 {"query_tiles", (s.queries + t.queries - 1) / t.queries},
                                 {"scale_bits", bits_of(s.scale)}};
  const std::pair<std::string_view, HeadStrides> strides[] = {
      {"q", p.q}, {"k", p.k}, {"v", p.v}, {"out", p.out}, {"mask", p.mask_strides}};
  for (const auto& [name, at] : strides) {
    list.push_back({fmt::format("{}_batch", name), at.batch});
    list.push_back({fmt::format("{}_head", name), at.head});
    list.push_back({fmt::format("{}_row", name), at.row});
  }
  list.push_back({"mask_key", p.mask_key});
  list.push_back({"parts", parts});
  if (shares_heads(s)) list.push_back({"served", s.heads / s.kv_heads});
  if (s.softcap > 0) list.push_back({"softcap_bits", bits_of(s.softcap)});
  return list;
}

int chunk(const AttentionProgram& p, const HeadStrides& at, std::int64_t offset) {
  return chunk_elements(p.dtype, {at.batch, at.head, at.row, offset});
}

// Lanes that hold a row of q, k and v together, where attend_row takes the program: few queries, and rows of
// whole chunks.
std::optional<std::int64_t> team_of(const AttentionProgram& p, const GpuLimits& limits) {
  constexpr std::int64_t most_queries = 4;
  const std::int64_t count = chunk(p, p.q, p.q_offset);
  if (p.shape.queries > most_queries || count == 1 || chunk(p, p.k, p.k_offset) == 1 ||
      chunk(p, p.v, p.v_offset) == 1)
    return std::nullopt;
  const std::int64_t longest = std::max(p.shape.size, p.shape.value_size);
  const auto team =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((longest + count - 1) / count)));
  return team <= limits.wave ? std::optional(team) : std::nullopt;
}

// How many blocks divide the keys of a query, so that all processors have some of them.
std::int64_t parts_of(const AttentionShape& shape, const GpuLimits& limits) {
  constexpr std::int64_t least_keys = 256, blocks_a_processor = 2;  // of a part
  const std::int64_t rows = std::max<std::int64_t>(1, blocks(shape, {1, 0}));
  return std::clamp<std::int64_t>(blocks_a_processor * limits.processors / rows, 1,
                                  std::max<std::int64_t>(1, shape.keys / least_keys));
}

// Scores that are -inf without a mask are NaN after a softmax.
bool nan_rows(const AttentionProgram& p) { return p.shape.nan_rows || !p.mask; }

// Is a score times `scale` the logarithm of its weight? Then the exponential's multiplication scales it.
bool scales_late(const AttentionProgram& p) {
  return p.shape.scale > 0 && std::isfinite(p.shape.scale) && p.shape.softcap == 0 &&
         (!p.mask || is_bool(*p.mask));
}

// The body's `score` from a query, a key and their product.
std::string score_text(const AttentionProgram& p, bool is_scaled) {
  std::string text =
      fmt::format("        float score = {};\n", is_scaled ? "float(product * scale)" : "product");
  if (p.shape.softcap > 0) text += "        score = tanh_of(score / softcap) * softcap;\n";
  if (p.mask) {
    text += fmt::format("        const auto kept = mask[{}{}];\n",
                        p.mask_strides.row == 0 ? "" : "(query < a.queries ? query : 0) * a.mask_row + ",
                        p.mask_key == 1 ? "key" : "key * a.mask_key");
    text += is_bool(*p.mask) ? "        if (!kept) score = float(-TENON_INFINITY);\n"
                             : "        score += log2_weight(convert<float>(kept));\n";
  }
  if (p.shape.causal) text += "        if (key > query) score = float(-TENON_INFINITY);\n";
  return text;
}

std::string arguments_text(const AttentionProgram& p) {
  std::string text = "struct attention_arguments {\n";
  for (const LoopArgument& f : fields(p, {1, 0}, 1)) text += fmt::format("  Int {};\n", f.name);
  return text + "};\n";
}

std::string sink_parameter(const AttentionProgram& p) {
  return p.has_sink ? fmt::format("const {}* sinks, ", storage(p.dtype)) : "";
}

// What weights are normalised by: their sum and, relative to 2^highest, the weight of the sink.
std::string_view total_text(const AttentionProgram& p) {
  return p.has_sink ? "[&](float sum, float highest) { return sum + exp2_of(sink - highest); }"
                    : "[](float sum, float) { return sum; }";
}

std::string signature(const AttentionProgram& p, std::string_view threads, std::string_view result) {
  const std::string others =
      (p.mask ? fmt::format("const {}* mask, ", storage(*p.mask)) : "") + sink_parameter(p);
  return arguments_text(p) +
         fmt::format(
             "extern \"C\" __global__ void __launch_bounds__({2}) attention(const {0}* q, const {0}* k, "
             "const {0}* v, {1}{3}, const attention_arguments a) {{\n",
             storage(p.dtype), others, threads, result);
}

// A pointer at the rows of the block's head.
std::string head_text(std::string_view name, std::string_view head = "head") {
  return fmt::format("  {0} += batch * a.{0}_batch + {1} * a.{0}_head;\n", name, head);
}

// The place of the block's `number`: `tile` among those of the head. Scores are base-2 logarithms.
std::string tile_text(const AttentionProgram& p) {
  std::string text =
      "  const Int tile = number % a.query_tiles, head_of_all = number / a.query_tiles;\n"
      "  const Int head = head_of_all % a.heads, batch = head_of_all / a.heads;\n";
  if (p.has_sink)
    text +=
        "  const float weight = log2_weight(convert<float>(sinks[head]));\n"
        "  const float sink = weight == float(TENON_INFINITY) ? float(TENON_NAN) : weight;\n";
  return text;
}

// The same, and where the head's rows begin.
std::string place_text(const AttentionProgram& p, std::string_view number) {
  std::string text = "  const float scale = float(bits_as<double>(a.scale_bits) * 1.4426950408889634);\n";
  if (p.shape.softcap > 0)
    text += "  const float softcap = float(bits_as<double>(a.softcap_bits) * 1.4426950408889634);\n";
  text += fmt::format("  const Int number = {};\n{}", number, tile_text(p));
  if (p.mask) text += "  mask += batch * a.mask_batch + head * a.mask_head;\n";
  text += head_text("q");
  for (const std::string_view name : {"k", "v"})
    text += head_text(name, shares_heads(p.shape) ? "head / a.served" : "head");
  return text + fmt::format(
                    "  const Matrix<{0}> rows{{q, a.queries, int(a.size), a.q_row, 1}};\n"
                    "  const Matrix<{0}> columns{{k, a.keys, int(a.size), a.k_row, 1}};\n",
                    storage(p.dtype));
}

std::string unit_text(const AttentionProgram& p, const MatrixUnits& units) {
  const bool on_unit = is_on_unit(p.dtype, units);
  return fmt::format("{}<{}>{}", on_unit ? "UnitOf" : "OrdinaryUnit", storage(p.dtype),
                     on_unit ? "::type" : "");
}

std::string tile_type(const AttentionProgram& p, const Tiling& t, const MatrixUnits& units) {
  if (t.of_warpgroups) return fmt::format("using Tile = WarpgroupAttention<{}>;\n", storage(p.dtype));
  return fmt::format(
      "{}using Tile = AttentionTile<{}, {}, {}, {}, {}, {}>;\n"
      "static_assert({}Tile::bytes <= {});\n",
      t.down == 1 ? "" : "// Compiled for: sm_80 sm_90a sm_100a\n", unit_text(p, units), t.queries, t.down,
      t.keys, filled_up(p.shape.size), filled_up(p.shape.value_size),
      p.chains ? "!Tile::Unit::chains || " : "", tile_bytes(p.shape, p.dtype, t, chains_on(p, units)));
}

std::string text_of(const AttentionProgram& p, const Tiling& t, const MatrixUnits& units) {
  // The last queries see the most keys.
  const std::string_view tile = p.shape.causal ? "a.query_tiles - 1 - tile" : "tile";
  const std::string_view end = p.shape.causal ? "query + 1" : "int(a.keys)",
                         asked = p.mask || !scales_late(p) ? "0" : end;
  const auto count = [&](const HeadStrides& at, std::int64_t offset) { return chunk(p, at, offset); };
  const int out_count = p.shape.value_size % 8 == 0 ? count(p.out, p.out_offset) : 1;
  return tile_type(p, t, units) + signature(p, "Tile::threads", fmt::format("{}* out", storage(p.dtype))) +
         place_text(p, "blockIdx.x") + head_text("out") +
         fmt::format(
             "  const int first = int({1}) * Tile::queries;\n"
             "  const Matrix<{0}> values{{v, a.value_size, int(a.keys), 1, a.v_row}};\n"
             "  attend<Tile, RowChunks<{2}, {3}, {4}, {5}>>(\n"
             "      rows, columns, values, out, a.out_row, first, {6},\n"
             "      score_of({7}, {11}, [&](int query) {{ return {8}; }}, [&](int query) {{ return {9}; }},\n"
             "      [&](int query, int key, float product) {{\n{10}        return score;\n      }}));\n}}\n",
             storage(p.dtype), tile, count(p.q, p.q_offset), count(p.k, p.k_offset), count(p.v, p.v_offset),
             out_count, nan_rows(p), scales_late(p) ? "scale" : "1.0f", asked, end,
             score_text(p, !scales_late(p)), total_text(p));
}

// What puts a number into the result's row.
std::string store_text(const AttentionProgram& p) {
  return fmt::format(
      "[&](int column, float value) {{ out[tile * a.out_row + column] = convert<{}>(value); }}",
      storage(p.dtype));
}

std::string row_text_of(const AttentionProgram& p, std::int64_t team, bool in_parts) {
  const std::string type(storage(p.dtype));
  const std::string place =
      in_parts ? place_text(p, "blockIdx.x / a.parts") + "  const Int part = blockIdx.x % a.parts;\n"
               : place_text(p, "blockIdx.x") + head_text("out");
  const std::string_view keys =
      in_parts ? "int(key_end * part / a.parts), int(key_end * (part + 1) / a.parts)" : "0, int(key_end)";
  const std::string finish =
      in_parts ? "put_part(parts + Int(blockIdx.x) * (a.value_size + 2), column, int(a.value_size), sum);"
               : fmt::format("put_row(sum, column, int(a.value_size), {}, {}, {});", nan_rows(p),
                             total_text(p), store_text(p));
  return signature(p, "row_attention_threads", in_parts ? "float* parts" : type + "* out") + place +
         fmt::format(
             "  const int query = int(tile);\n"
             "  const Int key_end = {1};\n"
             "  const Matrix<{0}> values{{v, a.keys, int(a.value_size), a.v_row, 1}};\n"
             "  attend_row<{2}, {3}>(\n"
             "      rows, columns, values, query, {6},\n"
             "      [&](int key, float product) {{\n{4}        return score;\n      }},\n"
             "      [&](int column, const WeightedSum<{3}>& sum) {{ {5} }});\n}}\n",
             type, p.shape.causal ? "query + 1 < a.keys ? query + 1 : a.keys" : "a.keys", team,
             chunk(p, p.q, p.q_offset), score_text(p, true), finish, keys);
}

// The kernel that joins what the blocks of a row found.
std::string join_text_of(const AttentionProgram& p) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) join(const float* parts, {}{}* out, "
      "const attention_arguments a) {{\n"
      "  const Int number = blockIdx.x;\n{}{}"
      "  join_parts(parts + number * a.parts * (a.value_size + 2), int(a.parts), int(a.value_size), {}, "
      "{}, {});\n}}\n",
      AttentionKernel::join_threads, sink_parameter(p), storage(p.dtype), tile_text(p), head_text("out"),
      nan_rows(p), total_text(p), store_text(p));
}

}  // namespace

bool fits_attention(const AttentionShape& shape, DType dtype) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  return !tilings(shape, dtype, false).empty() && shape.queries < most && shape.keys < most;
}

MatrixUnits attention_units(const AttentionShape& shape, DType dtype) {
  MatrixUnits units;
  for (const auto& unit : {unit_of_waves(dtype), unit_of_warpgroups(shape, dtype)})
    if (unit) units.add(*unit);
  return units;
}

AttentionKernel attention_kernel(const AttentionProgram& p, const GpuLimits& limits) {
  const auto team = team_of(p, limits);
  const Tiling t = team ? Tiling{1, 0} : choose_tiling(p, limits);
  const std::int64_t parts = team ? parts_of(p.shape, limits) : 1;
  constexpr int row_threads = 256;  // row_attention_threads
  AttentionKernel kernel{
      .source = team ? translation_unit("kernels/gpu/row_attention.gpu.h",
                                        row_text_of(p, *team, parts > 1) + (parts > 1 ? join_text_of(p) : ""))
                     : translation_unit(t.of_warpgroups ? "kernels/gpu/wgmma_attention.gpu.h"
                                                        : "kernels/gpu/attention.gpu.h",
                                        text_of(p, t, limits.units)),
      .tiling = !team       ? fmt::format("{}x{}{}", t.queries, t.keys, t.of_warpgroups ? " wgmma" : "")
                : parts > 1 ? fmt::format("of rows in {} parts", parts)
                            : "of rows",
      .grid = blocks(p.shape, t) * parts,
      .block = team ? row_threads : static_cast<int>(t.queries / (t.down * rows_of_wave)) * limits.wave};
  if (parts > 1) {
    kernel.join_grid = blocks(p.shape, t);
    kernel.part_floats = kernel.grid * (p.shape.value_size + 2);
  }
  for (const LoopArgument& f : fields(p, t, parts)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&f.value);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof f.value);
  }
  return kernel;
}

}  // namespace tenon::gpu
