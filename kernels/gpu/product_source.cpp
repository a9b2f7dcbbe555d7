#include "kernels/gpu/product_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

// Of product.gpu.h.
constexpr std::int64_t tile_columns = 64;
constexpr int threads = 256;
constexpr std::int64_t most_batches = 65535;  // a grid's second and third dimension are no larger

std::int64_t blocks(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// Few rows would leave most of a large tile empty.
int tile_rows(const Product& p) { return p.rows <= 16 ? 16 : 64; }

std::int64_t batches(const Product& p) {
  std::int64_t count = 1;
  for (const ProductBatch& b : p.batch) count *= b.size;
  return count;
}

std::vector<LoopArgument> fields(const Product& p) {
  std::vector<LoopArgument> list{{"rows", p.rows},
                                 {"columns", p.columns},
                                 {"depth", p.depth},
                                 {"left_row", p.left_row},
                                 {"left_column", p.left_column},
                                 {"right_row", p.right_row},
                                 {"right_column", p.right_column},
                                 {"row_tiles", blocks(p.rows, tile_rows(p))},
                                 {"batches", batches(p)}};
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

std::string left_side(const Product& p) {
  if (p.windows.empty())
    return fmt::format("  const Matrix<{}> lhs{{left, a.rows, a.depth, a.left_row, a.left_column}};\n",
                       storage(p.left_type));
  std::string axes;
  for (const char axis : {'d', 'h', 'w'}) {
    axes += ", {";
    for (int k = 0; k < 7; ++k) axes += fmt::format("{}a.{}{}", k ? ", " : "", axis, k);
    axes += "}";
  }
  return fmt::format(
      "  const Windows<{}, {}> lhs{{left, a.rows, a.channels, a.image_stride, a.channel_stride{}}};\n",
      storage(p.left_type), p.windows[0].shape.transposed, axes);
}

std::string text_of(const Product& p, const LoopCode& epilogue, const LoopForm& form) {
  std::string text = "struct product_arguments {\n";
  for (const LoopArgument& f : fields(p)) text += fmt::format("  Int {};\n", f.name);
  text += "};\n";
  std::string parameters, values;
  for (const std::string& parameter : LoopText(epilogue, form).parameters()) {
    parameters += ", " + parameter;
    values += parameter.substr(parameter.rfind(' ') + 1) + ", ";
  }
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) product(const {}* left, const {}* right{}, "
      "const product_arguments a, const epilogue_arguments e) {{\n",
      threads, storage(p.left_type), storage(p.right_type), parameters);
  text += fmt::format(
      "  const Int batch = Int(blockIdx.y) * {} + blockIdx.z;\n"
      "  if (batch >= a.batches) return;\n"
      "  Int rest = batch;\n",
      most_batches);
  for (std::size_t i = p.batch.size(); i-- > 0;)
    text += fmt::format(
        "  {{ const Int at = rest % a.batch_size{0}; rest /= a.batch_size{0};\n"
        "    left += at * a.batch_left{0}; right += at * a.batch_right{0}; }}\n",
        i);
  text += left_side(p);
  const int rows = tile_rows(p);
  const bool by_columns = !p.windows.empty();
  text += fmt::format(
      "  const Matrix<{}> rhs{{right, a.depth, a.columns, a.right_row, a.right_column}};\n"
      "  const Int row = blockIdx.x % a.row_tiles * {}, column = blockIdx.x / a.row_tiles * tile_columns;\n"
      "  float sum[{}][4] = {{}};\n"
      "  multiply_tile<{}>(lhs, rhs, row, column, a.depth, sum);\n"
      "  const epilogue_tile tile{{{}e}};\n"
      "  const Int base = batch * {};\n"
      "  store_tile<{}>(sum, row, column, a.rows, a.columns, [&](Int i, Int j, float value) {{\n"
      "    epilogue(tile, {}i, {}j, value);\n"
      "  }});\n}}\n",
      storage(p.right_type), rows, rows / 16, rows, values, by_columns ? "a.columns" : "a.rows", rows,
      by_columns ? "" : "base + ", by_columns ? "base + " : "");
  return translation_unit("kernels/gpu/product.gpu.h", tile_source(epilogue, form, "epilogue") + text);
}

}  // namespace

ProductKernel product_kernel(const Product& p, const LoopProgram& epilogue, const LoopForm& form) {
  ProductKernel kernel{.source = text_of(p, epilogue.code, form), .name = "product", .block = threads};
  for (const LoopArgument& f : fields(p)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&f.value);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof f.value);
  }
  kernel.grid[0] = blocks(p.rows, tile_rows(p)) * blocks(p.columns, tile_columns);
  kernel.grid[1] = blocks(batches(p), most_batches);
  kernel.grid[2] = std::min(batches(p), most_batches);
  return kernel;
}

}  // namespace tenon::gpu
