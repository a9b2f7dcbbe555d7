#include "kernels/gpu/product_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/gpu/chunks.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view header = "kernels/gpu/product.gpu.h", row_header = "kernels/gpu/row_product.gpu.h";
constexpr std::int64_t most_batches = 65535;  // a grid's second and third dimension are no larger
constexpr int part_threads = 256;             // of a block that adds parts up

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

std::int64_t batches(const Product& p) {
  std::int64_t count = 1;
  for (const ProductBatch& b : p.batch) count *= b.size;
  return count;
}

// How blocks share the result, and splits of the depth.
struct Tiling {
  int rows = 64, columns = 64, threads = 128;
  int row_count = 0;          // not 0: multiply_rows, of so many rows
  bool shares_depth = false;  // its waves do
  std::int64_t splits = 1, depth_of_split = 0;

  std::string text() const {
    if (row_count > 0) return fmt::format("of {} row{}", row_count, row_count > 1 ? "s" : "");
    return fmt::format("{}x{}{}", rows, columns, splits > 1 ? fmt::format(" in {} parts", splits) : "");
  }
  std::int64_t row_tiles(const Product& p) const { return divide_up(p.rows, rows); }
  std::int64_t tiles(const Product& p) const { return row_tiles(p) * divide_up(p.columns, columns); }
};

std::vector<LoopArgument> fields(const Product& p, const Tiling& t) {
  std::vector<LoopArgument> list{{"rows", p.rows},
                                 {"columns", p.columns},
                                 {"depth", p.depth},
                                 {"left_row", p.left_row},
                                 {"left_column", p.left_column},
                                 {"right_row", p.right_row},
                                 {"right_column", p.right_column},
                                 {"row_tiles", t.row_tiles(p)},
                                 {"tiles", t.tiles(p)},
                                 {"batches", batches(p)},
                                 {"splits", t.splits},
                                 {"depth_of_split", t.depth_of_split}};
  for (std::size_t i = 0; i < p.batch.size(); ++i) {
    list.push_back({fmt::format("batch_size{}", i), p.batch[i].size});
    list.push_back({fmt::format("batch_left{}", i), p.batch[i].left});
    list.push_back({fmt::format("batch_right{}", i), p.batch[i].right});
  }
  for (const Product::Windows& w : p.windows) {
    list.insert(list.end(), {{"channels", w.shape.Cin / w.shape.groups},
                             {"image_stride", w.image},
                             {"channel_stride", w.channel}});
    const ConvAxis axes[] = {w.shape.d, w.shape.h, w.shape.w};
    for (int i = 0; i < 3; ++i) {
      const ConvAxis& a = axes[i];
      const std::int64_t values[] = {a.in,         w.shape.out(a), a.kernel,    a.stride,
                                     a.pad_before, a.dilation,     w.spatial[i]};
      for (std::size_t k = 0; k < std::size(values); ++k)
        list.push_back({fmt::format("{}{}", "dhw"[i], k), values[k]});
    }
  }
  return list;
}

// How a side is brought to shared memory: which of its axes lies side by side, and in chunks of how many
// elements.
struct Reading {
  bool depth_fast = true;
  int count = 1;
};

Reading choose_reading(DType type, DType computed, std::int64_t line, std::int64_t depth,
                       std::vector<std::int64_t> others) {
  Reading reading{.depth_fast = depth == 1 || line != 1};
  others.push_back(reading.depth_fast ? line : depth);
  const bool side_by_side = (reading.depth_fast ? depth : line) == 1;
  if (type == computed && side_by_side) reading.count = chunk_elements(type, others);
  return reading;
}

Reading reading_of_left(const Product& p, DType type) {
  std::vector<std::int64_t> steps{p.left_offset};
  for (const ProductBatch& b : p.batch) steps.push_back(b.left);
  if (p.windows.empty())
    return choose_reading(p.left_type, type, p.left_row, p.left_column, std::move(steps));
  const Product::Windows& w = p.windows[0];
  steps.insert(steps.end(), {w.shape.Cin / w.shape.groups, w.image});
  steps.insert(steps.end(), std::begin(w.spatial), std::end(w.spatial));
  const std::int64_t whole_chunks = 0;
  return choose_reading(p.left_type, type, whole_chunks, w.channel, std::move(steps));
}

Reading reading_of_right(const Product& p, DType type) {
  std::vector<std::int64_t> steps{p.right_offset};
  for (const ProductBatch& b : p.batch) steps.push_back(b.right);
  return choose_reading(p.right_type, type, p.right_column, p.right_row, std::move(steps));
}

// A few rows are multiplied by columns that lie along their depth.
std::optional<Tiling> row_tiling(const Product& p, DType type, const GpuLimits& limits) {
  constexpr std::int64_t most_rows = 4;
  if (p.rows > most_rows || !p.windows.empty() || size_of(type) > 4 || !is_float(type)) return std::nullopt;
  for (const Reading& r : {reading_of_left(p, type), reading_of_right(p, type)})
    if (!r.depth_fast || r.count == 1) return std::nullopt;
  Tiling t{.rows = static_cast<int>(p.rows), .columns = 4, .threads = 256};
  t.row_count = t.rows == 3 ? 4 : t.rows;
  constexpr int columns_of_block = 32;  // multiply_rows
  t.shares_depth = divide_up(p.columns, columns_of_block) * batches(p) < 2 * limits.processors;
  if (!t.shares_depth) t.columns = columns_of_block;
  t.depth_of_split = p.depth;
  return t;
}

// Large tiles read less; but few rows leave most of a tile empty, and few tiles most of the processors.
Tiling choose_tiling(const Product& p, DType type, const GpuLimits& limits) {
  if (const auto rows = row_tiling(p, type, limits)) return *rows;
  Tiling t;
  if (p.rows <= 16) {
    t.rows = 16;
  } else if (size_of(type) <= 4) {
    const Tiling large{.rows = 128, .columns = size_of(type) == 2 ? 128 : 64, .threads = 256};
    if (large.tiles(p) * batches(p) >= limits.processors) t = large;
  }
  // A split is long enough to be worth its writing.
  constexpr std::int64_t shortest = 256, most = 64;
  const std::int64_t blocks = t.tiles(p) * batches(p), wanted = 2 * limits.processors / blocks;
  t.splits = blocks < limits.processors
                 ? std::clamp<std::int64_t>(std::min(wanted, p.depth / shortest), 1, most)
                 : 1;
  constexpr std::int64_t piece = 64;  // a multiple of every unit's
  t.depth_of_split = std::max(divide_up(divide_up(p.depth, t.splits), piece), std::int64_t{1}) * piece;
  t.splits = std::max<std::int64_t>(divide_up(p.depth, t.depth_of_split), 1);
  return t;
}

std::string left_side(const Product& p) {
  if (p.windows.empty())
    return fmt::format("  const Matrix<{}> lhs{{left, a.rows, int(a.depth), a.left_row, a.left_column}};\n",
                       storage(p.left_type));
  std::string axes;
  for (const char axis : {'d', 'h', 'w'}) {
    axes += ", {";
    for (int k = 0; k < 7; ++k) axes += fmt::format("{}a.{}{}", k ? ", " : "", axis, k);
    axes += "}";
  }
  return fmt::format(
      "  const Windows<{}, {}> lhs{{left, a.rows, int(a.channels), a.image_stride, a.channel_stride{}}};\n",
      storage(p.left_type), p.windows[0].shape.transposed, axes);
}

// The text of one product's kernels.
class Printer {
 public:
  Printer(const Product& p, const Tiling& t, const LoopProgram& epilogue, const LoopForm& form, DType type)
      : p_(p), tiling_(t), type_(type), epilogue_(tile_source(epilogue.code, form, "epilogue")) {
    for (const std::string& parameter : LoopText(epilogue.code, form).parameters()) {
      parameters_ += ", " + parameter;
      values_ += parameter.substr(parameter.rfind(' ') + 1) + ", ";
    }
  }

  std::string whole() const {
    return translation_unit(tiling_.row_count > 0 ? row_header : header,
                            epilogue_ + arguments() +
                                product(parameters_, ", const epilogue_arguments e", result_tile(),
                                        fmt::format("epilogue(tile, {}, value)", place("i", "j"))));
  }
  std::string parts() const {
    return translation_unit(
        header,
        arguments() + product(fmt::format(", {}* parts", computed(type_)), "",
                              "  parts += (blockIdx.x / a.tiles * a.batches + batch) * a.rows * a.columns;\n",
                              "parts[i * a.columns + j] = value"));
  }
  std::string sum_of_parts() const {
    std::string text = arguments();
    text += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}) add_parts(const {}* parts{}, const "
        "product_arguments a, "
        "const epilogue_arguments e) {{\n"
        "  const Int size = a.batches * a.rows * a.columns, at = Int(blockIdx.x) * {} + threadIdx.x;\n"
        "  if (at >= size) return;\n"
        "  {} value = 0;\n"
        "  for (Int s = 0; s < a.splits; ++s) value += parts[s * size + at];\n"
        "  const Int j = at % a.columns, rest = at / a.columns, i = rest % a.rows, batch = rest / a.rows;\n"
        "{}  epilogue(tile, {}, value);\n}}\n",
        part_threads, computed(type_), parameters_, part_threads, computed(type_), result_tile(),
        place("i", "j"));
    return translation_unit(header, epilogue_ + text);
  }

 private:
  std::string arguments() const {
    std::string text = "struct product_arguments {\n";
    for (const LoopArgument& f : fields(p_, tiling_)) text += fmt::format("  Int {};\n", f.name);
    return text + "};\n";
  }
  std::string result_tile() const { return fmt::format("  const epilogue_tile tile{{{}e}};\n", values_); }
  std::string place(std::string_view i, std::string_view j) const {
    return p_.windows.empty() ? fmt::format("batch * a.rows + {}, {}", i, j)
                              : fmt::format("{}, batch * a.columns + {}", i, j);
  }

  std::string product(std::string_view parameters, std::string_view more, std::string_view result,
                      std::string_view store) const {
    std::string text = fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}) product(const {}* left, const {}* right{}, "
        "const product_arguments a{}) {{\n"
        "  const Int batch = Int(blockIdx.y) * {} + blockIdx.z;\n"
        "  if (batch >= a.batches) return;\n"
        "  Int rest = batch;\n",
        tiling_.threads, storage(p_.left_type), storage(p_.right_type), parameters, more, most_batches);
    for (std::size_t i = p_.batch.size(); i-- > 0;)
      text += fmt::format(
          "  {{ const Int at = rest % a.batch_size{0}; rest /= a.batch_size{0};\n"
          "    left += at * a.batch_left{0}; right += at * a.batch_right{0}; }}\n",
          i);
    const Reading left = reading_of_left(p_, type_), right = reading_of_right(p_, type_);
    text += left_side(p_) +
            fmt::format(
                "  const Matrix<{}> rhs{{right, a.columns, int(a.depth), a.right_column, a.right_row}};\n",
                storage(p_.right_type));
    if (tiling_.row_count > 0)
      return text + fmt::format(
                        "{}  multiply_rows<{}, {}, {}>(lhs, rhs, [&](Int i, Int j, float value) {{ {}; "
                        "}});\n}}\n",
                        result, tiling_.row_count, tiling_.shares_depth, left.count, store);
    return text +
           fmt::format(
               "  const Int at = blockIdx.x % a.tiles, split = blockIdx.x / a.tiles;\n"
               "  const Int end = (split + 1) * a.depth_of_split;\n"
               "{}"
               "  using Tile = BlockTile<{}, {}, {}, {}>;\n"
               "  multiply_tile<Tile, {}, {}, {}, {}>(\n"
               "      lhs, rhs, at % a.row_tiles * Tile::rows, at / a.row_tiles * Tile::columns, a.rows, "
               "a.columns,\n"
               "      int(split * a.depth_of_split), int(end < a.depth ? end : a.depth),\n"
               "      [&](Int i, Int j, {} value) {{ {}; }});\n}}\n",
               result, element(), tiling_.rows, tiling_.columns, tiling_.threads, left.depth_fast, left.count,
               right.depth_fast, right.count, computed(type_), store);
  }
  std::string_view element() const { return type_ == DType::i64 ? computed(type_) : storage(type_); }

  const Product& p_;
  const Tiling& tiling_;
  const DType type_;
  const std::string epilogue_;
  std::string parameters_, values_;
};

}  // namespace

std::optional<DType> product_type(DType left, DType right) {
  if (is_complex(left) || is_complex(right)) return std::nullopt;
  if (!is_float(left) && !is_float(right)) return DType::i64;
  if (left == DType::f64 || right == DType::f64) return DType::f64;
  return left == right ? left : DType::f32;
}

ProductKernels product_kernels(const Product& p, const LoopProgram& epilogue, const LoopForm& form,
                               const GpuLimits& limits) {
  const DType type = product_type(p.left_type, p.right_type).value();
  const Tiling t = choose_tiling(p, type, limits);
  const Printer printer(p, t, epilogue, form, type);
  ProductKernel kernel{.name = "product", .block = t.threads};
  for (const LoopArgument& f : fields(p, t)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&f.value);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof f.value);
  }
  kernel.grid[0] = t.tiles(p) * t.splits;
  kernel.grid[1] = divide_up(batches(p), most_batches);
  kernel.grid[2] = std::min(batches(p), most_batches);
  if (t.splits == 1) {
    kernel.source = printer.whole();
    return {.kernels = {std::move(kernel)}, .tiling = t.text()};
  }
  const std::int64_t size = batches(p) * p.rows * p.columns;
  ProductKernel sum{.source = printer.sum_of_parts(),
                    .name = "add_parts",
                    .arguments = kernel.arguments,
                    .grid = {divide_up(size, part_threads), 1, 1},
                    .block = part_threads};
  kernel.source = printer.parts();
  return {.kernels = {std::move(kernel), std::move(sum)},
          .tiling = t.text(),
          .parts = t.splits * size,
          .part_type = compute_type(type)};
}

}  // namespace tenon::gpu
