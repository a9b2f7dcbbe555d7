#include "kernels/gpu/attention_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "kernels/gpu/chunks.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t rows_of_wave = 16, most_shared_bytes = 48 << 10;  // a block's without asking for more

std::int64_t filled_up(std::int64_t size) { return (size + 15) / 16 * 16; }

// AttentionTile's parameters.
struct Tiling {
  std::int64_t queries = 0, keys = 0;
};

// AttentionTile::bytes.
std::int64_t tile_bytes(const AttentionShape& shape, DType dtype, const Tiling& t) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t size = filled_up(shape.size), value_size = filled_up(shape.value_size),
                     pad = 16 / element;
  const std::int64_t tiles =
      (t.queries + t.keys) * (size + pad) + t.keys * (value_size + 8) + t.queries * (t.keys + pad);
  return std::max(tiles * element, t.queries * (value_size + 4) * 4);
}

// The largest tile of keys for each tile of queries, where any fits.
std::vector<Tiling> tilings(const AttentionShape& shape, DType dtype) {
  std::vector<Tiling> all;
  if (std::max(shape.size, shape.value_size) > 256) return all;  // its sums would leave the registers
  for (const std::int64_t queries : {64, 32, 16})
    for (const std::int64_t keys : {64, 32, 16})
      if (tile_bytes(shape, dtype, {queries, keys}) + 4 * queries <= most_shared_bytes) {
        all.push_back({queries, keys});
        break;
      }
  return all;
}

std::int64_t blocks(const AttentionShape& shape, const Tiling& t) {
  return shape.batch * shape.heads * ((shape.queries + t.queries - 1) / t.queries);
}

// Large tiles read keys less often, small ones keep more processors busy.
Tiling choose_tiling(const AttentionShape& shape, DType dtype, const GpuLimits& limits) {
  const std::vector<Tiling> all = tilings(shape, dtype);
  TENON_CHECK(!all.empty());
  const auto busy = std::find_if(all.begin(), all.end(), [&](const Tiling& t) {
    return blocks(shape, t) >= limits.processors && t.queries - shape.queries < rows_of_wave;
  });
  return busy == all.end() ? all.back() : *busy;
}

std::vector<LoopArgument> fields(const AttentionProgram& p, const Tiling& t) {
  const AttentionShape& s = p.shape;
  std::vector<LoopArgument> list{{"heads", s.heads},
                                 {"queries", s.queries},
                                 {"keys", s.keys},
                                 {"size", s.size},
                                 {"value_size", s.value_size},
                                 {"query_tiles", (s.queries + t.queries - 1) / t.queries},
                                 {"scale_bits", std::bit_cast<std::int64_t>(static_cast<double>(s.scale))}};
  const std::pair<std::string_view, HeadStrides> strides[] = {
      {"q", p.q}, {"k", p.k}, {"v", p.v}, {"out", p.out}, {"mask", p.mask_strides}};
  for (const auto& [name, at] : strides) {
    list.push_back({fmt::format("{}_batch", name), at.batch});
    list.push_back({fmt::format("{}_head", name), at.head});
    list.push_back({fmt::format("{}_row", name), at.row});
  }
  list.push_back({"mask_key", p.mask_key});
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

// Scores that are -inf without a mask are NaN after a softmax.
bool nan_rows(const AttentionProgram& p) { return p.shape.nan_rows || !p.mask; }

// The body's `score` from a query, a key and their product.
std::string score_text(const AttentionProgram& p) {
  std::string text = "        float score = float(product * scale);\n";
  if (p.mask) {
    text +=
        "        const auto kept = mask[(query < a.queries ? query : 0) * a.mask_row + key * a.mask_key];\n";
    text += is_bool(*p.mask) ? "        if (!kept) score = float(-TENON_INFINITY);\n"
                             : "        score += log2_weight(convert<float>(kept));\n";
  }
  if (p.shape.causal) text += "        if (key > query) score = float(-TENON_INFINITY);\n";
  return text;
}

std::string signature(const AttentionProgram& p, const Tiling& t, std::string_view threads) {
  std::string text = "struct attention_arguments {\n";
  for (const LoopArgument& f : fields(p, t)) text += fmt::format("  Int {};\n", f.name);
  const std::string mask = p.mask ? fmt::format("const {}* mask, ", storage(*p.mask)) : "";
  return text +
         fmt::format(
             "}};\n"
             "extern \"C\" __global__ void __launch_bounds__({2}) attention(const {0}* q, const {0}* k, "
             "const {0}* v, {1}{0}* out, const attention_arguments a) {{\n",
             storage(p.dtype), mask, threads);
}

// The block's part: `tile` among those of the head, and where the head's rows begin.
std::string place_text(const AttentionProgram& p) {
  std::string text =
      "  const float scale = float(bits_as<double>(a.scale_bits) * 1.4426950408889634);\n"
      "  const Int tile = blockIdx.x % a.query_tiles, head_of_all = blockIdx.x / a.query_tiles;\n"
      "  const Int head = head_of_all % a.heads, batch = head_of_all / a.heads;\n";
  if (p.mask) text += "  mask += batch * a.mask_batch + head * a.mask_head;\n";
  for (const std::string_view name : {"q", "k", "v", "out"})
    text += fmt::format("  {0} += batch * a.{0}_batch + head * a.{0}_head;\n", name);
  return text + fmt::format(
                    "  const Matrix<{0}> rows{{q, a.queries, int(a.size), a.q_row, 1}};\n"
                    "  const Matrix<{0}> columns{{k, a.keys, int(a.size), a.k_row, 1}};\n",
                    storage(p.dtype));
}

std::string text_of(const AttentionProgram& p, const Tiling& t) {
  // The last queries see the most keys.
  const std::string_view tile = p.shape.causal ? "a.query_tiles - 1 - tile" : "tile";
  return fmt::format("using Tile = AttentionTile<{}, {}, {}, {}, {}>;\nstatic_assert(Tile::bytes == {});\n",
                     storage(p.dtype), t.queries, t.keys, filled_up(p.shape.size),
                     filled_up(p.shape.value_size), tile_bytes(p.shape, p.dtype, t)) +
         signature(p, t, "Tile::threads") + place_text(p) +
         fmt::format(
             "  const int first = int({1}) * Tile::queries;\n"
             "  const int key_end = {2};\n"
             "  const Matrix<{0}> values{{v, a.value_size, int(a.keys), 1, a.v_row}};\n"
             "  attend<Tile, {3}, {4}, {5}>(\n"
             "      rows, columns, values, first, key_end, {6},\n"
             "      [&](int query, int key, float product) {{\n{7}        return score;\n      }},\n"
             "      [&](int query, int column, float value) {{ out[query * a.out_row + column] = "
             "convert<{0}>(value); "
             "}});\n}}\n",
             storage(p.dtype), tile,
             p.shape.causal ? "first + Tile::queries < a.keys ? first + Tile::queries : int(a.keys)"
                            : "int(a.keys)",
             chunk(p, p.q, p.q_offset), chunk(p, p.k, p.k_offset), chunk(p, p.v, p.v_offset), nan_rows(p),
             score_text(p));
}

std::string row_text_of(const AttentionProgram& p, std::int64_t team) {
  return signature(p, {1, 0}, "row_attention_threads") + place_text(p) +
         fmt::format(
             "  const int query = int(tile);\n"
             "  const int key_end = {1};\n"
             "  const Matrix<{0}> values{{v, a.keys, int(a.value_size), a.v_row, 1}};\n"
             "  attend_row<{2}, {3}>(\n"
             "      rows, columns, values, query, key_end, {4},\n"
             "      [&](int key, float product) {{\n{5}        return score;\n      }},\n"
             "      [&](int column, float value) {{ out[query * a.out_row + column] = convert<{0}>(value); "
             "}});\n}}\n",
             storage(p.dtype),
             p.shape.causal ? "query + 1 < a.keys ? query + 1 : int(a.keys)" : "int(a.keys)", team,
             chunk(p, p.q, p.q_offset), nan_rows(p), score_text(p));
}

}  // namespace

bool fits_attention(const AttentionShape& shape, DType dtype) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  return !tilings(shape, dtype).empty() && shape.queries < most && shape.keys < most;
}

AttentionKernel attention_kernel(const AttentionProgram& p, const GpuLimits& limits) {
  const auto team = team_of(p, limits);
  const Tiling t = team ? Tiling{1, 0} : choose_tiling(p.shape, p.dtype, limits);
  constexpr int row_threads = 256;  // row_attention_threads
  AttentionKernel kernel{
      .source = team ? translation_unit("kernels/gpu/row_attention.gpu.h", row_text_of(p, *team))
                     : translation_unit("kernels/gpu/attention.gpu.h", text_of(p, t)),
      .tiling = team ? "of rows" : fmt::format("{}x{}", t.queries, t.keys),
      .grid = blocks(p.shape, t),
      .block = team ? row_threads : static_cast<int>(t.queries / rows_of_wave) * limits.wave};
  for (const LoopArgument& f : fields(p, t)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&f.value);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof f.value);
  }
  return kernel;
}

}  // namespace tenon::gpu
