// Every primitive on every type that loops hold values in, on a row that stays in L1: ns per element, which
// shows loops that the compiler made no vectors of. prim_bench --benchmark_filter='^(select|shift_right)/'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/cpu/held_type.h"
#include "kernels/cpu/loop_ops.h"

namespace tenon::cpu {
namespace {

constexpr long columns = 1024;
constexpr std::array types = {DType::boolean, DType::u8,  DType::i8,  DType::i16,
                              DType::i32,     DType::i64, DType::f64, DType::f32};

struct Row {
  alignas(64) std::array<std::byte, columns * sizeof(double)> bytes{};

  /// Small numbers that are in the domain of every primitive; 0 and 1 in turn are what `select` tests.
  void fill(DType type, bool tested) {
    dispatch_held(type, [&]<class T>(dtype_tag<T>) {
      for (long i = 0; i < columns; ++i) {
        const long digit = tested ? i % 2 : std::is_same_v<T, bool> ? 1 : 1 + i * 5 % 7;
        const T value = static_cast<T>(std::is_floating_point_v<T> ? static_cast<double>(digit) / 8
                                                                   : static_cast<double>(digit));
        std::memcpy(bytes.data() + i * static_cast<long>(sizeof value), &value, sizeof value);
      }
    });
  }
};

void run(benchmark::State& state, Prim prim, DType type) {
  std::array<Row, 3> in;
  Row out;
  OpArgs args{};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool tested = prim == Prim::select && i == 0;
    in[i].fill(tested ? DType::boolean : type, tested);
    args.in[i] = in[i].bytes.data();
  }
  args.out = out.bytes.data();
  args.rows = 1;
  args.cols = columns;
  const OpFn loop = loop_op(prim, type);
  double best = 1;
  for (auto _ : state) {
    constexpr int times = 20;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) loop(args);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / times);
  }
  state.counters["ns"] = best * 1e9 / columns;  // of the fastest: the others were disturbed
}

bool takes(const PrimInfo& p, DType type) {
  if (p.kind == PrimKind::cast) return false;
  return is_float(type) ? p.kind != PrimKind::bits : p.kind != PrimKind::real;
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon;
  for (const PrimInfo& p : prim_table)
    for (const DType type : cpu::types)
      if (cpu::takes(p, type))
        benchmark::RegisterBenchmark((std::string(p.name) + "/" + std::string(name(type))).c_str(), cpu::run,
                                     p.prim, type)
            ->MinTime(0.01);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
