#include "kernels/gpu/thin_convolution_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t threads = 256, channels_of_thread = tile_form.vector,
                       pixels_of_thread = tile_form.chunks;

std::int64_t divide_up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// The least power of two that is as large, or the limit, which is one.
std::int64_t power_of_two(std::int64_t count, std::int64_t limit) {
  return std::min(limit, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))));
}

// How a block's threads divide its part of the result: rows first, since neighbours share those of the input.
struct Block {
  std::int64_t across, down, along;

  explicit Block(const ConvShape& s) {
    constexpr std::int64_t most_across = 32, most_down = 8;
    across = power_of_two(divide_up(s.Cout, channels_of_thread), most_across);
    down = power_of_two(s.out(s.h), std::min(most_down, threads / across));
    along = threads / (across * down);
  }
};

// One that is known where the kernel is compiled: its windows stay in registers.
bool has_known_columns(const ConvShape& s) {
  constexpr long most_taps = 7, longest_stride = 2;
  return !s.transposed && s.w.dilation == 1 && s.w.kernel <= most_taps && s.w.stride <= longest_stride;
}

std::string_view groups_of(const ConvShape& s) {
  const std::int64_t depths = s.Cin / s.groups, columns = s.Cout / s.groups;
  if (depths == 1 && columns == 1) return "of_one";
  return columns % channels_of_thread == 0 ? "shared" : "any";
}

std::vector<std::int64_t> fields(const ThinConvolution& c, const Block& block) {
  const ConvShape& s = c.shape;
  const auto is_whole = [](std::int64_t stride) { return stride % channels_of_thread == 0; };
  const bool x_pieces =
      is_whole(c.image) && std::all_of(std::begin(c.spatial), std::end(c.spatial), is_whole);
  std::vector<std::int64_t> list{s.N,        s.Cout,     s.Cin / s.groups, s.Cout / s.groups,
                                 c.image,    x_pieces,   is_whole(s.Cout), block.across,
                                 block.down, block.along};
  const ConvAxis axes[] = {s.d, s.h, s.w};
  for (std::size_t i = 0; i < std::size(axes); ++i) {
    const ConvAxis& a = axes[i];
    list.insert(list.end(), {a.in, s.out(a), a.kernel, a.stride, a.pad_before, a.dilation, c.spatial[i]});
  }
  return list;
}

}  // namespace

ThinKernel thin_kernel(const ThinConvolution& c, const LoopProgram& epilogue) {
  const ConvShape& s = c.shape;
  const Block block(s);
  std::string parameters, values;
  for (const std::string& parameter : LoopText(epilogue.code, tile_form).parameters()) {
    parameters += ", " + parameter;
    values += parameter.substr(parameter.rfind(' ') + 1) + ", ";
  }
  const bool known = has_known_columns(s);
  const std::string call = fmt::format(
      "convolve_thin<{}, {}, {}, ThinGroups::{}, {}, {}, {}>", storage(c.x_type), storage(c.weights_type),
      computed(c.sum_type), groups_of(s), s.transposed, known ? s.w.kernel : 0, known ? s.w.stride : 1);
  ThinKernel kernel{.blocks = divide_up(s.Cout, block.across * channels_of_thread) *
                              divide_up(s.out(s.w), block.along * pixels_of_thread) *
                              divide_up(s.out(s.h), block.down) * s.out(s.d) * s.N,
                    .threads = threads};
  kernel.source = translation_unit(
      "kernels/gpu/thin_convolution.gpu.h",
      tile_source(epilogue.code, tile_form, "epilogue") +
          fmt::format(
              "extern \"C\" __global__ void __launch_bounds__({}) thin(const {}* x, const {}* weights{}, "
              "const ThinShape s, const epilogue_arguments e) {{\n"
              "  const epilogue_tile tile{{{}e}};\n"
              "  {}(x, weights, s, [&](const Pieces<{}, {}>& pieces) {{ epilogue(tile, pieces); }});\n}}\n",
              threads, storage(c.x_type), storage(c.weights_type), parameters, values, call,
              computed(c.sum_type), tile_form.chunks));
  for (const std::int64_t field : fields(c, block)) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&field);
    kernel.arguments.insert(kernel.arguments.end(), bytes, bytes + sizeof field);
  }
  return kernel;
}

}  // namespace tenon::gpu
