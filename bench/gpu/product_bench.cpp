// Times every tiling of products on a GPU, and prints what the estimate says beside it: the numbers of
// kernels/gpu/product_tiling.cpp are fitted to this.
//
//   product_bench --device cuda:0 --dtype bf16 --size 1024x1024x1024 --size 197x768x3072
//
// Each line is a JSON object: the product, the tiling, microseconds of one launch (the median of several
// runs of a graph of 20), and estimated clocks. The right side of each launch lies elsewhere, so that a
// weight comes from memory as in a model whose weights do not fit the caches; the left side may stay there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/devices.h"
#include "runtime/gpu/event.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/tensor_map.h"
#include "runtime/gpu/unit_proof.h"

namespace tenon::gpu {
namespace {

constexpr int launches = 20, rounds = 5;
constexpr std::size_t pool_bytes = 256 << 20;

struct Size {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

Size parse(const std::string& text) {
  Size s;
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &s.rows, &s.columns, &s.depth) != 3)
    throw error("'{}' is no size: ROWSxCOLUMNSxDEPTH", text);
  return s;
}

Product product_of(const Size& s, DType dtype, bool right_is_transposed) {
  return {.left_type = dtype,
          .right_type = dtype,
          .rows = s.rows,
          .columns = s.columns,
          .depth = s.depth,
          .left_row = s.depth,
          .left_column = 1,
          .right_row = right_is_transposed ? 1 : s.columns,
          .right_column = right_is_transposed ? s.depth : 1};
}

LoopProgram plain_epilogue(const Product& p) {
  LoopProgram epilogue("epilogue", {p.rows, p.columns});
  epilogue.store({0, p.left_type, {p.columns, 1}}, epilogue.tile(compute_type(type_of(p))));
  return epilogue;
}

// Tilings by the estimate, and the same tiles shared otherwise.
std::vector<Tiling> tilings_of(const Product& p, const GpuLimits& limits) {
  std::vector<Tiling> all;
  for (const Tiling& t : possible_tilings(p, limits)) {
    all.push_back(t);
    if (t.row_count > 0) continue;
    const std::int64_t tiles = t.tiles(p) * batches(p);
    Tiling other = t;
    other.whole = tiles;
    other.sharers = 0;
    if (t.sharers > 0) all.push_back(other);
    other.whole = 0;
    for (const std::int64_t parts : {2, 3, 4, 6, 8, 12, 16}) {
      other.sharers = parts * tiles;
      if (other.sharers <= resident_blocks(t, limits) && parts <= t.pieces(p) && other.sharers != t.sharers)
        all.push_back(other);
    }
  }
  return all;
}

class Bench {
 public:
  explicit Bench(Gpu& gpu)
      : gpu_(gpu),
        queue_(gpu),
        left_(gpu.allocate(pool_bytes, Space::device)),
        right_(gpu.allocate(pool_bytes, Space::device)),
        result_(gpu.allocate(pool_bytes, Space::device)),
        parts_(gpu.allocate(pool_bytes, Space::device)),
        tickets_(gpu.allocate(1 << 20, Space::device)) {
    fill(left_);
    fill(right_);
    const std::vector<std::byte> zeros(1 << 20);
    queue_.copy(tickets_.data(), zeros.data(), zeros.size());
    queue_.wait();
  }

  double microseconds(const Product& p, ProductKernel& kernel) {
    const Function function = gpu_.function(kernel.source, kernel.name, kernel.shared_bytes);
    const LaunchSize size{.grid = {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                          .block = kernel.block,
                          .shared_bytes = kernel.shared_bytes};
    const auto right_bytes =
        (static_cast<std::size_t>(p.columns * p.depth) * size_of(p.right_type) + 255) / 256 * 256;
    const std::size_t rights = std::max<std::size_t>(1, pool_bytes / right_bytes);
    const std::vector<StreamPlace> one_after_the_other(launches);
    const auto graph = queue_.record(one_after_the_other, [&](std::size_t i, Queue& queue) {
      launch(p, function, size, kernel, i % rights * right_bytes, gpu_queue(queue).stream());
    });
    graph->replay();
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
      Event begin(gpu_, Event::Kind::timed), end(gpu_, Event::Kind::timed);
      begin.record(queue_.stream());
      graph->replay();
      end.record(queue_.stream());
      queue_.wait();
      times.push_back(1000 * begin.milliseconds_to(end) / launches);
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
  }

 private:
  // Numbers of about 1: their bytes are no pattern that saves power.
  void fill(const Memory& memory) {
    std::vector<std::uint16_t> numbers(memory.size() / 2);
    std::uint32_t state = 1;
    for (std::uint16_t& n : numbers) {
      state = state * 1664525U + 1013904223U;
      n = static_cast<std::uint16_t>(0x3c00U | (state >> 16 & 0x83ffU));
    }
    queue_.copy(memory.data(), reinterpret_cast<const std::byte*>(numbers.data()), memory.size());
    queue_.wait();
  }

  void launch(const Product& p, Function function, const LaunchSize& size, ProductKernel& kernel,
              std::size_t right_at, void* stream) {
    std::byte* addresses[] = {left_.data(), right_.data() + right_at, result_.data()};
    std::byte *parts = parts_.data(), *tickets = tickets_.data();
    std::vector<std::byte> epilogue = loop_arguments(plain_epilogue(p), tile_form);
    std::vector<void*> parameters{&addresses[0], &addresses[1]};
    if (kernel.parts > 0) parameters.insert(parameters.end(), {&parts, &tickets});
    parameters.insert(parameters.end(), {&addresses[2], kernel.arguments.data(), epilogue.data()});
    std::vector<EncodedMap> maps;
    for (const TensorMap& map : kernel.maps)
      maps.push_back(encode(gpu_.driver(), map, addresses[map.buffer]));
    for (EncodedMap& map : maps) parameters.push_back(&map);
    parameters.push_back(nullptr);
    gpu_.launch(function, size, parameters, stream);
  }

  Gpu& gpu_;
  GpuQueue queue_;
  const Memory left_, right_, result_, parts_, tickets_;
};

void run(const std::string& device_name, const std::vector<std::string>& dtypes,
         const std::vector<std::string>& sizes, bool right_is_transposed) {
  const auto queue = find_device({.name = device_name}).open_queue(1);
  Gpu& gpu = gpu_queue(*queue).gpu();
  gpu.activate();
  struct Job {
    Product product;
    Tiling tiling;
    ProductKernel kernel;
  };
  std::vector<Job> jobs;
  for (const std::string& dtype : dtypes)
    for (const std::string& size : sizes) {
      const Product p = product_of(parse(size), dtype_from_name(dtype).value(), right_is_transposed);
      GpuLimits limits{.processors = gpu.multiprocessors(), .wave = gpu.warp()};
      limits.units = proven(gpu, units_for(p, limits));
      for (const Tiling& t : tilings_of(p, limits))
        jobs.push_back({p, t, product_kernel(p, plain_epilogue(p), t)});
    }
  for (const Job& j : jobs) gpu.request(j.kernel.source);
  Bench bench(gpu);
  const GpuLimits limits{.processors = gpu.multiprocessors(), .wave = gpu.warp()};
  for (Job& j : jobs) {
    const double us = bench.microseconds(j.product, j.kernel);
    fmt::print(
        R"({{"dtype": "{}", "rows": {}, "columns": {}, "depth": {}, "nt": {}, "tiling": "{}", )"
        R"("tile": [{}, {}], "threads": {}, "whole": {}, "sharers": {}, "us": {:.3f}, "clocks": {:.0f}}})"
        "\n",
        name(j.product.left_type), j.product.rows, j.product.columns, j.product.depth, right_is_transposed,
        j.kernel.tiling, j.tiling.rows, j.tiling.columns, j.tiling.threads, j.tiling.whole, j.tiling.sharers,
        us, estimated_clocks(j.product, j.tiling, limits));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tenon::gpu

int main(int argc, char** argv) {
  CLI::App app("Times every tiling of products on a GPU");
  std::string device = "cuda:0";
  std::vector<std::string> dtypes{"bf16"}, sizes{"1024x1024x1024"};
  bool across = false;
  app.add_option("--device", device);
  app.add_option("--dtype", dtypes);
  app.add_option("--size", sizes, "ROWSxCOLUMNSxDEPTH");
  app.add_flag("--across", across, "the right side's columns lie side by side, not its depths");
  CLI11_PARSE(app, argc, argv);
  try {
    tenon::gpu::run(device, dtypes, sizes, !across);
  } catch (const tenon::Error& e) {
    fmt::print(stderr, "{}\n", e.message());
    return 1;
  }
  return 0;
}
