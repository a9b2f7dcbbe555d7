// Loop programs: pointwise chains and row operators, in ns per element on one thread.
// loop_bench --benchmark_counters_tabular=true
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/cpu/loop_kernel.h"

namespace tenon::cpu {
namespace {

struct Chain {
  const char* name;
  LoopProgram (*program)(std::int64_t rows, std::int64_t cols);
};

LoopOperand dense(int buffer, std::int64_t cols) { return {buffer, DType::f32, {cols, 1}}; }
LoopOperand along_columns(int buffer) { return {buffer, DType::f32, {0, 1}}; }

LoopProgram over(std::int64_t rows, std::int64_t cols, int reduced) {
  return {"bench", {rows, cols}, reduced};
}

LoopProgram residual_relu(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 0);
  const Reg sum = p.prim(Prim::add, p.load(dense(0, cols)), p.load(dense(1, cols)));
  p.store(dense(2, cols), p.prim(Prim::max, sum, p.constant(0)));
  return p;
}
LoopProgram bias_gelu(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 0);
  const Reg x = p.prim(Prim::add, p.load(dense(0, cols)), p.load(along_columns(1)));
  const Reg erf = p.prim(Prim::erf, p.prim(Prim::mul, x, p.constant(std::sqrt(0.5))));
  const Reg half = p.prim(Prim::mul, x, p.constant(0.5));
  p.store(dense(2, cols), p.prim(Prim::mul, half, p.prim(Prim::add, erf, p.constant(1))));
  return p;
}
LoopProgram silu_mul(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 0);
  const Reg x = p.load(dense(0, cols));
  const Reg silu = p.prim(Prim::mul, x, p.prim(Prim::sigmoid, x));
  p.store(dense(2, cols), p.prim(Prim::mul, silu, p.load(dense(1, cols))));
  return p;
}
LoopProgram softmax(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 1);
  const Reg x = p.prim(Prim::mul, p.load(dense(0, cols)), p.constant(0.125));
  const Reg masked = p.prim(Prim::add, x, p.load(along_columns(1)));
  const Reg e = p.prim(Prim::exp, p.prim(Prim::sub, masked, p.reduce(Reduce::max, masked)));
  p.store(dense(2, cols), p.prim(Prim::div, e, p.reduce(Reduce::sum, e)));
  return p;
}
LoopProgram layer_norm(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 1);
  const Reg scale = p.constant(1.0 / static_cast<double>(cols));
  const Reg x = p.prim(Prim::add, p.load(dense(0, cols)), p.load(dense(1, cols)));
  const Reg d = p.prim(Prim::sub, x, p.prim(Prim::mul, p.reduce(Reduce::sum, x), scale));
  const Reg variance = p.prim(Prim::mul, p.reduce(Reduce::sum, p.prim(Prim::mul, d, d)), scale);
  const Reg rstd = p.prim(Prim::rsqrt, p.prim(Prim::add, variance, p.constant(1e-5)));
  const Reg scaled = p.prim(Prim::mul, p.prim(Prim::mul, d, rstd), p.load(along_columns(3)));
  p.store(dense(2, cols), p.prim(Prim::add, scaled, p.load(along_columns(4))));
  return p;
}
LoopProgram column_mean(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(cols, rows, 1);
  const Reg sum = p.reduce(Reduce::sum, p.load({0, DType::f32, {1, cols}}));
  p.store({2, DType::f32, {1, 0}}, p.prim(Prim::mul, sum, p.constant(1.0 / static_cast<double>(rows))));
  return p;
}
LoopProgram transposed_add(std::int64_t rows, std::int64_t cols) {
  LoopProgram p = over(rows, cols, 0);
  const Reg sum = p.prim(Prim::add, p.load({0, DType::f32, {1, rows}}), p.load(dense(1, cols)));
  p.store(dense(2, cols), sum);
  return p;
}

void run(benchmark::State& state, LoopProgram (*make)(std::int64_t, std::int64_t)) {
  const std::int64_t rows = state.range(0);
  const std::int64_t cols = state.range(1);
  const LoopKernel kernel = LoopKernel::compile(make(rows, cols));
  ThreadPool pool(1);
  const auto count = static_cast<std::size_t>(rows * cols);
  std::vector<std::vector<float>> data(5, std::vector<float>(count + 64));
  std::vector<void*> buffers;
  for (std::size_t b = 0; b < data.size(); ++b) {
    for (std::size_t i = 0; i < count; ++i) data[b][i] = std::sin(static_cast<float>(i * (b + 3)));
    buffers.push_back(data[b].data() + 16 * b % 64);
  }
  const std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (kernel.scratch_bytes(1) + 63) / 64 * 64), &std::free);
  for (auto _ : state) kernel.run(buffers, scratch.get(), pool);
  state.counters["ns/element"] =
      benchmark::Counter(static_cast<double>(count) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

constexpr Chain chains[] = {{"residual_relu", residual_relu},
                            {"bias_gelu", bias_gelu},
                            {"silu_mul", silu_mul},
                            {"softmax", softmax},
                            {"layer_norm", layer_norm},
                            {"column_mean", column_mean},
                            {"transposed_add", transposed_add}};

void add_all() {
  for (const Chain& chain : chains)
    for (const auto& [rows, cols] : {std::pair{32L, 1024L}, {85L, 384L}, {256L, 128L}, {1024L, 1024L}})
      benchmark::RegisterBenchmark(chain.name, run, chain.program)->Args({rows, cols});
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  tenon::cpu::add_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
