#include "kernels/gpu/product_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/gpu/loop_faults.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"
#include "kernels/gpu/product_tiling.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view header = "kernels/gpu/product.gpu.h", row_header = "kernels/gpu/row_product.gpu.h",
                           warpgroup_header = "kernels/gpu/wgmma_product.gpu.h",
                           bulk_header = "kernels/gpu/bulk_product.gpu.h",
                           split_header = "kernels/gpu/split_product.gpu.h";
constexpr std::int64_t most_batches = 65535;  // a grid's second and third dimension are no larger
constexpr std::int64_t most_in_a_row = std::int64_t{1} << 30;

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

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
                                 {"whole", t.whole},
                                 {"sharers", t.sharers},
                                 {"pieces", t.pieces(p)}};
  if (p.left_zeros) list.push_back({"left_zeros", *p.left_zeros});
  if (p.right_zeros) list.push_back({"right_zeros", *p.right_zeros});
  for (std::size_t i = 0; i < p.batch.size(); ++i) {
    list.push_back({fmt::format("batch_size{}", i), p.batch[i].size});
    list.push_back({fmt::format("batch_left{}", i), p.batch[i].left});
    list.push_back({fmt::format("batch_right{}", i), p.batch[i].right});
  }
  for (const ProductCodes& c : p.codes)
    list.insert(list.end(), {{"column_bytes", c.column_bytes(p.depth)},
                             {"scales_at", c.scales_at(p.columns, p.depth)},
                             {"zeros_at", c.zeros_at(p.columns, p.depth)},
                             {"group", c.group},
                             {"groups", c.groups(p.depth)},
                             {"zero", c.zero}});
  for (const Product::Taps& of_taps : p.taps) {
    list.push_back({"tap_channels", of_taps.channels});
    for (int i = 0; i < 3; ++i) {
      list.push_back({fmt::format("in_{}", "dhw"[i]), of_taps.in[i]});
      list.push_back({fmt::format("kernel_{}", "dhw"[i]), of_taps.kernel[i]});
    }
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

// What tiles hold of a side in memory: bytes, whatever they stand for.
std::string_view element(const Product& p, const Tiling& t, DType side) {
  return storage(of_bytes(p) || (of_float8(p) && t.row_count == 0) ? DType::u8 : side);
}

// "left, a.rows, ..." as a matrix, which may have zero points.
std::string matrix(std::string_view element, const std::string& values, bool has_zeros,
                   std::string_view side) {
  const std::string text = fmt::format("Matrix<{}>{{{}}}", element, values);
  return has_zeros ? fmt::format("Centred<Matrix<{}>>{{{}, {}_zeros, a.{}_zeros}}", element, text, side, side)
                   : text;
}

// Of elements at `data`.
std::string places_of_left(const Product& p, const Tiling& t, std::string_view data) {
  if (p.windows.empty())
    return matrix(element(p, t, p.left_type),
                  fmt::format("{}, a.rows, int(a.depth), a.left_row, a.left_column", data),
                  p.left_zeros.has_value(), "left");
  std::string axes;
  for (const char axis : {'d', 'h', 'w'}) {
    axes += ", {";
    for (int k = 0; k < 7; ++k) axes += fmt::format("{}a.{}{}", k ? ", " : "", axis, k);
    axes += "}";
  }
  return fmt::format("Windows<{}, {}>{{{}, a.rows, int(a.channels), a.image_stride, a.channel_stride{}}}",
                     element(p, t, p.left_type), p.windows[0].shape.transposed, data, axes);
}

std::string left_side(const Product& p, const Tiling& t) {
  if (p.prologue.empty()) return places_of_left(p, t, "left");
  return fmt::format("computed_at({}, left)", places_of_left(p, t, "nullptr"));
}

std::string right_side(const Product& p, const Tiling& t) {
  for (const ProductCodes& c : p.codes)
    return fmt::format(
        "CodedMatrix<UnsignedCodes<{}>, {}>{{right, reinterpret_cast<const float*>(right + a.scales_at), "
        "reinterpret_cast<const short*>(right + a.zeros_at), a.columns, int(a.depth), a.column_bytes, "
        "int(a.group), int(a.groups), int(a.zero)}}",
        c.bits, c.has_zeros);
  return matrix(element(p, t, p.right_type), "right, a.columns, int(a.depth), a.right_column, a.right_row",
                p.right_zeros.has_value(), "right");
}

// The text of one product's kernel.
class Printer {
 public:
  Printer(const Product& p, const Tiling& t, const LoopProgram& epilogue)
      : p_(p),
        tiling_(t),
        type_(type_of(p)),
        epilogue_(tile_source(epilogue.code, epilogue_form(), "epilogue")) {
    const LoopForm form = epilogue_form();
    for (const std::string& parameter : LoopText(epilogue.code, form).parameters()) {
      parameters_ += ", " + parameter;
      values_ += parameter.substr(parameter.rfind(' ') + 1) + ", ";
    }
    for (const LoopProgram& prologue : p.prologue) {
      prologue_ = value_source(prologue.code, prologue_form, "prologue");
      for (const std::string& parameter : LoopText(prologue.code, prologue_form).parameters()) {
        const std::size_t name = parameter.rfind(' ') + 1;
        if (parameter == fault_parameter) {
          if (!reports_faults(epilogue.code)) parameters_ += ", " + parameter;
          left_values_ += parameter.substr(name) + ", ";
          continue;
        }
        const std::string from = "from_" + parameter.substr(name);
        left_parameters_ += parameter.substr(0, name) + from + ", ";
        left_values_ += from + ", ";
      }
    }
  }

  std::string text() const {
    const bool of_rows = tiling_.row_count > 0;
    return translation_unit(
        of_rows          ? row_header
        : tiling_.splits ? split_header
        : tiling_.bulk   ? bulk_header
        : of_warpgroup() ? warpgroup_header
                         : header,
        prologue_ + epilogue_ + arguments() + head() + (of_rows ? row_product() : tile_product()));
  }

 private:
  bool is_shared() const { return tiling_.sharers > 0; }
  // How many pieces are computed at once: registers have room for more where no sum lies in one any more.
  LoopForm epilogue_form() const {
    return tile_form_of(tiling_.row_count > 0                                             ? 1
                        : of_warpgroup() && size_of(type_) == 2 && tiling_.columns <= 128 ? 4
                                                                                          : 2);
  }
  bool of_warpgroup() const { return tiling_.unit == TileUnit::of_warpgroup; }
  std::string arguments() const {
    std::string text = "struct product_arguments {\n";
    for (const LoopArgument& f : fields(p_, tiling_)) text += fmt::format("  Int {};\n", f.name);
    return text + "};\n";
  }
  bool has_prologue() const { return !p_.prologue.empty(); }
  std::string head() const {
    return fmt::format(
        "extern \"C\" __global__ void {} product({}const {}* right{}{}{}, "
        "const product_arguments a, const epilogue_arguments e{}{}) {{\n"
        "  const epilogue_tile tile{{{}e}};\n{}",
        launch_bounds(),
        has_prologue() ? left_parameters_
                       : fmt::format("const {}* left, ", element(p_, tiling_, p_.left_type)),
        p_.codes.empty() ? element(p_, tiling_, p_.right_type) : storage(DType::u8), zeros(),
        is_shared() ? fmt::format(", {}* parts, unsigned* tickets", sum()) : "", parameters_,
        has_prologue() ? ", const prologue_arguments l" : "",
        tiling_.bulk
            ? ", const __grid_constant__ TensorMap left_map, const __grid_constant__ TensorMap right_map"
            : "",
        values_, has_prologue() ? fmt::format("  const prologue left{{{}l}};\n", left_values_) : "");
  }
  // Products of few rows name blocks of a processor, for which there are registers: else ptxas would save
  // some, and read late.
  std::string launch_bounds() const {
    if (tiling_.row_count == 0) return fmt::format("__launch_bounds__({})", tiling_.threads);
    const bool unpacks_many = !p_.codes.empty() || is_float8(type_);
    const int blocks = tiling_.across > 0 ? 1 : unpacks_many ? 2 : 4;
    return fmt::format("GPU_BLOCK({}, {})", tiling_.threads, blocks);
  }
  std::string zeros() const {
    return std::string(p_.left_zeros ? ", const int* left_zeros" : "") +
           (p_.right_zeros ? ", const int* right_zeros" : "");
  }
  std::string_view sum() const { return of_bytes(p_) ? "unsigned" : computed(type_); }
  // Moves the sides to a batch, whose number is `rest`.
  std::string to_batch() const {
    std::string text;
    for (std::size_t i = p_.batch.size(); i-- > 0;)
      text += fmt::format(
          "    {{ const Int at = rest % a.batch_size{0}; rest /= a.batch_size{0};\n"
          "      left += at * a.batch_left{0}; right += at * a.batch_right{0}; }}\n",
          i);
    return text;
  }
  std::string store() const {
    if (!p_.taps.empty())
      return fmt::format(
          "[&](const Pieces<{}, {}>& pieces) {{\n"
          "        const Taps taps{{a.tap_channels, {{a.in_d, a.in_h, a.in_w}}, {{a.kernel_d, a.kernel_h, "
          "a.kernel_w}}}};\n"
          "        epilogue(tile, taps.of_pixels(pieces.moved(batch * a.rows, 0)));\n      }}",
          sum(), epilogue_form().chunks);
    return fmt::format("[&](const Pieces<{}, {}>& pieces) {{ epilogue(tile, pieces.moved({}){}); }}", sum(),
                       epilogue_form().chunks,
                       p_.windows.empty() ? "batch * a.rows, 0" : "0, batch * a.columns",
                       of_bytes(p_) ? ".as<int>()" : "");
  }

  std::string row_product() const {
    const Reading right = reading_of_right(p_);
    const std::string multiply =
        tiling_.across > 0
            ? fmt::format("multiply_rows_across<{}, {}, {}>", tiling_.row_count, tiling_.across, right.count)
            : fmt::format("multiply_rows<{}, {}, {}, {}, {}>", tiling_.row_count, tiling_.columns_of_team(),
                          tiling_.teams_sharing, tiling_.team_steps,
                          p_.codes.empty() ? reading_of_left(p_).count : coded_row_count);
    return fmt::format(
        "  const Int batch = Int(blockIdx.y) * {} + blockIdx.z;\n"
        "  if (batch >= a.batches) return;\n"
        "  Int rest = batch;\n"
        "{}"
        "  {}({}, {},\n      {});\n}}\n",
        most_batches, to_batch(), multiply, left_side(p_, tiling_), right_side(p_, tiling_), store());
  }

  std::string tile_product() const {
    return fmt::format(
        "  using Tile = {};\n"
        "  const auto tile_at = [{}, sides_left = left, sides_right = right](Int number) {{\n"
        "    const Int batch = number / a.tiles, place = number % a.tiles;\n"
        "    auto left = sides_left;\n    auto right = sides_right;\n"
        "    Int rest = batch;\n"
        "{}"
        "    return place_of_tile(batch, place % a.row_tiles * Tile::rows, place / a.row_tiles * "
        "Tile::columns,\n"
        "                         {},\n                         {});\n"
        "  }};\n"
        "  using Place = decltype(tile_at(0));\n"
        "  using Product = {};\n"
        "  compute_tiles<{}, Tile::threads, Sums<Tile>>(\n"
        "      TileLine{{a.tiles * a.batches, a.whole, a.sharers, a.pieces}}, {},\n"
        "      [&](Int number, Int first, Int last, Sums<Tile>& sum) {{\n"
        "        const Place place = tile_at(number);\n"
        "        const Int end = last * Tile::depth;\n"
        "        Product::multiply(place.left, place.right, place.row, place.column, int(first * "
        "Tile::depth),\n"
        "                        int(end < a.depth ? end : a.depth), sum);\n"
        "      }},\n"
        "      [&](Int number, const Sums<Tile>& sum) {{\n"
        "        const Place place = tile_at(number);\n"
        "        const Int batch = place.batch;\n"
        "        Product::template finish<{}>(place.left, place.right, place.row, place.column, a.rows, "
        "a.columns, "
        "int(a.depth), sum,\n"
        "            {});\n"
        "      }});\n}}\n",
        tile(), captured(), to_batch(), mapped(left_side(p_, tiling_), "left"),
        mapped(right_side(p_, tiling_), "right"), product(), is_shared(),
        is_shared() ? "parts, tickets" : fmt::format("static_cast<{}*>(nullptr), nullptr", sum()),
        epilogue_form().chunks, store());
  }
  // A side as bulk copies read it; where it is split, threads do, too.
  std::string mapped(std::string side, std::string_view which) const {
    if (!tiling_.bulk) return side;
    return tiling_.splits ? fmt::format("Mapped<Matrix<{}>>{{{}, &{}_map}}", storage(type_), side, which)
                          : fmt::format("MappedSide{{&{}_map}}", which);
  }
  // What tile_at takes beside the sides.
  std::string captured() const {
    return std::string("&a") + (tiling_.bulk ? ", &left_map, &right_map" : "") +
           (p_.left_zeros ? ", left_zeros" : "") + (p_.right_zeros ? ", right_zeros" : "");
  }
  std::string product() const {
    const Reading left = reading_of_left(p_), right = reading_of_right(p_);
    if (tiling_.bulk)
      return fmt::format("{}BulkProduct<Tile, {}, {}>", tiling_.splits ? "Split" : "", left.depth_fast,
                         right.depth_fast);
    return fmt::format("{}<Tile, typename Place::Left, {}, {}, typename Place::Right, {}, {}>",
                       tiling_.splits   ? "SplitProduct"
                       : of_warpgroup() ? "WarpgroupProduct"
                                        : "TileProduct",
                       left.depth_fast, left.count, right.depth_fast, right.count);
  }
  std::string tile() const {
    if (of_warpgroup())
      return fmt::format("WarpgroupTile<{}, {}, {}, {}, {}>", storage(type_), tiling_.rows, tiling_.columns,
                         tiling_.stages(), tiling_.shared_bytes());
    return fmt::format("BlockTile<{}, {}, {}, {}>", unit(), tiling_.rows, tiling_.columns, tiling_.threads);
  }
  std::string unit() const {
    const std::string_view element = type_ == DType::i64 ? computed(type_) : storage(type_);
    if (of_bytes(p_) || of_float8(p_)) {
      const std::string sides = fmt::format("{}, {}", storage(p_.left_type), storage(p_.right_type));
      if (tiling_.unit == TileUnit::ordinary) return "OrdinaryUnit<unsigned char, " + sides + ">";
      return fmt::format("UnitOf{}<{}>::type", of_bytes(p_) ? "Bytes" : "Float8", sides);
    }
    if (tiling_.unit == TileUnit::ordinary) return fmt::format("OrdinaryUnit<{}>", element);
    return is_tf32(p_) ? "Tf32OrFloat" : fmt::format("UnitOf<{}>::type", element);
  }

  const Product& p_;
  const Tiling& tiling_;
  const DType type_;
  const std::string epilogue_;
  std::string parameters_, values_;
  std::string prologue_, left_parameters_, left_values_;
};

}  // namespace

std::optional<DType> product_type(DType left, DType right) {
  if (is_complex(left) || is_complex(right)) return std::nullopt;
  if (!is_float(left) && !is_float(right)) return DType::i64;
  if (left == DType::f64 || right == DType::f64) return DType::f64;
  // Every other float holds float8.
  if (is_float8(left)) left = is_float(right) && !is_float8(right) ? right : DType::f16;
  if (is_float8(right)) right = left;
  return left == right ? left : DType::f32;
}

bool of_bytes(const Product& p) {
  const auto is_byte = [](DType t) { return t == DType::i8 || t == DType::u8; };
  return p.reads_32_bits && is_byte(p.left_type) && is_byte(p.right_type);
}

bool of_float8(const Product& p) {
  return p.float8 && is_float8(p.left_type) && is_float8(p.right_type) &&
         unit_of_waves(p.left_type) == unit_of_waves(p.right_type) && p.prologue.empty() && p.codes.empty();
}

ProductKernel product_kernel(const Product& p, const LoopProgram& epilogue, const Tiling& t) {
  TENON_CHECK(p.prologue.empty() || (p.batch.empty() && t.row_count == 0));
  ProductKernel kernel{.source = Printer(p, t, epilogue).text(),
                       .name = "product",
                       .tiling = t.text(p),
                       .block = t.threads,
                       .shared_bytes = t.shared_bytes()};
  kernel.may_fault = reports_faults(epilogue.code);
  for (const LoopProgram& prologue : p.prologue)
    kernel.may_fault = kernel.may_fault || reports_faults(prologue.code);
  if (t.bulk) kernel.maps = tensor_maps(p, t);
  TENON_CHECK(kernel.maps.empty() == !t.bulk);
  for (const LoopArgument& f : fields(p, t)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&f.value);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof f.value);
  }
  if (t.row_count > 0) {
    kernel.grid[0] = t.tiles(p);
    kernel.grid[1] = divide_up(batches(p), most_batches);
    kernel.grid[2] = std::min(batches(p), most_batches);
    return kernel;
  }
  const std::int64_t shared = t.shared_tiles(p), blocks = t.tiles(p) * batches(p) - shared + t.sharers;
  kernel.grid[0] = std::min(blocks, most_in_a_row);
  kernel.grid[1] = divide_up(blocks, most_in_a_row);
  if (shared == 0) return kernel;
  kernel.parts = (t.sharers + shared - 1) * t.rows * t.columns;
  kernel.tickets = shared;
  kernel.part_type = sum_type(p);
  return kernel;
}

ProductKernel product_kernel(const Product& p, const LoopProgram& epilogue, const GpuLimits& limits) {
  return product_kernel(p, epilogue, choose_tiling(p, limits));
}

}  // namespace tenon::gpu
