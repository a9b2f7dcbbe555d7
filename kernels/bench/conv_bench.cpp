// Convolution layers of ResNet-50, a U-Net and mobile networks, each with every algorithm: GFLOP/s and
// percent of the FMA peak. Run one thread on a quiet core: conv_bench [--isa=avx2]
// --benchmark_filter=resnet/.*chosen
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/alignment.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/peak.h"

namespace tenon::cpu {
namespace {

// Of one core.
double peak_gflops() {
  static const double peak = [] {
    ThreadPool alone(1);
    return measure_gflops(alone);
  }();
  return peak;
}

struct Layer {
  const char* net;
  long in;
  long out;
  long size;
  long kernel;
  long stride;
  bool residual = false;
  Activation activation = Activation::relu;
  long group = 0;  // channels of a group; 0: one group
};

constexpr Activation hardswish{Activation::Kind::hardswish}, silu{Activation::Kind::silu},
    gelu{Activation::Kind::gelu};

constexpr Layer layers[] = {
    {"resnet", 3, 64, 224, 7, 2},
    {"resnet", 64, 64, 56, 1, 1},
    {"resnet", 64, 64, 56, 3, 1},
    {"resnet", 64, 256, 56, 1, 1},
    {"resnet", 64, 256, 56, 1, 1, true},
    {"resnet", 256, 64, 56, 1, 1},
    {"resnet", 256, 128, 56, 1, 1},
    {"resnet", 128, 128, 56, 3, 2},
    {"resnet", 256, 512, 56, 1, 2},
    {"resnet", 128, 512, 28, 1, 1, true},
    {"resnet", 512, 128, 28, 1, 1},
    {"resnet", 128, 128, 28, 3, 1},
    {"resnet", 512, 256, 28, 1, 1},
    {"resnet", 256, 256, 28, 3, 2},
    {"resnet", 512, 1024, 28, 1, 2},
    {"resnet", 256, 1024, 14, 1, 1, true},
    {"resnet", 1024, 256, 14, 1, 1},
    {"resnet", 256, 256, 14, 3, 1},
    {"resnet", 1024, 512, 14, 1, 1},
    {"resnet", 512, 512, 14, 3, 2},
    {"resnet", 1024, 2048, 14, 1, 2},
    {"resnet", 512, 2048, 7, 1, 1, true},
    {"resnet", 2048, 512, 7, 1, 1},
    {"resnet", 512, 512, 7, 3, 1},
    {"unet", 3, 32, 256, 3, 1},
    {"unet", 32, 32, 256, 3, 1},
    {"unet", 64, 64, 128, 3, 1},
    {"unet", 128, 128, 64, 3, 1},
    {"unet", 256, 256, 32, 3, 1},
    {"unet", 512, 512, 16, 3, 1},
    {"unet", 64, 32, 256, 3, 1},
    {"thin", 16, 16, 112, 1, 1},
    {"thin", 32, 16, 112, 1, 1, false, Activation::none},
    {"thin", 16, 96, 112, 1, 1},
    {"thin", 96, 24, 56, 1, 1, false, Activation::none},
    {"thin", 24, 144, 56, 1, 1, false, silu},
    {"thin", 144, 32, 28, 1, 1, false, Activation::none},
    {"thin", 32, 192, 28, 1, 1, false, hardswish},
    {"thin", 64, 384, 14, 1, 1, false, hardswish},
    {"thin", 32, 32, 112, 3, 2},
    {"thin", 32, 96, 56, 3, 2},
    {"thin", 24, 24, 56, 3, 1},
    // Linears of ViT-B/16 and BERT-large, whose rows are pixels.
    {"vit", 768, 768, 14, 1, 1, true, Activation::none},
    {"vit", 768, 2304, 14, 1, 1, false, Activation::none},
    {"vit", 768, 3072, 14, 1, 1, false, gelu},
    {"vit", 3072, 768, 14, 1, 1, true, Activation::none},
    {"bert", 1024, 1024, 16, 1, 1, true, Activation::none},
    {"bert", 1024, 4096, 16, 1, 1, false, gelu},
    {"bert", 4096, 1024, 16, 1, 1, true, Activation::none},
    {"depthwise", 32, 32, 112, 3, 1, false, hardswish, 1},
    {"depthwise", 96, 96, 112, 3, 2, false, Activation::relu, 1},
    {"depthwise", 144, 144, 56, 3, 1, false, silu, 1},
    {"depthwise", 256, 256, 28, 3, 1, false, Activation::relu, 1},
    {"depthwise", 512, 512, 14, 3, 1, false, Activation::relu, 1},
    {"depthwise", 144, 144, 56, 5, 2, false, Activation::relu, 1},
    {"depthwise", 240, 240, 28, 5, 1, false, Activation::relu, 1},
    {"depthwise", 960, 960, 7, 5, 1, false, hardswish, 1},
    {"depthwise", 96, 96, 56, 7, 1, false, Activation::none, 1},
    {"depthwise", 192, 192, 28, 9, 1, false, Activation::none, 1},
    // ResNeXt-50 32x4d and RegNetY-400MF.
    {"groups", 128, 128, 56, 3, 1, false, Activation::relu, 4},
    {"groups", 256, 256, 56, 3, 2, false, Activation::relu, 8},
    {"groups", 256, 256, 28, 3, 1, false, Activation::relu, 8},
    {"groups", 512, 512, 14, 3, 1, false, Activation::relu, 16},
    {"groups", 48, 48, 112, 3, 2, false, Activation::relu, 8},
    {"groups", 48, 48, 56, 3, 1, false, Activation::relu, 8},
    {"groups", 104, 104, 28, 3, 1, false, Activation::relu, 8},
    {"groups", 208, 208, 14, 3, 1, false, Activation::relu, 8},
    {"groups", 440, 440, 7, 3, 1, false, Activation::relu, 8},
    {"groups", 64, 64, 56, 3, 1, false, Activation::relu, 2},
    {"groups", 64, 64, 56, 5, 1, false, Activation::relu, 8},
    {"groups", 336, 336, 14, 3, 1, false, Activation::relu, 24},
    {"groups", 1024, 1024, 7, 3, 1, false, Activation::relu, 32},
    {"groups", 432, 432, 14, 3, 1, false, Activation::relu, 48},
    {"groups", 896, 896, 7, 3, 1, false, Activation::relu, 64},
    {"groups", 64, 64, 56, 1, 1, false, Activation::relu, 8},
    {"groups", 64, 64, 56, 1, 1, false, Activation::relu, 4},
};

ConvShape shape_of(const Layer& l) {
  const ConvAxis axis{.in = l.size,
                      .kernel = l.kernel,
                      .stride = l.stride,
                      .pad_before = l.kernel / 2,
                      .pad_after = l.kernel / 2};
  return {.Cin = l.in, .Cout = l.out, .h = axis, .w = axis, .groups = l.group > 0 ? l.in / l.group : 1};
}

// Memory as a plan has it: at the begin of a line of the cache.
class Floats {
 public:
  explicit Floats(long count) : values_(static_cast<std::size_t>(count) + line, 0.5f) {}

  float* data() {
    void* at = values_.data();
    std::size_t space = line_bytes + sizeof(float);
    return static_cast<float*>(std::align(line_bytes, sizeof(float), at, space));
  }

 private:
  static constexpr std::size_t line = line_bytes / sizeof(float);
  std::vector<float> values_;
};

void run_layer(benchmark::State& state, const Layer& layer, ConvAlgorithm algorithm) {
  const ConvShape s = shape_of(layer);
  ThreadPool pool(1);
  // Pixels a multiple of 4 KiB apart would meet in few sets of the cache; planners keep them apart.
  const long in_stride = s.Cin % 512 == 0 ? s.Cin + 16 : s.Cin;
  Floats in(s.in_pixels() * in_stride), weights(s.Cin / s.groups * s.Cout * s.taps()), bias(s.Cout);
  Floats residual(s.out_pixels() * s.Cout), out(s.out_pixels() * s.Cout);
  Floats packed(conv_packed_size(s, algorithm)), scratch(conv_scratch_size(s, algorithm, 1));
  pack_conv(s, algorithm, weights.data(), packed.data(), pool);
  const ConvRun run{.in = in.data(),
                    .in_stride = in_stride,
                    .packed = packed.data(),
                    .weights = weights.data(),
                    .out = out.data(),
                    .out_stride = s.Cout,
                    .epilogue = {.bias = bias.data(),
                                 .residual = layer.residual ? residual.data() : nullptr,
                                 .residual_stride = s.Cout,
                                 .activation = layer.activation},
                    .scratch = scratch.data()};
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    conv(s, algorithm, run, pool);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  // Of the fastest run: the others were disturbed.
  state.counters["us"] = best * 1e6;
  state.counters["GFLOP/s"] = s.flops() / best * 1e-9;
  state.counters["%peak"] = s.flops() / best * 1e-7 / peak_gflops();
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon::cpu;
  benchmark::Initialize(&argc, argv);
  std::optional<ForceIsa> forced;
  for (const std::string_view argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    const auto isas = runnable_isas();
    const auto wanted =
        std::ranges::find_if(isas, [&](Isa isa) { return argument == "--isa=" + std::string(name(isa)); });
    if (wanted == isas.end()) return std::fprintf(stderr, "no such argument: %s\n", argument.data()), 2;
    forced.emplace(*wanted);
  }
  benchmark::AddCustomContext("isa", std::string(name(isa())));
  benchmark::AddCustomContext("FMA peak, GFLOP/s", std::to_string(peak_gflops()));
  for (const Layer& l : layers) {
    for (const auto a : conv_algorithms) {
      if (!conv_supports(shape_of(l), a)) continue;
      std::string label = std::string(l.net) + "/" + std::to_string(l.in) + "-" + std::to_string(l.out) +
                          "_" + std::to_string(l.size) + "x" + std::to_string(l.size) + "_k" +
                          std::to_string(l.kernel) + "s" + std::to_string(l.stride) +
                          (l.residual ? "_residual" : "") + "/" + std::string(name(a)) +
                          (choose_conv(shape_of(l)) == a ? "_chosen" : "");
      benchmark::RegisterBenchmark(label.c_str(), [&l, a](benchmark::State& state) {
        run_layer(state, l, a);
      })->MinTime(0.1);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
