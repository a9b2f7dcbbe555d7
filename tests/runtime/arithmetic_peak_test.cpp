// Rates of the arithmetic of GPUs, against their data sheets.
#include "runtime/gpu/arithmetic_peak.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tenon::gpu {
namespace {

using enum ArithmeticKind;

struct Sheet {
  ArithmeticUnits units;
  std::vector<std::pair<ArithmeticKind, double>> tflops;
};

const Sheet sheets[] = {
    {{Vendor::cuda, 7, 0, "Tesla V100-SXM2-16GB", 80, 1.53}, {{lanes, 15.7}, {f64, 7.8}, {f16, 125}}},
    {{Vendor::cuda, 7, 5, "Tesla T4", 40, 1.59}, {{lanes, 8.1}, {f16, 65}, {i8, 130}}},
    {{Vendor::cuda, 8, 0, "NVIDIA A100-SXM4-80GB", 108, 1.41},
     {{lanes, 19.5}, {f64, 19.5}, {tf32, 156}, {f16, 312}, {bf16, 312}, {i8, 624}}},
    {{Vendor::cuda, 8, 6, "NVIDIA A40", 84, 1.74}, {{lanes, 37.4}, {tf32, 74.8}, {bf16, 149.7}, {i8, 299.3}}},
    {{Vendor::cuda, 8, 6, "NVIDIA GeForce RTX 3090", 82, 1.695},
     {{lanes, 35.6}, {f32, 35.6}, {tf32, 35.6}, {bf16, 71}, {i8, 284}}},
    {{Vendor::cuda, 8, 9, "NVIDIA L4", 58, 2.04},
     {{lanes, 30.3}, {tf32, 60}, {bf16, 121}, {f8, 242}, {i8, 242}}},
    {{Vendor::cuda, 8, 9, "NVIDIA GeForce RTX 4090", 128, 2.52},
     {{lanes, 82.6}, {bf16, 165.2}, {f8, 330.3}, {i8, 660.6}}},
    // Matrix units have a lower clock there, but for float64.
    {{Vendor::cuda, 9, 0, "NVIDIA H100 80GB HBM3", 132, 1.83},
     {{tf32, 495}, {f16, 989}, {bf16, 989}, {f8, 1979}, {i8, 1979}}},
    {{Vendor::cuda, 9, 0, "NVIDIA H100 80GB HBM3", 132, 1.98}, {{lanes, 67}, {f64, 67}}},
    {{Vendor::cuda, 10, 0, "NVIDIA B200", 148, 1.85}, {{tf32, 1125}, {bf16, 2250}, {f8, 4500}, {i8, 4500}}},
    {{Vendor::cuda, 10, 0, "NVIDIA B200", 148, 1.965}, {{lanes, 75}, {f64, 37}}},
    {{Vendor::cuda, 12, 0, "NVIDIA RTX PRO 6000 Blackwell", 188, 2.617},
     {{lanes, 125}, {bf16, 503.8}, {f8, 1007.6}}},
    {{Vendor::hip, 9, 0, "AMD Instinct MI250X", 110, 1.7},  // one of its two
     {{lanes, 23.9}, {f32, 47.9}, {f64, 47.9}, {f16, 191.5}, {bf16, 191.5}, {i8, 191.5}}},
    {{Vendor::hip, 9, 4, "AMD Instinct MI300X", 304, 2.1},
     {{lanes, 163.4}, {f32, 163.4}, {f64, 163.4}, {tf32, 653.7}, {bf16, 1307.4}, {f8, 2614.9}, {i8, 2614.9}}},
    {{Vendor::hip, 9, 5, "AMD Instinct MI355X", 256, 2.4},
     {{lanes, 157.3}, {f64, 78.6}, {f16, 2516.6}, {f8, 5033}, {i8, 5033}}},
    {{Vendor::hip, 11, 0, "AMD Radeon RX 7900 XTX", 48, 2.5}, {{lanes, 61.4}, {f16, 122.8}, {i8, 122.8}}},
    {{Vendor::hip, 12, 0, "AMD Radeon RX 9070 XT", 32, 2.97}, {{lanes, 48.7}, {f16, 195}, {i8, 389}}},
};

TEST(ArithmeticPeak, IsWhatDataSheetsSay) {
  for (const Sheet& sheet : sheets)
    for (const auto& [kind, tflops] : sheet.tflops)
      EXPECT_NEAR(arithmetic_peak(sheet.units).gflops_of(kind), 1e3 * tflops, 50 * tflops)
          << sheet.units.name << " " << name(kind);
}

TEST(ArithmeticPeak, Float32IsThreeProductsOfTF32WhereThatIsFaster) {
  const Peak a100 = arithmetic_peak({Vendor::cuda, 8, 0, "NVIDIA A100", 108, 1.41});
  EXPECT_DOUBLE_EQ(a100.gflops_of(f32), a100.gflops_of(tf32) / 3);
  EXPECT_EQ(a100.gflops_of(f8), a100.gflops_of(f16));
}

TEST(ArithmeticPeak, AnUnknownArchitectureDoesWhatTheOneBeforeItDoes) {
  const auto peak_of = [](int major, int minor) {
    return arithmetic_peak({Vendor::cuda, major, minor, "NVIDIA", 100, 1});
  };
  EXPECT_EQ(peak_of(10, 3).own, peak_of(10, 0).own);
  EXPECT_EQ(peak_of(99, 0).own, peak_of(12, 0).own);
  const Peak old = peak_of(6, 1);
  EXPECT_EQ(old.gflops, 25600);
  for (const ArithmeticKind kind : arithmetic_kinds) EXPECT_EQ(old.gflops_of(kind), old.gflops) << name(kind);
}

}  // namespace
}  // namespace tenon::gpu
