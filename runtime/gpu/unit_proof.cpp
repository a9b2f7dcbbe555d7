#include "runtime/gpu/unit_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/gpu/gpu.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/tensor_map.h"

namespace tenon::gpu {
namespace {

// Side by side along the depth, or across it.
enum class Side { along, across };

struct Trial {
  Product product;
  Tiling tiling;
  bool left_is_long = false, right_is_long = false;  // its numbers have 13 bits
};

DType dtype_of(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::f16:
    case MatrixUnit::wgmma_f16:
    case MatrixUnit::tma_f16: return DType::f16;
    case MatrixUnit::bf16:
    case MatrixUnit::wgmma_bf16:
    case MatrixUnit::tma_bf16: return DType::bf16;
    case MatrixUnit::f32:
    case MatrixUnit::wgmma_f32:
    case MatrixUnit::tma_f32:
    case MatrixUnit::tf32: return DType::f32;
    case MatrixUnit::i8: return DType::i8;
    case MatrixUnit::f8: return DType::f8e4m3fn;
    case MatrixUnit::f8fnuz: return DType::f8e4m3fnuz;
  }
  TENON_CHECK(false);
}

// Sides whose last tiles and pieces are not full, in chunks of 16 bytes.
Product product_of(MatrixUnit unit, Side left, Side right, std::int64_t depth) {
  const std::int64_t chunk = 16 / static_cast<std::int64_t>(size_of(dtype_of(unit)));
  const std::int64_t rows = 64 + std::max<std::int64_t>(chunk, 8), columns = 64 + rows;
  const bool l = left == Side::along, r = right == Side::along;
  return {.left_type = dtype_of(unit),
          .right_type = dtype_of(unit),
          .rows = rows,
          .columns = columns,
          .depth = depth,
          .left_row = l ? depth : 1,
          .left_column = l ? 1 : rows,
          .right_row = r ? 1 : columns,
          .right_column = r ? depth : 1,
          .reads_32_bits = unit == MatrixUnit::i8,
          .tf32 = unit == MatrixUnit::tf32,
          .float8 = true};
}

// Each side of either dtype: they choose the instruction.
std::vector<Trial> trials_of_pairs(MatrixUnit unit, DType first, DType second, std::int64_t depth) {
  using enum Side;
  const auto trial = [&](DType left, DType right, Side left_side, Side right_side) {
    Product p = product_of(unit, left_side, right_side, depth);
    p.left_type = left;
    p.right_type = right;
    return Trial{std::move(p), {}};
  };
  return {trial(first, first, along, along), trial(first, second, across, along),
          trial(second, first, along, across), trial(second, second, across, across)};
}

// Between them they take each instruction of the unit, and read each side both ways. Depths go round the ring
// of pieces.
std::vector<Trial> trials_of(MatrixUnit unit) {
  using enum Side;
  // Of a float32 that is no number of TF32 the rest counts, too.
  const bool has_rests = unit != MatrixUnit::tf32 && dtype_of(unit) == DType::f32;
  if (is_of_warpgroup(unit)) {
    const auto tiles = [unit, has_rests](int rows, int columns) {
      return Tiling{.rows = rows,
                    .columns = columns,
                    .threads = 2 * rows,
                    .unit = TileUnit::of_warpgroup,
                    .bulk = takes_bulk_copies(unit),
                    .splits = has_rests};
    };
    constexpr std::int64_t depth = 456;
    if (has_rests)
      return {{product_of(unit, along, across, depth), tiles(128, 128), true, false},
              {product_of(unit, across, along, depth), tiles(64, 64), false, true}};
    return {{product_of(unit, along, along, depth), tiles(128, 256)},
            {product_of(unit, across, across, depth), tiles(128, 128)},
            {product_of(unit, along, across, depth), tiles(64, 64)}};
  }
  if (unit == MatrixUnit::i8) return trials_of_pairs(unit, DType::i8, DType::u8, 208);
  constexpr std::int64_t long_depth = 464;  // sums need more bits than such a unit keeps
  if (unit == MatrixUnit::f8) return trials_of_pairs(unit, DType::f8e4m3fn, DType::f8e5m2, long_depth);
  if (unit == MatrixUnit::f8fnuz)
    return trials_of_pairs(unit, DType::f8e4m3fnuz, DType::f8e5m2fnuz, long_depth);
  constexpr std::int64_t depth = 200;
  return {{product_of(unit, along, along, depth), {}, has_rests, false},
          {product_of(unit, across, across, depth), {}, false, has_rests}};
}

// Exponents differ from line to line, and all products of two lines have one sign: sums of 64 take up to 13
// bits, those of a trial's depth up to 16.
int float8_at(DType dtype, std::int64_t line, std::int64_t depth) {
  const bool is_e4m3 = dtype == DType::f8e4m3fn || dtype == DType::f8e4m3fnuz;
  const auto size = static_cast<int>((is_e4m3 ? 8 : 4) + (line * 5 + depth * 3) % 4) << line % 5;
  return line % 2 == 0 ? size : -size;
}

// Sums of products of these are whole numbers below 2^24, or such times a power of two. Bytes are all that
// there are.
int number_at(DType dtype, std::int64_t line, std::int64_t depth, bool is_long) {
  if (is_float8(dtype)) return float8_at(dtype, line, depth);
  if (size_of(dtype) == 1)
    return static_cast<int>((line * 37 + depth * 89) % 256) - (dtype == DType::i8 ? 128 : 0);
  return static_cast<int>(is_long ? (line * 1009 + depth * 917) % 8191 - 4095
                                  : (line * 5 + depth * 3) % 7 - 3);
}

Tensor side_of(DType dtype, std::int64_t lines, std::int64_t depths, std::int64_t line_stride,
               std::int64_t depth_stride, bool is_long) {
  Tensor side = Tensor::zeros(dtype, {lines * depths});
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t k = 0; k < depths; ++k)
      side.set_double(Index{i * line_stride + k * depth_stride}, number_at(dtype, i, k, is_long));
  return side;
}

ProductKernel kernel_of(const Trial& t, const LoopProgram& epilogue) {
  return product_kernel(t.product, epilogue, t.tiling);
}

// The product as it is.
LoopProgram epilogue_of(const Product& p) {
  LoopProgram epilogue("epilogue", {p.rows, p.columns});
  const Reg sum = epilogue.tile(compute_type(type_of(p)));
  epilogue.store({0, DType::f32, {p.columns, 1}}, epilogue.cast(DType::f32, sum));
  return epilogue;
}

// A kernel that is of no use behind its launch.
class LoadedKernel {
 public:
  LoadedKernel(Gpu& gpu, const std::vector<char>& image, const ProductKernel& kernel) : gpu_(gpu) {
    gpu.activate();
    gpu.check(gpu.driver().load_module(&module_, image.data()), "loading a kernel");
    function_ = gpu.function_of(module_, kernel.name, kernel.shared_bytes);
  }
  ~LoadedKernel() {
    gpu_.activate_if_possible();
    (void)gpu_.driver().unload_module(module_);
  }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  Function function() const { return function_; }

 private:
  Gpu& gpu_;
  void* module_ = nullptr;
  Function function_ = nullptr;
};

// A trial's sides and its result, which is NaN, in the memory of a device that works so far.
class Operands {
 public:
  Operands(Gpu& gpu, const Trial& t)
      : gpu_(gpu),
        queue_(gpu),
        result_(static_cast<std::size_t>(t.product.rows * t.product.columns), std::nanf("")) {
    const Product& p = t.product;
    const Tensor left = side_of(p.left_type, p.rows, p.depth, p.left_row, p.left_column, t.left_is_long);
    const Tensor right =
        side_of(p.right_type, p.columns, p.depth, p.right_column, p.right_row, t.right_is_long);
    put(left.bytes(), static_cast<std::size_t>(left.numel()) * size_of(left.dtype()));
    put(right.bytes(), static_cast<std::size_t>(right.numel()) * size_of(right.dtype()));
    put(result_.data(), result_.size() * sizeof(float));
    queue_.wait();
  }

  std::vector<float> multiply(const std::vector<char>& image, ProductKernel kernel,
                              std::vector<std::byte> loop) {
    const LoadedKernel loaded(gpu_, image, kernel);
    std::byte* addresses[] = {memory_[0].data(), memory_[1].data(), memory_[2].data()};
    std::vector<void*> parameters{&addresses[0], &addresses[1], &addresses[2], kernel.arguments.data(),
                                  loop.data()};
    std::vector<EncodedMap> maps;
    for (const TensorMap& map : kernel.maps)
      maps.push_back(encode(gpu_.driver(), map, addresses[map.buffer]));
    for (EncodedMap& map : maps) parameters.push_back(&map);
    parameters.push_back(nullptr);  // drivers that check their callers count up to it
    const LaunchSize size{.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                          .block = kernel.block,
                          .shared_bytes = kernel.shared_bytes};
    gpu_.launch(loaded.function(), size, parameters, queue_.stream());
    queue_.copy(result_.data(), memory_[2].data(), result_.size() * sizeof(float));
    queue_.wait();
    return result_;
  }

 private:
  void put(const void* data, std::size_t bytes) {
    memory_.push_back(gpu_.allocate(bytes, Space::device));
    queue_.copy(memory_.back().data(), data, bytes);
  }

  Gpu& gpu_;
  GpuQueue queue_;
  std::vector<float> result_;
  std::vector<Memory> memory_;
};

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

std::string first_difference(const Trial& t, const std::vector<float>& found) {
  const Product& p = t.product;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      std::int64_t exact = 0;
      for (std::int64_t k = 0; k < p.depth; ++k)
        exact +=
            number_at(p.left_type, i, k, t.left_is_long) * number_at(p.right_type, j, k, t.right_is_long);
      const float given = found[static_cast<std::size_t>(i * p.columns + j)];
      if (given != static_cast<float>(exact)) return fmt::format("gives {} where {} is right", given, exact);
    }
  return {};
}

// What the compiler says of the kernel's text, or the driver of its start, is the unit's fault. A compiler
// that does not work, or a device that had failed before, says nothing of it.
std::string fault_of(Gpu& gpu, const Trial& t) {
  const LoopProgram epilogue = epilogue_of(t.product);
  const ProductKernel kernel = kernel_of(t, epilogue);
  Operands operands(gpu, t);
  std::vector<char> image;
  try {
    image = compile(gpu.driver(), gpu.architecture(), kernel.source);
  } catch (const InternalError& e) { return first_line(e.what()); }
  try {
    return first_difference(t, operands.multiply(image, kernel, loop_arguments(epilogue, tile_form)));
  } catch (const Error& e) { return first_line(e.message()); }
}

// The unit that multiplies the same without bulk copies, or itself.
MatrixUnit without_bulk_copies(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::tma_f16: return MatrixUnit::wgmma_f16;
    case MatrixUnit::tma_bf16: return MatrixUnit::wgmma_bf16;
    case MatrixUnit::tma_f32: return MatrixUnit::wgmma_f32;
    default: return unit;
  }
}

// What a proof is kept by.
std::string proof_device(const Gpu& gpu) {
  int version = 0;
  gpu.check(gpu.driver().driver_version(&version), "asking for the driver's version");
  return fmt::format("{} driver {}", gpu.identity(), version);
}
std::string proof_text(MatrixUnit unit) {
  std::string text = "proof of a matrix unit\n";
  for (const Trial& t : trials_of(unit)) text += kernel_of(t, epilogue_of(t.product)).source;
  return text;
}

}  // namespace

std::string name_of(Vendor vendor, MatrixUnit unit) {
  const std::string_view dtype = unit == MatrixUnit::tf32     ? "tf32"
                                 : unit == MatrixUnit::f8     ? "f8"
                                 : unit == MatrixUnit::f8fnuz ? "f8fnuz"
                                                              : name(dtype_of(unit));
  if (vendor == Vendor::hip) return std::string(dtype);
  return fmt::format("{} {}{}", is_of_warpgroup(unit) ? "wgmma" : "mma.sync", dtype,
                     takes_bulk_copies(unit) ? " by tma" : "");
}

MatrixUnits units_of(const Gpu& gpu) {
  using enum MatrixUnit;
  const int major = gpu.attribute(Attribute::compute_major), minor = gpu.attribute(Attribute::compute_minor);
  if (gpu.driver().vendor == Vendor::hip) {
    MatrixUnits units{f16, bf16, f32, i8};            // which some have not
    if (major == 9 && minor == 4) units.add(f8fnuz);  // gfx942
    return units;
  }
  if (major < 8) return {};
  if (major == 8 && minor < 9) return {f16, bf16, f32, tf32, i8};
  if (major != 9 || minor != 0) return {f16, bf16, f32, tf32, i8, f8};
  if (!gpu.driver().encode_tensor_map)
    return {f16, bf16, f32, tf32, i8, f8, wgmma_f16, wgmma_bf16, wgmma_f32};
  return {f16, bf16, f32, tf32, i8, f8, wgmma_f16, wgmma_bf16, wgmma_f32, tma_f16, tma_bf16, tma_f32};
}

std::string prove(Gpu& gpu, MatrixUnit unit) {
  for (const Trial& t : trials_of(unit))
    if (std::string fault = fault_of(gpu, t); !fault.empty()) return fault;
  return {};
}

std::string proven_before(Gpu& gpu, MatrixUnit unit) {
  if (const auto found = gpu.cache().find(gpu.driver(), proof_device(gpu), proof_text(unit)))
    return {found->begin(), found->end()};
  return prove_again(gpu, unit);
}

std::string prove_again(Gpu& gpu, MatrixUnit unit) {
  const std::string fault = prove(gpu, unit);
  gpu.cache().keep(gpu.driver(), proof_device(gpu), proof_text(unit), {fault.begin(), fault.end()});
  return fault;
}

MatrixUnits proven(Gpu& gpu, MatrixUnits wanted) {
  const MatrixUnits had = units_of(gpu);
  const auto is_right = [&](MatrixUnit unit) { return gpu.fault_of(unit).empty(); };
  MatrixUnits right;
  for (const MatrixUnit unit : matrix_units)
    if (wanted.has(unit) && had.has(unit) && is_right(without_bulk_copies(unit)) && is_right(unit))
      right.add(unit);
  return right;
}

}  // namespace tenon::gpu
